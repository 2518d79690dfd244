import { ExactInteger } from "./exact-json.js";

/** Something in a value that its schema refuses; `path` names the member, such as `lines.0.price`. */
export interface SchemaIssue {
  readonly path: string;
  readonly message: string;
}

type Schema = Readonly<Record<string, unknown>>;

const maxIssues = 10;
/** Schemas tried on parts of one value. What is beyond is let through: a check must not cost more than the job. */
const maxTries = 200_000;
const maxLevels = 1000;
/** A pattern is tried on shorter texts only, and only where it cannot take long: see `isCheap`. */
const maxPatternText = 200;
const maxVarying = 2;

/**
 * What a JSON Schema refuses in a value; nothing when it fits. Never more than the whole standard would refuse:
 * keywords that are not known here are passed over (`format`, `not`, `if` and others), and so are patterns that may
 * take long and references to other documents. Of `oneOf` one at least must fit, because two may seem to fit where a
 * keyword is passed over.
 */
export function schemaIssues(schema: unknown, value: unknown): SchemaIssue[] {
  return new Check(schema).issuesOf(value ?? null);
}

class Check {
  #triesLeft = maxTries;

  constructor(private readonly root: unknown) {}

  issuesOf(value: unknown): SchemaIssue[] {
    const found = this.#look(this.root, value, "", 0);
    return found.slice(0, maxIssues);
  }

  #look(schema: unknown, value: unknown, path: string, level: number): SchemaIssue[] {
    this.#triesLeft -= 1;
    if (this.#triesLeft < 0 || level > maxLevels) return [];
    if (schema === false) return [{ path, message: "nothing is allowed here" }];
    if (!isObject(schema)) return [];
    if (typeof schema["$ref"] === "string") return this.#look(this.#resolve(schema["$ref"]), value, path, level + 1);
    const wrong = wrongKind(schema, value) ?? wrongChoice(schema, value);
    if (wrong !== undefined) return [{ path, message: wrong }];
    return [...this.#parts(schema, value, path, level), ...this.#combined(schema, value, path, level)];
  }

  /** A part of the same document; anything fits what is elsewhere. */
  #resolve(reference: string): unknown {
    if (reference === "#") return this.root;
    if (!reference.startsWith("#/")) return true;
    let at: unknown = this.root;
    for (const part of reference.slice(2).split("/")) {
      const key = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
      if (at === null || typeof at !== "object" || !Object.hasOwn(at, key)) return true;
      at = (at as Schema)[key];
      if (isObject(at) && "$id" in at) return true; // references inside of it mean another document
    }
    return at;
  }

  #parts(schema: Schema, value: unknown, path: string, level: number): SchemaIssue[] {
    if (typeof value === "string") return told(path, wrongText(schema, value));
    if (isNumber(value)) return told(path, wrongNumber(schema, Number(value)));
    if (Array.isArray(value)) return this.#items(schema, value, path, level);
    return isObject(value) ? this.#members(schema, value, path, level) : [];
  }

  #items(schema: Schema, value: readonly unknown[], path: string, level: number): SchemaIssue[] {
    const { prefixItems, items, additionalItems } = schema;
    const wrong = wrongSize(schema, "Items", value.length, "items");
    if (wrong !== undefined) return [{ path, message: wrong }];
    const first = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? (items as unknown[]) : [];
    const rest = Array.isArray(items) ? additionalItems : items;
    const issues: SchemaIssue[] = [];
    for (const [n, item] of value.entries()) {
      issues.push(...this.#look(n < first.length ? first[n] : rest, item, joined(path, n), level + 1));
      if (issues.length >= maxIssues) break;
    }
    return issues;
  }

  #members(schema: Schema, value: Schema, path: string, level: number): SchemaIssue[] {
    const { required, additionalProperties } = schema;
    const properties = isObject(schema["properties"]) ? schema["properties"] : {};
    const names = Object.keys(value);
    const issues: SchemaIssue[] = [];
    for (const name of Array.isArray(required) ? (required as unknown[]) : [])
      if (typeof name === "string" && !Object.hasOwn(value, name))
        issues.push({ path: joined(path, name), message: "is missing" });
    issues.push(...told(path, wrongSize(schema, "Properties", names.length, "members")));
    for (const name of names) {
      if (issues.length >= maxIssues) break;
      const at = joined(path, name);
      if (Object.hasOwn(properties, name)) issues.push(...this.#look(properties[name], value[name], at, level + 1));
      else if (schema["patternProperties"] !== undefined) continue; // it may be one of those
      else if (additionalProperties === false) issues.push({ path: at, message: "is not known" });
      else issues.push(...this.#look(additionalProperties, value[name], at, level + 1));
    }
    return issues;
  }

  #combined(schema: Schema, value: unknown, path: string, level: number): SchemaIssue[] {
    const look = (one: unknown): SchemaIssue[] => this.#look(one, value, path, level + 1);
    const issues = Array.isArray(schema["allOf"]) ? schema["allOf"].flatMap(look) : [];
    for (const choices of [schema["anyOf"], schema["oneOf"]]) {
      if (!Array.isArray(choices) || choices.length === 0) continue;
      let closest: SchemaIssue[] | undefined;
      for (const choice of choices) {
        const found = look(choice);
        // what goes wrong deep inside was nearly right
        if (!closest || found.length === 0 || depthOf(found) > depthOf(closest)) closest = found;
        if (found.length === 0) break;
      }
      if (closest!.length > 0)
        issues.push(...(depthOf(closest!) > path.length ? closest! : [{ path, message: "fits none of the choices" }]));
    }
    return issues;
  }
}

