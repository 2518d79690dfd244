import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { z } from "../zod.js";
import { InvalidArgumentError } from "../../db/errors.js";
import { type Tracing, traceHeader } from "../../observe/tracing.js";
import { anyone } from "../auth/roles.js";
import { type Exchange, type Part, answer, pathForLog, readBody } from "../http/exchange.js";
import { usualBodyBytes } from "../http/limits.js";
import type { Holding } from "../http/shares.js";
import { overCells } from "./over-cells.js";
import { ApiError, problemOf } from "./problem.js";
import { checkValue } from "./check.js";
import { fromJson, toJsonText } from "./json.js";
import { recorder } from "./record.js";
import type { ApiParts, Route } from "./route.js";

/** Everything of the API is below this. */
export const apiPath = "/api/v1";

const noQuery = z.strictObject({});

/** Who else wants to know. */
export interface Observers {
  /** Told of every request that reached a route: for metrics. */
  readonly observe?: (route: Route, status: number, seconds: number) => void;
  readonly tracing?: Tracing;
}

interface Node {
  readonly routes: Map<string, Route>;
  readonly words: Map<string, Node>;
  any?: Node;
}

const newNode = (): Node => ({ routes: new Map(), words: new Map() });

/** The API as a part of the server. */
export function apiPart(routes: readonly Route[], parts: ApiParts, { observe, tracing }: Observers = {}): Part {
  const root = newNode();
  for (const route of routes) insert(root, route);
  return async (exchange) => {
    const began = performance.now();
    let found: Route | undefined;
    try {
      const { route, params } = find(root, exchange);
      found = route;
      const work = () => serve(route, params, exchange, parts);
      if (tracing) await tracing.run(spanOf(route, exchange), work);
      else await work();
    } catch (error) {
      refuse(exchange, error, parts);
    } finally {
      if (found) observe?.(found, exchange.response.statusCode, (performance.now() - began) / 1000);
    }
  };
}

function spanOf(route: Route, { request, id }: Exchange): Parameters<Tracing["run"]>[0] {
  const parent = request.headers[traceHeader];
  const name = `${route.method} ${route.path}`;
  return {
    name,
    parent: typeof parent === "string" ? parent : undefined,
    attributes: { "http.request.method": route.method, "http.route": route.path, "millrace.request_id": id },
  };
}

function insert(root: Node, route: Route): void {
  let node = root;
  for (const word of route.path.split("/").slice(1)) {
    const next = word.startsWith("{") ? (node.any ??= newNode()) : (node.words.get(word) ?? newNode());
    if (!word.startsWith("{")) node.words.set(word, next);
    node = next;
  }
  if (node.routes.has(route.method)) throw new Error(`two routes for ${route.method} ${route.path}`);
  node.routes.set(route.method, route);
}

/**
 * The route of a request. Words are compared as they were sent, so that an encoded slash is part of a name and never of
 * the path.
 */
function find(
  root: Node,
  { request, path }: Exchange,
): { readonly route: Route; readonly params: Record<string, string> } {
  const words = path.slice(apiPath.length).split("/").slice(1);
  const node = walk(root, words);
  if (!node || node.routes.size === 0)
    throw new ApiError(
      "noRoute",
      `there is nothing at ${path.slice(0, 200)}`,
      `GET ${apiPath}/openapi.json tells what there is`,
    );
  const method = request.method === "HEAD" ? "GET" : (request.method ?? "GET");
  const route = node.routes.get(method);
  if (!route) {
    const allowed = [...node.routes.keys()].join(", ");
    throw new ApiError("noMethod", `${path.slice(0, 200)} has no ${method}`, `use ${allowed}`, { allow: allowed });
  }
  const names = route.path.split("/").slice(1);
  return {
    route,
    params: Object.fromEntries(
      names.flatMap((name, i) => (name.startsWith("{") ? [[name.slice(1, -1), decoded(words[i]!)]] : [])),
    ),
  };
}

function walk(node: Node, words: readonly string[]): Node | undefined {
  const [word, ...rest] = words;
  if (word === undefined) return node;
  const exact = node.words.get(word);
  return (exact && walk(exact, rest)) ?? (word !== "" && node.any ? walk(node.any, rest) : undefined);
}

function decoded(word: string): string {
  try {
    return decodeURIComponent(word);
  } catch {
    throw new InvalidArgumentError(
      `"${word.slice(0, 100)}" cannot be decoded`,
      "encode names in paths as UTF-8, percent by percent",
    );
  }
}

