import type { IncomingMessage, ServerResponse } from "node:http";
import type { Millrace } from "../client/millrace.js";
import type { WebHookOptions } from "../client/web-hook.js";
import { checkKeys } from "../db/encode.js";
import { InvalidArgumentError } from "../db/errors.js";
import { shown } from "../db/check-options.js";
import { type Logger, errorLine, loggerOf } from "../observe/logger.js";
import type { RateOptions } from "./auth/auth.js";
import { type Role, roles } from "./auth/roles.js";
import type { Identity } from "./auth/tokens.js";
import { UserAuth } from "./auth/user-auth.js";
import { type Incoming, type Outgoing, type ReadBody, firstOf } from "./http/exchange.js";
import { Exchanges } from "./http/exchanges.js";
import { fetchThrough } from "./http/fetch.js";
import { Hooks } from "./hooks.js";
import type { Log } from "./log.js";
import { QueueParts } from "./queue-parts.js";

/** Who asks, as the application knows them. */
export interface User {
  /** In the audit, and as `by` of what was decided: at most 200 characters. */
  readonly name: string;
  /** What they may do: `reader`, `producer`, `worker` or `admin`, each more than the one before. */
  readonly role: Role;
}

/** Options of `createHandler`. */
export interface HandlerOptions<R = IncomingMessage | Request> {
  /** The client whose queue is shown, of one cell or of several. The handler uses its connections. */
  readonly mill: Millrace;
  /**
   * The path everything is served under, such as `/admin/queue`. Default: what Express was told (`app.use(path, …)`),
   * else none.
   */
  readonly basePath?: string;
  /**
   * Who asks, by what your application knows of the request (a session, a cookie, what a middleware has found out);
   * null for nobody. Asked for each request, before anything else. Without it, each call says it.
   */
  readonly user?: (request: R) => User | null | undefined | Promise<User | null | undefined>;
  /** Where errors are told, as the client's `logger`. Default the console; false for nowhere. */
  readonly logger?: Logger | false;
  /** How often each user may ask. Default 1000 times a second, 2000 at once. */
  readonly rate?: RateOptions;
  /** How much of bodies may be in memory at once, in bytes. One user gets two thirds at most. Default 256 MiB. */
  readonly bodyMemoryBytes?: number;
  /** How many may watch the live stream at once. One user gets two thirds at most. Default 200. */
  readonly viewers?: number;
  /**
   * Send web hooks of alerts from this process, from now on and until the handler is closed: `true` to every host with
   * a public address, or to which hosts. It looks every ten seconds whether there are any; once there are, its worker
   * holds the process open as others do. Default false: `millrace serve`, or `mill.alerts.worker`, may send them.
   */
  readonly webHooks?: WebHookOptions | boolean;
}

/** What one call of a handler knows beside the request. */
export interface HandlerCall {
  /** Who asks; null for nobody. Instead of the option `user`. */
  readonly user?: User | null | undefined;
  /** Instead of the option `basePath`, where it is another for each request: `/tenants/7/queue`. */
  readonly basePath?: string;
  /** The client's address, for the audit. Default that of the connection, which a `Request` does not know. */
  readonly address?: string | undefined;
}

/** The dashboard and the API of a queue, to be mounted in an application. */
export interface QueueHandler<R = IncomingMessage | Request> {
  /**
   * Answers a request of Node's own server, and of what is built on it: Express, Fastify, Koa, NestJS. It answers all
   * that is below its path; a `next` that Express hands over is never called.
   */
  readonly node: (
    request: R & IncomingMessage,
    response: ServerResponse,
    call?: HandlerCall | ((error?: unknown) => void),
  ) => Promise<void>;
  /** Answers a `Request` with a `Response`: Hono, Next.js, and whatever else has these. */
  readonly fetch: (request: R & Request, call?: HandlerCall) => Promise<Response>;
  /**
   * End live streams, let requests in progress end, and send no more web hooks. Before the server, and the client, are
   * closed.
   */
  close(): Promise<void>;
}

const graceMs = 10_000;
const nameLength = 200;
const optionKeys = new Set(["mill", "basePath", "user", "logger", "rate", "bodyMemoryBytes", "viewers", "webHooks"]);
const callKeys = new Set(["user", "basePath", "address"]);

