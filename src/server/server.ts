import { Millrace } from "../client/millrace.js";
import { InvalidArgumentError } from "../db/errors.js";
import type { MillraceOptions } from "../client/millrace.js";
import { WakeUp } from "../client/wake-up.js";
import { apiPart, apiPath } from "./api/router.js";
import { routes as apiRoutes } from "./api/routes/index.js";
import { Auth } from "./auth/auth.js";
import type { RateOptions } from "./auth/auth.js";
import { isLoopback } from "./auth/loopback.js";
import type { TokenEntry } from "./auth/tokens.js";
import { dashboardPart, takesDashboard } from "./dashboard/static-files.js";
import type { Exchange, Part } from "./http/exchange.js";
import { answer } from "./http/exchange.js";
import { Listener } from "./http/listener.js";
import { Live } from "./live/live.js";
import type { Log } from "./log.js";
import { version } from "./version.js";

/** What `startServer` takes. */
export interface ServerOptions extends Pick<MillraceOptions, "connection" | "schema" | "prepare"> {
  /** The address to listen on. Default `127.0.0.1`; anything else needs tokens and keys. */
  readonly host?: string;
  /** Default 8484; 0 is any free one. */
  readonly port?: number;
  /** The path everything is served under, such as `/queue`. Default none. */
  readonly prefix?: string;
  /** How long requests in progress may take after `stop`, in milliseconds. Default 10,000. */
  readonly graceMs?: number;
  /** Where it tells what happens. Default nowhere. */
  readonly log?: Log;
  /** Who may ask for what. Default everybody on this machine for everything, which only a server on loopback allows. */
  readonly tokens?: readonly TokenEntry[];
  /** How often each token may ask. Default 1000 times a second, 2000 at once. */
  readonly rate?: RateOptions;
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

/** What every part of the server is made of. */
export interface Parts {
  readonly mill: Millrace;
  readonly log: Log;
}

/** Serve a database over HTTP: SQS, the API, the dashboard, and what operations need. */
export async function startServer(options: ServerOptions = {}): Promise<RunningServer> {
  const { host = "127.0.0.1", port = 8484, prefix = "", graceMs = 10_000, log = () => {} } = options;
  if (options.tokens === undefined && !isLoopback(host))
    throw new InvalidArgumentError(`without tokens nobody beyond this machine may be let in, and ${host} is beyond it`, 'make tokens with "millrace tokens new", or listen on 127.0.0.1');
  const mill = new Millrace({
    ...(options.connection === undefined ? {} : { connection: options.connection }),
    ...(options.schema === undefined ? {} : { schema: options.schema }),
    ...(options.prepare === undefined ? {} : { prepare: options.prepare }),
  });
  const wakeUp = new WakeUp(mill.engine);
  const auth = new Auth(options.tokens, options.rate);
  const live = new Live(mill.engine, log);
  const api = apiPart(apiRoutes, { mill, auth, live, log, version: version(), wake: (queue) => wakeUp.tell(queue) });
  const parts = route([
    { takes: ({ path }) => path.startsWith(`${apiPath}/`), part: api },
    { takes: takesDashboard, part: dashboardPart() },
  ]);
  const listener = new Listener({ host, port, prefix, graceMs, log }, parts);
  const at = await listener.start();
  const url = `http://${at.host.includes(":") ? `[${at.host}]` : at.host}:${at.port}${prefix}`;
  live.start();
  log("info", "listening", { url });
  return {
    url,
    mill,
    replaceTokens: (tokens) => auth.replace(tokens),
    async stop() {
      await listener.stop();
      await live.stop();
      await wakeUp.close();
      await mill.close();
      log("info", "stopped");
    },
  };
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
