import path from "node:path";
import pg from "pg";
import { Millrace } from "../../client/with-workers.js";
import { migrate } from "../../db/migrate.js";
import { devFolder, devUrlFile } from "../../embedded/dev-url.js";
import { provideBinaries } from "../../embedded/fetch.js";
import type { Log } from "../../server/log.js";
import type { RunningServer } from "../../server/server.js";
import type { Command } from "../command.js";
import { produceDemo, registerDemo } from "../demo-jobs.js";
import { type DevServer, choosePort, startDevServer } from "../dev-server.js";
import { handlersPath } from "../handlers-file.js";
import type { Options } from "../options.js";
import type { Output } from "../output.js";
import { displayUrl } from "../redact.js";
import { runWorker } from "../run-worker.js";
import { type StopSignals, stopSignals } from "../stop-signals.js";
import { supervise } from "../supervisor.js";
import { UsageError } from "../usage-error.js";

const defaultPort = 54_318;
const defaultHttpPort = 8484;

export const devCommand: Command = {
  name: "dev",
  summary: "start a local PostgreSQL with the API and dashboard (and, with --handlers, a worker)",
  details: [
    "Starts an embedded PostgreSQL whose data stays in a folder, migrates it and says how to reach it. With `--handlers` it runs a worker with the handlers of FILE (see `millrace work`), " +
      "JavaScript or TypeScript, started again whenever FILE changes; with `--demo` one that shows a few demo jobs, which it also enqueues. It serves the API and the dashboard too (see `millrace serve`), for this machine only. " +
      "While it runs, other commands in this folder need no `--url`.",
    "Ctrl-C stops worker and server gracefully, a second one at once. The server listens on 127.0.0.1 only; its URL, with a password that was made for it, is in the file `url` of the folder while it runs, for you alone.",
  ],
  arguments: [],
  options: {
    folder: { value: "DIR", help: "where the data stays", default: devFolder, isFile: true },
    port: { value: "N", help: `the server's port, 0 for any (default ${defaultPort}, or any when that is taken)` },
    "http-port": {
      value: "N",
      help: `the port of API and dashboard, 0 for any (default ${defaultHttpPort}, or any when that is taken)`,
    },
    handlers: { value: "FILE", help: "run a worker with these handlers", isFile: true },
    demo: { help: "show demo jobs: enqueue some, and run them" },
    "server-only": { help: "no worker, no demo and no API, only the database" },
  },
  examples: [
    "millrace dev",
    "millrace dev --handlers jobs.ts",
    "millrace dev --demo",
    "millrace top   # in another terminal",
  ],
  async run({ options, out }) {
    const folder = options.text("folder");
    const handlers = options.given("handlers");
    if (handlers !== undefined) handlersPath(handlers);
    const demo = options.flag("demo");
    if (demo && (handlers !== undefined || options.flag("server-only")))
      throw new UsageError("--demo goes with neither --handlers nor --server-only", "give one of them");
    const given = options.givenInteger("port", 0, 65_535);
    const port = await choosePort(given ?? defaultPort, given !== undefined);
    const givenHttp = options.givenInteger("http-port", 0, 65_535);
    const httpPort = await choosePort(givenHttp ?? defaultHttpPort, givenHttp !== undefined);
    await provideBinaries((line) => out.note(line));
    const signals = stopSignals();
    const server = await startDevServer(folder, port);
    let http: RunningServer | undefined;
    try {
      await install(server);
      if (!options.flag("server-only")) http = await startHttp(server.url, httpPort, out);
      announce(server, http, folder, out);
      if (http && handlers === undefined && !demo)
        out.note("No worker runs here: --handlers FILE runs yours, --demo shows one.");
      if (handlers !== undefined) {
        await supervise(
          handlers,
          ["work", ...jsonFlag(options), "--verbose", "--", handlers],
          { DATABASE_URL: server.url },
          out,
          signals,
        );
      } else if (demo) {
        await runDemo(server.url, out, signals);
      } else {
        await signals.requested;
      }
    } finally {
      await http?.stop();
      await server.stop();
      signals.forget();
    }
    out.event("down", { folder }, `PostgreSQL has stopped; its data stays in ${folder}`);
    return 0;
  },
};

const jsonFlag = (options: Options): string[] => (options.flag("json") ? ["--json"] : []);

async function install({ url }: DevServer): Promise<void> {
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  pool.on("error", () => {}); // the query tells
  try {
    await migrate(pool);
  } finally {
    await pool.end();
  }
}

async function startHttp(url: string, port: number, out: Output): Promise<RunningServer> {
  const log: Log = (level, message, facts) => {
    if (level === "warn" || level === "error") out.note(`! server: ${message} ${JSON.stringify(facts ?? {})}`);
  };
  const { startServer } = await import("../../server/server.js");
  return startServer({
    connection: { connectionString: url, application_name: "millrace dev" },
    port,
    log,
    graceMs: 2000,
    sqs: { anyKey: true },
  });
}

function announce(server: DevServer, http: RunningServer | undefined, folder: string, out: Output): void {
  const { url, pid } = server;
  server.announce();
  out.event(
    "ready",
    {
      url,
      folder,
      pid,
      ...(http ? { dashboard: `${http.url}/dashboard/`, api: `${http.url}/api/v1`, sqs: http.url } : {}),
    },
    [
      `PostgreSQL runs, its data stays in ${folder}`,
      "",
      `  DATABASE_URL=$(cat ${quoted(path.join(folder, devUrlFile))})`,
      `  PostgreSQL   ${displayUrl(url)}`,
      ...(http ? [`  dashboard    ${http.url}/dashboard/`, `  SQS          ${http.url}   (any key)`] : []),
      "",
    ],
  );
}

/** As a shell takes it. */
const quoted = (file: string): string => (/^[\w./-]+$/.test(file) ? file : `'${file.replaceAll("'", "'\\''")}'`);

async function runDemo(url: string, out: Output, signals: StopSignals): Promise<void> {
  const mill = new Millrace({ connection: { connectionString: url, application_name: "millrace dev" }, logger: false });
  const worker = mill.worker({ name: "dev", grace: "10s" });
  registerDemo(worker);
  const stopping = new AbortController();
  const producing = produceDemo(mill, stopping.signal, (error) => out.note(`! enqueue: ${String(error)}`));
  void signals.requested.then(() => stopping.abort());
  try {
    await runWorker(worker, out, signals, { verbose: true });
  } finally {
    stopping.abort();
    await producing;
    await mill.close();
  }
}