/**
 * The dashboard and the API of a queue inside of your application, under a path of yours and behind your own
 * authentication. It is what `millrace serve` answers with, but for the SQS endpoint, health and metrics. Users have
 * the same four roles as tokens there, the audit has their names, and requests that pages of other sites make are
 * refused. It begins to look at the queues with the first request, and holds no process open; with `webHooks` it sends
 * those of alerts too, as long as the process lives.
 *
 * @example
 * ```ts
 * import { type IncomingMessage, createServer } from "node:http";
 * import { createHandler } from "millrace/server";
 *
 * const admin = createHandler({
 *   mill,
 *   basePath: "/admin/queue",
 *   user: (request: IncomingMessage) =>
 *     request.headers.cookie?.includes("session=secret") ? { name: "ann@example.com", role: "admin" } : null,
 * });
 * createServer(admin.node).listen(3000); // the dashboard is at http://localhost:3000/admin/queue
 * ```
 */
export function createHandler<R = IncomingMessage | Request>(options: HandlerOptions<R>): QueueHandler<R> {
  checkKeys(options, optionKeys);
  const { mill, bodyMemoryBytes, viewers, webHooks = false } = options;
  const usual = options.basePath === undefined ? undefined : checkBasePath(options.basePath);
  const logger = loggerOf(options.logger);
  const log: Log = (level, message, facts) => {
    if (level === "debug" || level === "info") return;
    const error = facts?.["error"];
    logger?.[level](facts ?? {}, error === undefined ? message : `${message}: ${errorLine(error)}`);
  };
  const parts = new QueueParts(mill, new UserAuth(options.rate), {
    log,
    ...(bodyMemoryBytes === undefined ? {} : { bodyMemoryBytes }),
    ...(viewers === undefined ? {} : { viewers }),
  });
  const hooks = webHooks === false ? undefined : new Hooks(mill, webHooks === true ? {} : webHooks, log);
  hooks?.start();
  const exchanges = new Exchanges(log, firstOf(parts.routes));
  const serve = async (request: R, incoming: Incoming, outgoing: Outgoing, call: HandlerCall): Promise<void> => {
    checkKeys(call, callKeys);
    const { basePath, address } = call;
    const { originalUrl, baseUrl } = incoming as Partial<Record<"originalUrl" | "baseUrl", string>>;
    await exchanges.serve(incoming, outgoing, {
      prefix: basePath === undefined ? (usual ?? baseUrl ?? "") : checkBasePath(basePath),
      url: originalUrl,
      address,
      async user() {
        const user = userOf("user" in call ? call.user : await options.user?.(request));
        if (user) parts.start(); // somebody looks
        return user;
      },
      body: readBefore(incoming),
    });
  };
  let closed: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    await Promise.all([exchanges.stop(graceMs).then(() => parts.stop()), hooks?.stop()]);
  };
  return {
    node: (request, response, call) => serve(request, request, response, typeof call === "object" ? call : {}),
    fetch: (request, call = {}) =>
      fetchThrough(request, (incoming, outgoing) => serve(request, incoming, outgoing, call)),
    close: () => (closed ??= close()),
  };
}

function checkBasePath(path: string): string {
  const plain = typeof path === "string" ? path.replace(/\/+$/, "") : "?";
  if (plain !== "" && !/^(\/[^/?#\s]+)+$/.test(plain))
    throw new InvalidArgumentError(`basePath cannot be ${shown(path)}`, 'give a path such as "/admin/queue"');
  return plain;
}

/** What the application says, as it is told to others. Its mistakes are not the client's: they are errors of ours. */
function userOf(user: User | null | undefined): Identity | null {
  if (user === null || user === undefined) return null;
  const { name, role } = user;
  if (typeof name !== "string" || name === "" || name.length > nameLength || /\p{Cc}/u.test(name))
    throw new TypeError(`the user's name cannot be ${shown(name)}: give 1 to ${nameLength} printable characters`);
  if (!roles.includes(role)) throw new TypeError(`the user's role cannot be ${shown(role)}: give ${roles.join(", ")}`);
  return { name, role };
}

/**
 * The body, where a parser of the application has read it before: as it was sent if somebody has kept that, else put
 * together again of what it was parsed to.
 */
function readBefore(incoming: Incoming): ReadBody | undefined {
  if (!incoming.readableEnded) return undefined;
  const { rawBody, body } = incoming as { readonly rawBody?: unknown; readonly body?: unknown };
  const kept = [rawBody, body].find((one) => one instanceof Uint8Array || typeof one === "string");
  if (kept !== undefined) return { bytes: Buffer.from(kept as string), isExact: true };
  return { bytes: Buffer.from(body === undefined ? "" : JSON.stringify(body)), isExact: body === undefined };
}
