import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { Millrace, isPool, newPool } from "../client/millrace.js";
import { InvalidArgumentError } from "../db/errors.js";
import { exactTypes } from "../db/exact-types.js";
import type { MillraceOptions } from "../client/millrace.js";
import { WakeUp } from "../client/wake-up.js";
import { Maintainer } from "../maintenance/maintainer.js";
import type { Tracing } from "../observe/tracing.js";
import { Deliverer } from "../steps/deliverer.js";
import { apiPart, apiPath } from "./api/router.js";
import { routes as apiRoutes } from "./api/routes/index.js";
import { Auth } from "./auth/auth.js";
import type { RateOptions } from "./auth/auth.js";
import { isLoopback } from "./auth/loopback.js";
import type { TokenEntry } from "./auth/tokens.js";
import { dashboardPart, takesDashboard } from "./dashboard/static-files.js";
import { addressOf } from "./http/address.js";
import type { Exchange, Part } from "./http/exchange.js";
import { answer } from "./http/exchange.js";
import { mostUploads, usualBodyMemoryBytes, usualViewers } from "./http/limits.js";
import { Listener } from "./http/listener.js";
import { Shares } from "./http/shares.js";
import { Live } from "./live/live.js";
import type { Log } from "./log.js";
import { Checkup } from "./operations/checkup.js";
import { ServerMetrics } from "./operations/metrics.js";
import { operationPaths, operationsPart } from "./operations/operations.js";
import { millsOn } from "./mills.js";
import { sharedPool } from "./shared-pool.js";
import { Sqs, type SqsOptions } from "./sqs/sqs.js";
import { anybody } from "./sqs/wire/wire.js";
import { version } from "./version.js";

/** Unless the caller says otherwise. */
const mostConnections = 20;

/** What `startServer` takes. */
export interface ServerOptions extends Pick<MillraceOptions, "connection" | "schema" | "prepare"> {
  /** The address to listen on. Default `127.0.0.1`; anything else needs tokens and keys. */
  readonly host?: string;
  /** Default 8484; 0 is any free one. */
  readonly port?: number;
  /** The path everything is served under, such as `/queue`. Default none. */
  readonly prefix?: string;
  /**
   * What clients call the server, where a proxy stands before it: `https://queue.example.com`, with the path if there
   * is one. Queue URLs begin with it. Default: what requests say.
   */
  readonly publicUrl?: string;
  /**
   * Addresses and networks (`10.0.0.0/8`) of proxies whose `X-Forwarded-Proto` and `X-Forwarded-Host` are believed,
   * where there is no `publicUrl`. Default none.
   */
  readonly trustProxy?: readonly string[];
  /** How long requests in progress may take after `stop`, in milliseconds. Default 10,000. */
  readonly graceMs?: number;
  /** The SQS endpoint. Default: nobody has a key for it. */
  readonly sqs?: SqsOptions;
  /** Where it tells what happens. Default nowhere. */
  readonly log?: Log;
  /** Who may ask for what. Default everybody on this machine for everything, which only a server on loopback allows. */
  readonly tokens?: readonly TokenEntry[];
  /** How long `/readyz` says no before the server stops listening, so that load balancers send no more. Default 0. */
  readonly drainDelayMs?: number;
  /** Makes each request of the API and of SQS clients a span, below the one of its `traceparent`. Default none. */
  readonly tracing?: Tracing;
  /** How often each token may ask. Default 1000 times a second, 2000 at once. */
  readonly rate?: RateOptions;
  /**
   * How much of bodies may be in memory at once, in bytes. One token or key gets two thirds of it at most. Default 256
   * MiB.
   */
  readonly bodyMemoryBytes?: number;
  /** How many may watch `GET /live` at once. One token gets two thirds of them at most. Default 200. */
  readonly viewers?: number;
}

/** A server that runs. */
export interface RunningServer {
  /** Where it listens, with the prefix and without a slash at the end. */
  readonly url: string;
  readonly mill: Millrace;
  /** Other tokens from now on. */
  replaceTokens(tokens: readonly TokenEntry[]): void;
  /** Finish what is in progress, and close the pool. */
  stop(): Promise<void>;
}

