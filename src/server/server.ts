import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { type WebHookOptions, checkAllowedHosts } from "../client/web-hook.js";
import { Millrace } from "../client/with-workers.js";
import { type CellConnections, checkCells } from "../cells/open-cells.js";
import { isPool, newPool } from "../db/pool.js";
import { InvalidArgumentError } from "../db/errors.js";
import { exactTypes } from "../db/exact-types.js";
import type { MillraceOptions } from "../client/millrace-options.js";
import { Maintainer } from "../maintenance/maintainer.js";
import type { Tracing } from "../observe/tracing.js";
import { given } from "./api/given.js";
import type { RateOptions } from "./auth/auth.js";
import { isLoopback } from "./auth/loopback.js";
import { TokenAuth } from "./auth/token-auth.js";
import type { TokenEntry } from "./auth/tokens.js";
import { addressOf, clientAddressOf } from "./http/address.js";
import { type Part, firstOf } from "./http/exchange.js";
import { Listener } from "./http/listener.js";
import { servedCells } from "./cells.js";
import { Hooks } from "./hooks.js";
import type { Log } from "./log.js";
import { ServerMetrics } from "./operations/metrics.js";
import { operationPaths, operationsPart } from "./operations/operations.js";
import { QueueParts } from "./queue-parts.js";
import { Sqs, type SqsOptions } from "./sqs/sqs.js";
import { anybody } from "./sqs/wire/wire.js";

/** Unless the caller says otherwise. */
const maxConnections = 20;

/** What `startServer` takes. */
export interface ServerOptions extends Pick<MillraceOptions, "connection" | "cells" | "schema" | "prepare"> {
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
   * Addresses and networks (`10.0.0.0/8`) of proxies whose `X-Forwarded-For` is believed, and, where there is no
   * `publicUrl`, their `X-Forwarded-Proto` and `X-Forwarded-Host`. Default none.
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
  /** Where web hooks of alerts may be sent to; `false` sends none. Default every host with a public address. */
  readonly webHooks?: WebHookOptions | false;
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
  if (options.webHooks) checkAllowedHosts(options.webHooks.allowedHosts);
  const address = addressOf({ publicUrl: options.publicUrl, trustProxy: options.trustProxy, prefix });
  const pools = new OwnPools();
  const mill = new Millrace({
    ...placeOf(options, pools),
    logger: {
      warn: (_fields, message) => log("warn", message),
      error: (_fields, message) => log("error", message),
    },
    ...(options.schema === undefined ? {} : { schema: options.schema }),
    ...(options.prepare === undefined ? {} : { prepare: options.prepare }),
  });
  const served = () => servedCells(mill);
  const metrics = new ServerMetrics();
  const auth = new TokenAuth(options.tokens, options.rate);
  const queue = new QueueParts(mill, auth, {
    log,
    ...given({ bodyMemoryBytes: options.bodyMemoryBytes, viewers: options.viewers, tracing }),
    observe: (of, status, seconds) => metrics.count(of.method, of.path, status, seconds),
  });
  const cells = await served();
  const maintainers = cells.map(
    ({ name, engine }) =>
      new Maintainer({
        engine,
        onError: (error) =>
          log("warn", "maintenance failed", { ...(name !== undefined && { cell: name }), error: String(error) }),
      }),
  );
  const hooks = options.webHooks === false ? undefined : new Hooks(mill, options.webHooks ?? {}, log);
  let isStopping = false;

  const operations = operationsPart({ served, auth, live: queue.live, metrics, isStopping: () => isStopping });
  // Sends of many keys go in one statement, so that all keys together are one of those who share.
  const sqs = new Sqs(options.sqs ?? {}, {
    engine: mill.engine.onPools((pool) => queue.shares.connections.poolFor(pool, anybody)),
    memory: queue.shares.memory,
    waits: queue.shares.waits.lineOf(anybody),
    connections: cells.map(({ engine }) => connectionOf(engine.pool as pg.Pool)),
    addressOf: address,
    log,
    tracing,
  });
  const listener = new Listener(
    { host, port, prefix, graceMs, log, client: clientAddressOf(options.trustProxy) },
    firstOf([
      { takes: ({ path }) => operationPaths.includes(path), part: counted(metrics, operations) },
      ...queue.routes,
      { takes: () => true, part: counted(metrics, sqs.part, "sqs") },
    ]),
  );
  const at = await listener.start().catch(async (error: NodeJS.ErrnoException) => {
    await queue.stop();
    await mill.close();
    await pools.end();
    throw new InvalidArgumentError(
      `cannot listen on ${host}:${port}: ${error.code ?? error.message}`,
      "give another port, or 0 for any; stop what has this one",
      error,
    );
  });
  sqs.start();
  const url = `http://${at.host.includes(":") ? `[${at.host}]` : at.host}:${at.port}${prefix}`;
  metrics.start();
  queue.start();
  for (const maintainer of maintainers) maintainer.start();
  hooks?.start();
  log("info", "listening", { url, ...(options.publicUrl === undefined ? {} : { publicUrl: options.publicUrl }) });
  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    isStopping = true;
    log("info", "stopping");
    await sleep(drainDelayMs);
    await listener.stop();
    await Promise.all([queue.stop(), ...maintainers.map((maintainer) => maintainer.stop()), sqs.stop(), hooks?.stop()]);
    metrics.stop();
    await mill.close();
    await pools.end();
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

/** Pools that are made here, and closed here. */
class OwnPools {
  readonly #made: pg.Pool[] = [];

  of(connection: string | pg.PoolConfig | pg.Pool): pg.Pool {
    if (isPool(connection)) return connection;
    const pool = newPool({
      max: maxConnections,
      types: exactTypes,
      ...(typeof connection === "string" ? { connectionString: connection } : connection),
    });
    this.#made.push(pool);
    return pool;
  }

  async end(): Promise<void> {
    await Promise.all(this.#made.map((pool) => pool.end()));
  }
}

/** The database, or the cells, that were named; each with a pool for many who ask. */
function placeOf(
  { connection: given, cells }: ServerOptions,
  pools: OwnPools,
): Pick<MillraceOptions, "connection" | "cells"> {
  if (cells !== undefined && given !== undefined)
    throw new InvalidArgumentError("connection and cells exclude each other", "give one of them");
  if (cells !== undefined) return { cells: poolsOfCells(cells, pools) };
  const connection = given ?? process.env["DATABASE_URL"];
  if (!connection) throw new InvalidArgumentError("no database given", "pass connection or cells, or set DATABASE_URL");
  return { connection: pools.of(connection) };
}

function poolsOfCells(cells: CellConnections, pools: OwnPools): CellConnections {
  checkCells(cells);
  return Object.fromEntries(Object.entries(cells).map(([name, connection]) => [name, pools.of(connection)]));
}

/** How to connect as the client does, for a connection of one's own. */
function connectionOf(pool: pg.Pool): pg.ClientConfig {
  const { connectionString, host, port, user, password, database, ssl } = pool.options as pg.ClientConfig;
  return Object.fromEntries(
    Object.entries({ connectionString, host, port, user, password, database, ssl }).filter(
      ([, value]) => value !== undefined,
    ),
  );
}