const isObject = (value: unknown): value is Schema =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof ExactInteger);
const isNumber = (value: unknown): boolean => typeof value === "number" || value instanceof ExactInteger;
const joined = (path: string, name: string | number): string => (path === "" ? String(name) : `${path}.${name}`);
const told = (path: string, message: string | undefined): SchemaIssue[] =>
  message === undefined ? [] : [{ path, message }];
const depthOf = (issues: readonly SchemaIssue[]): number => Math.max(...issues.map(({ path }) => path.length));

const kinds: Readonly<Record<string, (value: unknown) => boolean>> = {
  null: (value) => value === null,
  boolean: (value) => typeof value === "boolean",
  string: (value) => typeof value === "string",
  number: isNumber,
  integer: (value) => value instanceof ExactInteger || Number.isInteger(value),
  array: Array.isArray,
  object: isObject,
};

function wrongKind({ type, nullable }: Schema, value: unknown): string | undefined {
  const names = (Array.isArray(type) ? (type as unknown[]) : [type]).filter((name) => name !== undefined);
  if (names.length === 0 || (nullable === true && value === null)) return undefined;
  const isRight = names.some((name) => typeof name !== "string" || !Object.hasOwn(kinds, name) || kinds[name]!(value));
  return isRight ? undefined : `is not of type ${names.map(String).join(" or ")}`;
}

function wrongChoice(schema: Schema, value: unknown): string | undefined {
  if (Object.hasOwn(schema, "const") && !isSame(schema["const"], value)) return "is not the one value that is allowed";
  const { enum: choices } = schema;
  if (!Array.isArray(choices) || choices.some((choice) => isSame(choice, value))) return undefined;
  return "is none of the values that are allowed";
}

/** As JSON: the order of members does not count. */
function isSame(a: unknown, b: unknown): boolean {
  if (isNumber(a) && isNumber(b)) return Number(a) === Number(b);
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return a === b;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [left, right] = [a as Schema, b as Schema];
  const names = Object.keys(left);
  return (
    names.length === Object.keys(right).length &&
    names.every((name) => Object.hasOwn(right, name) && isSame(left[name], right[name]))
  );
}

function wrongText(schema: Schema, text: string): string | undefined {
  const { minLength, maxLength, pattern } = schema;
  const length = typeof minLength === "number" || typeof maxLength === "number" ? Array.from(text).length : 0;
  if (typeof minLength === "number" && length < minLength) return `has fewer than ${minLength} characters`;
  if (typeof maxLength === "number" && length > maxLength) return `has more than ${maxLength} characters`;
  if (typeof pattern !== "string" || text.length > maxPatternText || !isCheap(pattern)) return undefined;
  try {
    return new RegExp(pattern, "u").test(text) ? undefined : `does not match ${pattern}`;
  } catch {
    return undefined; // an expression of another language
  }
}

/** Without groups, and with two parts of any length at most, the time is bounded by the cube of the text's length. */
function isCheap(pattern: string): boolean {
  const plain = pattern.replaceAll(/\\[^1-9kpPu]|\[(?:[^\\\]]|\\.)*\]/g, "x");
  return !/[()\\]/.test(plain) && (plain.match(/[*+?]|\{\d+,\d*\}/g) ?? []).length <= maxVarying;
}

function wrongNumber(schema: Schema, value: number): string | undefined {
  const limit = (name: string): number | undefined => (typeof schema[name] === "number" ? schema[name] : undefined);
  const [minimum, maximum] = [limit("minimum"), limit("maximum")];
  const [above, below] = [limit("exclusiveMinimum"), limit("exclusiveMaximum")];
  if (minimum !== undefined && value < minimum) return `is less than ${minimum}`;
  if (maximum !== undefined && value > maximum) return `is more than ${maximum}`;
  if (above !== undefined && value <= above) return `is not above ${above}`;
  if (below !== undefined && value >= below) return `is not below ${below}`;
  return undefined;
}

function wrongSize(schema: Schema, of: "Items" | "Properties", size: number, what: string): string | undefined {
  const [min, max] = [schema[`min${of}`], schema[`max${of}`]];
  if (typeof min === "number" && size < min) return `has fewer than ${min} ${what}`;
  return typeof max === "number" && size > max ? `has more than ${max} ${what}` : undefined;
}