/** Serve a database over HTTP: SQS, the API, the dashboard, and what operations need. */
export async function startServer(options: ServerOptions = {}): Promise<RunningServer> {
  const {
    host = "127.0.0.1",
    port = 8484,
    prefix = "",
    graceMs = 10_000,
    drainDelayMs = 0,
    log = () => {},
    tracing,
  } = options;
  if (options.tokens === undefined && !isLoopback(host))
    throw new InvalidArgumentError(
      `without tokens nobody beyond this machine may be let in, and ${host} is beyond it`,
      'make tokens with "millrace tokens new", or listen on 127.0.0.1',
    );
  if (options.sqs?.anyKey && !isLoopback(host)) {
    throw new InvalidArgumentError(
      `sqs.anyKey lets everybody in who reaches ${host}`,
      "give keys, or listen on 127.0.0.1",
    );
  }
  const address = addressOf({ publicUrl: options.publicUrl, trustProxy: options.trustProxy, prefix });
  const connection = options.connection ?? process.env["DATABASE_URL"];
  if (!connection) throw new InvalidArgumentError("no database given", "pass connection, or set DATABASE_URL");
  const pool = isPool(connection)
    ? connection
    : newPool({
        max: mostConnections,
        types: exactTypes,
        ...(typeof connection === "string" ? { connectionString: connection } : connection),
      });
  const mill = new Millrace({
    connection: pool,
    ...(options.schema === undefined ? {} : { schema: options.schema }),
    ...(options.prepare === undefined ? {} : { prepare: options.prepare }),
  });
  const { engine } = mill;
  const memory = new Shares("memory", options.bodyMemoryBytes ?? usualBodyMemoryBytes);
  const waits = new Shares("enqueues with fingerprints or keys", Math.ceil(pool.options.max / 3));
  const connections = new Shares("connections", pool.options.max);
  const metrics = new ServerMetrics();
  const wakeUp = new WakeUp(engine);
  const deliverer = new Deliverer(engine, (error) =>
    log("warn", "signals are left to the workers", { error: String(error) }),
  );
  const auth = new Auth(options.tokens, options.rate);
  const checkup = new Checkup(pool, engine.schema);
  const live = new Live(engine, log, () => checkup.warnings);
  const maintainer = new Maintainer({
    engine,
    onError: (error) => log("warn", "maintenance failed", { error: String(error) }),
  });
  let isStopping = false;

  const operations = operationsPart({ engine, auth, live, metrics, isStopping: () => isStopping });
  const api = apiPart(
    apiRoutes,
    {
      millOf: millsOn(mill, pool, connections),
      shares: {
        memory,
        looks: new Shares("looks at many jobs", Math.ceil(pool.options.max / 5)),
        waits,
        uploads: new Shares("payloads on their way", mostUploads),
        viewers: new Shares("viewers", options.viewers ?? usualViewers),
      },
      auth,
      live,
      checkup,
      log,
      version: version(),
      wake: (queue) => wakeUp.tell(queue),
      deliver: () => deliverer.ask(),
    },
    {
      observe: (of, status, seconds) => metrics.count(of.method, of.path, status, seconds),
      ...(tracing ? { tracing } : {}),
    },
  );
  // Sends of many keys go in one statement, so that all keys together are one of those who share.
  const sqs = new Sqs(options.sqs ?? {}, {
    engine: engine.withPool(sharedPool(pool, connections, anybody)),
    memory,
    waits: waits.lineOf(anybody),
    connection: connectionOf(connection),
    addressOf: address,
    log,
    tracing,
  });
  const listener = new Listener(
    { host, port, prefix, graceMs, log },
    route([
      { takes: ({ path }) => operationPaths.includes(path), part: counted(metrics, operations) },
      { takes: ({ path }) => path.startsWith(`${apiPath}/`), part: api },
      { takes: takesDashboard, part: dashboardPart() },
      { takes: () => true, part: counted(metrics, sqs.part, "sqs") },
    ]),
  );
  const at = await listener.start().catch(async (error: NodeJS.ErrnoException) => {
    await wakeUp.close();
    if (pool !== options.connection) await pool.end();
    throw new InvalidArgumentError(
      `cannot listen on ${host}:${port}: ${error.code ?? error.message}`,
      "give another port, or 0 for any; stop what has this one",
      error,
    );
  });
  sqs.start();
  const url = `http://${at.host.includes(":") ? `[${at.host}]` : at.host}:${at.port}${prefix}`;
  metrics.start();
  live.start();
  maintainer.start();
  log("info", "listening", { url, ...(options.publicUrl === undefined ? {} : { publicUrl: options.publicUrl }) });
  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    isStopping = true;
    log("info", "stopping");
    await sleep(drainDelayMs);
    await listener.stop();
    await Promise.all([live.stop(), maintainer.stop(), wakeUp.close(), deliverer.idle(), sqs.stop()]);
    metrics.stop();
    await mill.close();
    if (pool !== options.connection) await pool.end();
    log("info", "stopped");
  };
  return {
    url,
    mill,
    replaceTokens: (tokens) => auth.replace(tokens),
    stop: () => (stopped ??= stop()),
  };
}

/** A part whose requests are counted under their path, or all under one name. */
function counted(metrics: ServerMetrics, part: Part, name?: string): Part {
  return async (exchange) => {
    const began = performance.now();
    await part(exchange);
    metrics.count(
      exchange.request.method ?? "",
      name ?? exchange.path,
      exchange.response.statusCode,
      (performance.now() - began) / 1000,
    );
  };
}

/** How to connect as the client does, for a connection of one's own. */
function connectionOf(connection: NonNullable<MillraceOptions["connection"]>): string | pg.ClientConfig {
  if (!isPool(connection)) return connection;
  const { connectionString, host, port, user, password, database, ssl } = connection.options as pg.ClientConfig;
  return Object.fromEntries(
    Object.entries({ connectionString, host, port, user, password, database, ssl }).filter(
      ([, value]) => value !== undefined,
    ),
  );
}

/** A part and the paths it takes. The first that takes a path has it. */
interface Route {
  readonly takes: (exchange: Exchange) => boolean;
  readonly part: Part;
}

function route(routes: readonly Route[]): Part {
  return async (exchange) => {
    const found = routes.find(({ takes }) => takes(exchange));
    if (found) await found.part(exchange);
    else answer(exchange, 404, { "content-type": "text/plain" }, "there is nothing here\n");
  };
}
