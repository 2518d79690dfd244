import { z } from "../zod.js";
import { anyone } from "../auth/roles.js";
import { apiErrors } from "./problem.js";
import type { Route } from "./route.js";
import { problem } from "./schemas.js";

type Json = Record<string, unknown>;

/** The table of routes as an OpenAPI 3.1 document. */
export function openApi(routes: readonly Route[], version: string): Json {
  const shared = new Map<string, Json>();
  const shape = (schema: z.ZodType, io: "input" | "output"): Json =>
    hoist(z.toJSONSchema(schema, { io, unrepresentable: "any", override: plain }), shared);
  const paths: Record<string, Json> = {};
  const problemContent = { "application/problem+json": { schema: shape(problem, "output") } };
  for (const route of routes) {
    (paths[route.path] ??= {})[route.method.toLowerCase()] = {
      operationId: operationId(route),
      summary: route.summary,
      tags: [route.path.split("/")[1]],
      "x-role": route.role,
      ...(route.role === anyone ? { security: [] } : {}),
      parameters: [...pathParameters(route), ...queryParameters(route, shape)],
      ...(route.body === undefined
        ? {}
        : { requestBody: { content: { "application/json": { schema: shape(route.body, "input") } } } }),
      responses: {
        "200": {
          description: "done",
          content:
            "raw" in route.answer
              ? { [route.answer.raw]: route.answer.shape ? { schema: shape(route.answer.shape, "output") } : {} }
              : { "application/json": { schema: shape(route.answer, "output") } },
        },
        default: { description: "refused; the code tells why, and the remedy what to do", content: problemContent },
      },
    };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Millrace",
      version,
      description: `A job queue on PostgreSQL. Errors are application/problem+json with a stable code; those of the server itself: ${Object.values(
        apiErrors,
      )
        .map(({ code, title }) => `${code} ${title}`)
        .join("; ")}.`,
    },
    servers: [{ url: "../v1" }], // from where the document is, so that it holds under any prefix
    security: [{ token: [] }],
    paths,
    components: {
      schemas: Object.fromEntries([...shared].toSorted(([a], [b]) => (a < b ? -1 : 1))),
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
    },
  };
}

function operationId({ method, path }: Route): string {
  const words = path
    .split("/")
    .slice(1)
    .map((word) => word.replaceAll(/[{}]/g, "").replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase()));
  return [method.toLowerCase(), ...words.map((word) => word[0]!.toUpperCase() + word.slice(1))]
    .join("")
    .replaceAll(".", "");
}

function pathParameters({ path }: Route): Json[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
}

function queryParameters({ query }: Route, shape: (schema: z.ZodType, io: "input") => Json): Json[] {
  return Object.entries(query?.shape ?? {}).map(([name, schema]) => ({
    name,
    in: "query",
    required: !(schema as z.ZodType).safeParse(undefined).success,
    schema: shape(schema as z.ZodType, "input"),
  }));
}

/** Named shapes go to the components of the document, and are referred to there. */
function hoist({ $schema: _dialect, $defs, ...schema }: Json, shared: Map<string, Json>): Json {
  for (const [name, definition] of Object.entries(($defs ?? {}) as Record<string, Json>))
    shared.set(name, rename(definition) as Json);
  return rename(schema) as Json;
}

function rename(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(rename);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      key === "$ref" ? String(member).replace("#/$defs/", "#/components/schemas/") : rename(member),
    ]),
  );
}

/** What JSON Schema says in a word needs no pattern besides, and integers that are safe in JavaScript no bounds. */
function plain({ jsonSchema }: { readonly jsonSchema: Record<string, unknown> }): void {
  if (jsonSchema["format"] === "date-time") delete jsonSchema["pattern"];
  if (jsonSchema["minimum"] === Number.MIN_SAFE_INTEGER) delete jsonSchema["minimum"];
  if (jsonSchema["maximum"] === Number.MAX_SAFE_INTEGER) delete jsonSchema["maximum"];
}
