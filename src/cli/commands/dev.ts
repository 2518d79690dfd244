import pg from "pg";
import { Millrace } from "../../client/millrace.js";
import { migrate } from "../../db/migrate.js";
import type { Command } from "../command.js";
import { devFolder } from "../database.js";
import { produceDemo, registerDemo } from "../demo-jobs.js";
import { type DevServer, choosePort, startDevServer } from "../dev-server.js";
import { handlersPath } from "../handlers-file.js";
import type { Options } from "../options.js";
import type { Output } from "../output.js";
import { runWorker } from "../run-worker.js";
import { type StopSignals, stopSignals } from "../stop-signals.js";
import { supervise } from "../supervisor.js";

const defaultPort = 54_318;

export const devCommand: Command = {
  name: "dev",
  summary: "a PostgreSQL of your own with a worker; nothing to install first",
  details: [
    "Starts an embedded PostgreSQL whose data stays in a folder, migrates it, prints its URL and runs a worker: with the handlers of FILE (see `millrace work`), " +
      "started again whenever FILE changes, or with a few demo jobs that it also enqueues. While it runs, other commands in this folder need no `--url`.",
    "Ctrl-C stops worker and server gracefully, a second one at once. The server listens on 127.0.0.1 only and asks for no password.",
  ],
  arguments: [],
  options: {
    folder: { value: "DIR", help: "where the data stays", default: devFolder, isFile: true },
    port: { value: "N", help: `the server's port, 0 for any (default ${defaultPort}, or any when that is taken)` },
    handlers: { value: "FILE", help: "run these handlers instead of the demo", isFile: true },
    "server-only": { help: "no worker and no demo, only the database" },
  },
  examples: ["millrace dev", "millrace dev --handlers jobs.mjs", "millrace top   # in another terminal"],
  async run({ options, out }) {
    const folder = options.text("folder");
    const handlers = options.given("handlers");
    if (handlers !== undefined) handlersPath(handlers);
    const given = options.givenInteger("port", 0, 65_535);
    const port = await choosePort(given ?? defaultPort, given !== undefined);
    const signals = stopSignals();
    const server = await startDevServer(folder, port);
    try {
      await install(server, folder, out);
      if (handlers !== undefined) {
        await supervise(handlers, ["work", ...jsonFlag(options), "--verbose", "--", handlers], { DATABASE_URL: server.url }, out, signals);
      } else if (options.flag("server-only")) {
        await signals.requested;
      } else {
        await runDemo(server.url, out, signals);
      }
    } finally {
      await server.stop();
      signals.forget();
    }
    out.event("down", { folder }, `PostgreSQL has stopped; its data stays in ${folder}`);
    return 0;
  },
};

const jsonFlag = (options: Options): string[] => (options.flag("json") ? ["--json"] : []);

async function install(server: DevServer, folder: string, out: Output): Promise<void> {
  const { url, pid } = server;
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  pool.on("error", () => {}); // the query tells
  try {
    await migrate(pool);
  } finally {
    await pool.end();
  }
  server.announce();
  out.event("ready", { url, folder, pid }, [`PostgreSQL runs, its data stays in ${folder}`, "", `  DATABASE_URL=${url}`, ""].join("\n"));
}

async function runDemo(url: string, out: Output, signals: StopSignals): Promise<void> {
  const mill = new Millrace({ connection: { connectionString: url, application_name: "millrace dev" } });
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
