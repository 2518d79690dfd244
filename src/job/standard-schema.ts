import { InputError, InvalidArgumentError } from "../db/errors.js";

/** The shape every schema library agrees on (Standard Schema, version 1): zod, valibot, arktype and others. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** What goes into a schema. */
export type SchemaInput<S> = S extends StandardSchema<infer Input, unknown> ? Input : never;
/** What comes out of it. */
export type SchemaOutput<S> = S extends StandardSchema<unknown, infer Output> ? Output : never;

/** Refuse what is not a schema when it is given, not when the first value is checked. */
export function checkSchema(schema: unknown, what: string): void {
  const standard = (schema as Partial<StandardSchema> | null)?.["~standard"];
  if (standard?.version === 1 && typeof standard.validate === "function") return;
  throw new InvalidArgumentError(
    `${what} has no schema of the Standard Schema form`,
    "use zod from 3.24, valibot from 1.0, arktype from 2.0, or another that has it",
  );
}

/** What goes into a schema, as JSON Schema, where its library has that (Standard JSON Schema) and it can be said so. */
export function jsonSchemaOf(schema: StandardSchema): unknown {
  const standard = schema["~standard"] as { jsonSchema?: { input?: (options: { target: string }) => unknown } };
  try {
    return standard.jsonSchema?.input?.({ target: "draft-2020-12" });
  } catch {
    return undefined; // a transformation, say, that no JSON Schema can describe
  }
}

/** The value as the schema gives it back, or an InputError that names the field. */
export async function validate<Output>(
  schema: StandardSchema<unknown, Output>,
  value: unknown,
  what: string,
): Promise<Output> {
  const result = await schema["~standard"].validate(value);
  if (!result.issues) return result.value;
  throw new InputError(
    what,
    result.issues.map(({ path, message }) => ({ path: pathText(path), message })),
  );
}

function pathText(path: SchemaIssue["path"]): string {
  return (path ?? []).reduce<string>((text, segment) => {
    const key = typeof segment === "object" ? segment.key : segment;
    if (typeof key === "number") return `${text}[${key}]`;
    return text === "" ? String(key) : `${text}.${String(key)}`;
  }, "");
}
