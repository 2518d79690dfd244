import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { visibleLines } from "../../db/visible.js";
import { type OpenTelemetryApi, openTelemetryTracing } from "../../observe/opentelemetry.js";
import type { Tracing } from "../../observe/tracing.js";
import { type LogLevel, jsonLog } from "../../server/log.js";
import type { ServerOptions } from "../../server/server.js";
import { cellUrls } from "../cells.js";
import { type Command, databaseOptions } from "../command.js";
import { databaseUrl } from "../database.js";
import type { Options } from "../options.js";
import { redact } from "../redact.js";
import { stopSignals } from "../stop-signals.js";
import { keysOf, tokensOf } from "../tokens-file.js";
import { UsageError } from "../usage-error.js";

const levels = ["debug", "info", "warn", "error"] as const satisfies readonly LogLevel[];

export const serveCommand: Command = {
  name: "serve",
  summary: "serve the queue over HTTP: SQS, API, dashboard, metrics and health",
  details: [
    "Listens on this machine only unless there are tokens: lines of `NAME ROLE SHA256` in a file (`--tokens`) or in the variable `MILLRACE_TOKENS`, as `millrace tokens new` makes them. " +
      "The file is read again on SIGHUP. What happens is logged to the standard error, one JSON object a line.",
    "SQS clients sign with a key of `--sqs-keys`, or of the variable `MILLRACE_SQS_KEYS`: lines of `ACCESS_KEY_ID SECRET_ACCESS_KEY`, the secret with 8 characters or more. Without tokens and keys any key is accepted, on this machine only.",
    "Spans go wherever the SDK sends them that the process was started with, such as `node --import ./telemetry.mjs node_modules/.bin/millrace serve --opentelemetry`.",
    "With several cells (`--cell-urls`, or MILLRACE_CELLS where no `--url` is given) all of them are served as one. See docs/cells.md.",
    "SIGTERM or Ctrl-C lets requests in progress end; a second one ends at once. See docs/server.md.",
  ],
  arguments: [],
  options: {
    host: { value: "ADDRESS", help: "where to listen; beyond 127.0.0.1 only with tokens", default: "127.0.0.1" },
    port: { value: "N", help: "the port, 0 for any", default: "8484" },
    prefix: { value: "PATH", help: "serve everything below this path, such as /queue" },
    "public-url": {
      value: "URL",
      help: "what clients call the server, where a proxy stands before it: queue URLs begin with it",
    },
    "trust-proxy": {
      value: "ADDRESSES",
      help: "proxies whose X-Forwarded-For, -Proto and -Host are believed: addresses and networks, with commas",
    },
    tokens: {
      value: "FILE",
      help: "who may ask for what (default: MILLRACE_TOKENS, then everybody on this machine)",
      isFile: true,
    },
    "sqs-keys": {
      value: "FILE",
      help: "keys of SQS clients (default: MILLRACE_SQS_KEYS, then none, or any without tokens)",
      isFile: true,
    },
    rate: { value: "N", help: "requests a second of each token of the API; twice as many at once", default: "1000" },
    "hook-hosts": {
      value: "HOSTS",
      help: "hosts that web hooks of alerts may be sent to, with commas, such as hooks.example.com,*.corp.example; none sends none (default every host with a public address)",
    },
    opentelemetry: { help: "make each request a span, by the @opentelemetry/api that is installed in this folder" },
    "drain-delay": { value: "DURATION", help: "how long /readyz says no before it stops listening", default: "1s" },
    "log-level": { value: "LEVEL", help: "what is worth a line", choices: levels, default: "info" },
    "cell-urls": {
      value: "LIST",
      help: "several cells, as `a=URL b=URL` (default: MILLRACE_CELLS, then one database)",
    },
    ...databaseOptions,
  },
  examples: [
    "millrace serve",
    'millrace serve --cell-urls "a=postgres://one/app b=postgres://two/app"',
    "millrace serve --host 0.0.0.0 --tokens tokens.txt --prefix /queue",
    "millrace serve --tokens tokens.txt --sqs-keys keys.txt --public-url https://queue.example.com",
  ],
  async run({ options, out }) {
    const tokens = tokensOf(options);
    const keys = keysOf(options);
    const prefix = prefixOf(options);
    const publicUrl = options.given("public-url");
    const trustProxy = options.given("trust-proxy")?.split(",");
    const perSecond = options.integer("rate", 1, 1_000_000);
    const tracing = options.flag("opentelemetry") ? await tracingHere() : undefined;
    const hookHosts = options.given("hook-hosts");
    // half of the program, and no other command needs it
    const { startServer } = await import("../../server/server.js");
    const signals = stopSignals();
    const server = await startServer({
      ...placeOf(options),
      schema: options.text("schema"),
      host: options.text("host"),
      port: options.integer("port", 0, 65_535),
      prefix,
      ...(publicUrl === undefined ? {} : { publicUrl }),
      ...(trustProxy === undefined ? {} : { trustProxy: trustProxy.map((entry) => entry.trim()) }),
      drainDelayMs: options.duration("drain-delay"),
      log: jsonLog(options.text("log-level") as LogLevel, (line) => process.stderr.write(visibleLines(redact(line)))),
      rate: { perSecond, burst: perSecond * 2 },
      ...(tokens === undefined ? {} : { tokens }),
      ...(tracing === undefined ? {} : { tracing }),
      ...(hookHosts === undefined
        ? {}
        : { webHooks: hookHosts === "none" ? false : { allowedHosts: hookHosts.split(",") } }),
      sqs: keys === undefined ? { anyKey: tokens === undefined } : { keys },
    });
    const reload = (): void => {
      try {
        const again = tokensOf(options);
        if (again) server.replaceTokens(again);
      } catch (error) {
        out.note(`the tokens stay as they are: ${(error as Error).message}`);
      }
    };
    process.on("SIGHUP", reload);
    try {
      out.event(
        "listening",
        { url: server.url, ...(publicUrl === undefined ? {} : { publicUrl }), isOpen: tokens === undefined },
        `listening on ${server.url}${publicUrl === undefined ? "" : ` for ${publicUrl}`}${tokens === undefined ? ", without tokens: for this machine only" : ""}`,
      );
      await signals.requested;
      out.event("stopping", {}, "stopping when requests in progress have ended; a second signal stops at once");
      await Promise.race([server.stop(), signals.insisted]);
      if (signals.isInsisted) process.exit(1);
      out.event("stopped", {}, "stopped");
      return 0;
    } finally {
      process.off("SIGHUP", reload);
      signals.forget();
    }
  },
};