async function serve(route: Route, params: Record<string, string>, exchange: Exchange, parts: ApiParts): Promise<void> {
  const identity = route.role === anyone ? parts.auth.admitAnyone(exchange) : parts.auth.admit(exchange, route.role);
  route.precheck?.(params);
  const { name } = identity;
  const { cell, query } = cellIn(route, checkValue(route.query ?? noQuery, queryOf(exchange), "the query"));
  const { millOf, ...rest } = parts;
  const mill = millOf(name);
  const memory = parts.shares.memory.hold(name);
  try {
    const limit = route.bodyLimit ?? usualBodyBytes;
    const body =
      route.body === undefined
        ? undefined
        : checkValue(route.body, await bodyOf(route, exchange, limit, memory), "the body");
    const [looks, waits] = [parts.shares.looks.lineOf(name), parts.shares.waits.lineOf(name)];
    const call = {
      ...rest,
      mill,
      looks,
      waits,
      exchange,
      identity,
      params,
      query,
      body,
      cell,
      ...recorder(route, exchange, identity, mill, parts, body),
    };
    const value = await overCells(route, mill, cell, () => route.handle(call));
    if (!("raw" in route.answer)) await sendJson(exchange, 200, value);
  } finally {
    memory.end();
  }
}

/** The cell that is meant is none of the handler's business: it asks all, and one answers. */
function cellIn(
  route: Route,
  { cell, ...query }: Record<string, unknown>,
): { readonly cell: string | undefined; readonly query: Record<string, unknown> } {
  if (route.cells === "filtered") return { cell: cell as string | undefined, query };
  return { cell: undefined, query: cell === undefined ? query : { ...query, cell } };
}

function queryOf({ query }: Exchange): Record<string, string> {
  const values = new Map<string, string>();
  for (const [key, value] of query) {
    if (values.has(key)) throw new InvalidArgumentError(`"${key.slice(0, 100)}" is given twice`, "give it once");
    values.set(key, value);
  }
  return Object.fromEntries(values);
}

async function bodyOf(route: Route, exchange: Exchange, limit: number, memory: Holding): Promise<unknown> {
  const bytes = await readBody(exchange, limit, memory);
  if (bytes.length === 0) return {};
  const type = exchange.request.headers["content-type"] ?? "";
  if (route.takesForms && /^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(type)) return formOf(bytes);
  if (!/^application\/(?:json|[\w.-]+\+json)\s*(?:;|$)/i.test(type))
    throw new ApiError("mediaType", "the body is not announced as JSON", "send Content-Type: application/json");
  return fromJson(bytes, "the body", "send one JSON value in UTF-8");
}

/** The fields of a form, in one pass. One that is there more than once has a list of texts. */
function formOf(bytes: Buffer): Record<string, string | string[]> {
  const fields = new Map<string, string | string[]>();
  for (const [key, value] of new URLSearchParams(bytes.toString("utf8"))) {
    const known = fields.get(key);
    if (Array.isArray(known)) known.push(value);
    else fields.set(key, known === undefined ? value : [known, value]);
  }
  return Object.fromEntries(fields);
}

const safeHeaders = { "cache-control": "no-store", "x-content-type-options": "nosniff" } as const;

/** Shorter answers are sent as they are: packing them saves no packet. */
const packedFrom = 1400;
const pack = promisify(gzip);

async function sendJson(exchange: Exchange, status: number, value: unknown): Promise<void> {
  const text = `${toJsonText(value)}\n`;
  const headers = { "content-type": "application/json", vary: "accept-encoding", ...safeHeaders };
  const accepted = exchange.request.headers["accept-encoding"];
  if (text.length < packedFrom || !takesGzip(accepted)) return answer(exchange, status, headers, text);
  // Fast rather than small: most of it is names of members, said again and again.
  const packed = await pack(text, { level: 1 });
  answer(exchange, status, { ...headers, "content-encoding": "gzip" }, packed);
}

const takesGzip = (accepted: string | string[] | undefined): boolean =>
  String(accepted ?? "")
    .split(",")
    .some((one) => /^\s*gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*$)[\d.]+\s*)?$/i.test(one));

/**
 * What went wrong, as an answer. Nothing is left to say to a client that has gone, or has part of an answer already.
 */
function refuse(exchange: Exchange, error: unknown, { log }: ApiParts): void {
  const { response, request, id, path } = exchange;
  if (response.headersSent || exchange.signal.aborted) {
    response.destroy();
    return;
  }
  const found = problemOf(error, id);
  if (!found) {
    log("error", "request failed", {
      id,
      method: request.method,
      path: pathForLog(path),
      error: String((error as Error)?.stack ?? error),
    });
    const detail = "something went wrong here; the log tells more of this request";
    const problem = {
      type: "about:blank",
      title: "internal error",
      status: 500,
      code: "internal",
      detail,
      requestId: id,
    };
    answer(
      exchange,
      500,
      { "content-type": "application/problem+json", ...safeHeaders },
      `${JSON.stringify(problem)}\n`,
    );
    return;
  }
  const { problem, headers } = found;
  if (problem.status >= 500)
    log("warn", "request refused", {
      id,
      method: request.method,
      path: pathForLog(path),
      status: problem.status,
      code: problem.code,
      detail: problem.detail,
    });
  answer(
    exchange,
    problem.status,
    { "content-type": "application/problem+json", ...safeHeaders, ...headers },
    `${JSON.stringify(problem)}\n`,
  );
}
