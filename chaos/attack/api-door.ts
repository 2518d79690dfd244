import fc from "fast-check";
import { error, jobMembers, queueMembers, rule, scheduleMembers } from "./options.js";
import { type Attack, Fault, type Role, type Run, type Target } from "./run.js";
import { flag, json, marks, mostly, name, number, some, text, time } from "./values.js";

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
}

interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: "path" | "query"; readonly schema: Schema }[];
  readonly requestBody?: { readonly content: { readonly "application/json": { readonly schema: Schema } } };
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** Streams and long looks; and what is about everybody's jobs on purpose. */
const leftOut = new Set(["/live", "/doctor", "/jobs/stream", "/events", "/jobs/{id}/result", "/jobs/replay"]);

/** Values by the name of their member, so that requests get beyond the first check. */
const byName: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  ...jobMembers,
  ...queueMembers,
  ...scheduleMembers,
  queues: fc.array(marks.queue, { minLength: 1, maxLength: 3 }),
  target: marks.queue,
  type: marks.type,
  types: fc.array(marks.type, { maxLength: 2 }),
  id: fc.constant("@id"),
  job: fc.constant("@id"),
  ids: fc.constant(["@id"]),
  jobs: fc.constant(["@id"]),
  token: fc.constant("@token"),
  tokens: fc.constant(["@token"]),
  error,
  rule,
  resource: fc.constantFrom("@r0", "@r1"),
};

/** Requests that fit the server's own description of its API, more or less. */
export async function apiAttack({ apiUrl, tokens }: Target): Promise<fc.Arbitrary<Attack>> {
  const response = await fetch(`${apiUrl}/api/v1/openapi.json`, {
    headers: { authorization: `Bearer ${tokens.admin}` },
  });
  const { paths, components } = (await response.json()) as Document;
  const operations = Object.entries(paths)
    .filter(([path]) => !leftOut.has(path))
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ verb: `${method.toUpperCase()} ${path}`, operation })),
    );
  const often = operations.filter(({ verb }) => /^POST \/(jobs|jobs\/batch|claims|claims\/settle)$|^PUT/.test(verb));
  return fc
    .oneof(
      { weight: 2, arbitrary: fc.constantFrom(...often) },
      { weight: 3, arbitrary: fc.constantFrom(...operations) },
    )
    .chain(({ verb, operation }) =>
      valuesOf(verb, operation, components.schemas).map((values) => ({ door: "api" as const, verb, values })),
    );
}

interface ApiValues {
  readonly role: Role;
  readonly path: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
}

function valuesOf(
  verb: string,
  { parameters = [], requestBody }: Operation,
  shared: Document["components"]["schemas"],
): fc.Arbitrary<ApiValues> {
  const inPath = parameters.filter((one) => one.in === "path");
  const inQuery = parameters.filter((one) => one.in === "query");
  const schema = requestBody?.content["application/json"].schema;
  // A name in the path is a queue, a schedule, a resource or a calendar: always one of this run.
  const place = (key: string): fc.Arbitrary<unknown> =>
    key === "id"
      ? mostly(fc.constant("@id"))
      : key === "group"
        ? name
        : verb.includes("/resources/")
          ? fc.constantFrom("@r0", "@r1")
          : marks.queue;
  return fc.record(
    {
      role: fc.constantFrom<Role>("admin", "admin", "admin", "worker", "producer", "reader"),
      path: fc.record(Object.fromEntries(inPath.map((one) => [one.name, place(one.name)])), { noNullPrototype: true }),
      query: fc.record(
        Object.fromEntries(inQuery.map((one) => [one.name, mostly(fit(one.schema, shared, one.name))])),
        {
          requiredKeys: [],
          noNullPrototype: true,
        },
      ),
      ...(schema ? { body: mostly(fit(schema, shared, ""), 20) } : {}),
    },
    { noNullPrototype: true },
  );
}

/** Values that a schema describes, each part of them sometimes anything. */
function fit(schema: Schema, shared: Document["components"]["schemas"], key: string, depth = 0): fc.Arbitrary<unknown> {
  if (schema.$ref !== undefined) return fit(shared[schema.$ref.split("/").at(-1)!] ?? {}, shared, key, depth);
  if (schema.properties === undefined && Object.hasOwn(byName, key) && depth > 0) return byName[key]!;
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  const choices = schema.anyOf ?? schema.oneOf ?? schema.allOf;
  if (choices) return fc.oneof(...choices.map((one) => fit(one, shared, key, depth)));
  if (schema.properties && depth < 4) {
    const members = Object.entries(schema.properties).map(
      ([member, inner]) => [member, mostly(fit(inner, shared, member, depth + 1), 12)] as const,
    );
    return fc.record(Object.fromEntries(members), {
      requiredKeys: [...(schema.required ?? [])],
      noNullPrototype: true,
    });
  }
  const kind = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (kind === "array" && schema.items) return fc.array(fit(schema.items, shared, key, depth + 1), { maxLength: 3 });
  if (kind === "boolean") return flag;
  if (kind === "number" || kind === "integer") return number;
  if (kind === "string") return fc.oneof(name, time, text);
  return kind === "object" ? some({ a: json, b: json }) : json;
}

/** Ask it. Whatever it was, the server is not to blame; it may say that it has too much to do. */
export async function callApi(run: Run, { verb, values }: Attack): Promise<void> {
  const { role, path, query, body } = values as ApiValues;
  const [method = "", template = ""] = verb.split(" ");
  const written = template.replaceAll(
    /\{(\w+)\}/g,
    (_, key: string) => encodeURIComponent(textOf(run, path[key])) || "x",
  );
  const asked = new URLSearchParams(
    Object.entries(query).map(([key, value]): [string, string] => [key, textOf(run, value)]),
  );
  const { status, answer } = await ask(
    run.target,
    role,
    method,
    `${written}?${asked.toString()}`,
    body === undefined ? undefined : run.json(body),
  );
  if (status >= 500 && !/"MR11[01]"/.test(answer))
    throw new Fault(`API ${verb} was answered ${status} ${answer.slice(0, 300)}`);
  run.count("api", status < 400 ? "accepted" : "refused");
}

function textOf(run: Run, value: unknown): string {
  const filled = run.fill(value);
  return (typeof filled === "string" ? filled : run.json(value)).toWellFormed().slice(0, 3000);
}

/** One request of the API. */
export async function ask(
  target: Target,
  role: Role,
  method: string,
  path: string,
  body?: string,
): Promise<{ readonly status: number; readonly answer: string }> {
  const response = await fetch(`${target.apiUrl}/api/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${target.tokens[role]}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body }),
  });
  return { status: response.status, answer: await response.text() };
}