/** The cells that were named, or else the database. */
function placeOf(options: Options): Pick<ServerOptions, "connection" | "cells"> {
  const url = options.given("url");
  const cells = options.given("cell-urls");
  if (url !== undefined && cells !== undefined)
    throw new UsageError("--url and --cell-urls exclude each other", "give one of them");
  const to = (connectionString: string) => ({ connectionString, application_name: "millrace serve" });
  const hasCells = cells !== undefined || (url === undefined && process.env["MILLRACE_CELLS"]);
  if (!hasCells) return { connection: to(databaseUrl(options)) };
  return { cells: Object.fromEntries([...cellUrls(cells)].map(([name, cellUrl]) => [name, to(cellUrl)])) };
}

function prefixOf(options: Options): string {
  const prefix = (options.given("prefix") ?? "").replace(/\/+$/, "");
  if (prefix !== "" && !/^(\/[\w.~-]+)+$/.test(prefix))
    throw new UsageError(`--prefix cannot be "${prefix}"`, 'give a path such as "/queue"');
  return prefix;
}

/**
 * Spans through the API package of the application: it leads to whatever SDK was started, by a global that all its
 * copies share.
 */
async function tracingHere(): Promise<Tracing> {
  let file: string;
  try {
    file = createRequire(path.join(process.cwd(), "package.json")).resolve("@opentelemetry/api");
  } catch {
    throw new UsageError(
      "@opentelemetry/api is not installed in this folder",
      "npm install @opentelemetry/api, and an SDK that is loaded with node --import",
    );
  }
  return openTelemetryTracing((await import(pathToFileURL(file).href)) as OpenTelemetryApi);
}
