import { Millrace } from "../../client/with-workers.js";
import { type Command, type ExitCode, databaseOptions } from "../command.js";
import { databaseUrl } from "../database.js";
import { HandlersFile, handlersPath } from "../handlers-file.js";
import type { Options } from "../options.js";
import type { Output } from "../output.js";
import { runWorker } from "../run-worker.js";
import { stopSignals } from "../stop-signals.js";
import { supervise } from "../supervisor.js";
import { UsageError } from "../usage-error.js";

export const workCommand: Command = {
  name: "work",
  summary: "run jobs with the handlers of a file",
  details: [
    "FILE is an ES module, in JavaScript or TypeScript (made JavaScript by esbuild or the compiler where the project has one of them, else by Node, from 22.13 on). Its default export is a function that is given the worker (and the Millrace client) to register handlers, or an array of " +
      "`[definition or type, handler, options]`. When it also exports a function `close`, that is called after the last job has ended.",
    `  // jobs.mjs
  import { defineJob } from "millrace";

  const resize = defineJob("resize", { maxAttempts: 5 });

  export default [
    [resize, async (job, { signal }) => ({ width: 100 })],
    ["hello", (job) => console.log(job.input)],
  ];

  // or: export default (worker, mill) => { worker.handle(resize, …); };
  // export const close = () => pool.end();`,
    "SIGTERM or SIGINT (Ctrl-C) stops gracefully: no new jobs, running ones end within `--grace`, then their signal fires. The second one gives running " +
      "jobs back at once and ends with 1.",
    "With `--watch` the worker is a child process that is stopped gracefully and started again whenever FILE changes.",
  ],
  arguments: [{ name: "FILE", help: "the module with the handlers", isFile: true }],
  options: {
    queues: { value: "A,B", help: "the queues to work on", default: "default" },
    concurrency: { value: "N", help: "how many jobs at once", default: "10" },
    grace: { value: "DURATION", help: "how long running jobs may go on after a stop", default: "30s" },
    watch: { help: "start again when FILE changes" },
    verbose: { help: "tell of every success too, not only of failures" },
    ...databaseOptions,
  },
  examples: [
    "millrace work jobs.mjs",
    "millrace work jobs.mjs --queues default,mail --concurrency 50",
    "millrace work jobs.mjs --watch --verbose",
  ],
  async run({ args, options, out }) {
    const [file] = args as [string];
    const url = databaseUrl(options);
    handlersPath(file);
    if (options.flag("watch")) {
      const signals = stopSignals();
      await supervise(file, childArguments(file, options), { DATABASE_URL: url }, out, signals);
      signals.forget();
      return 0;
    }
    const code = await work(file, url, options, out);
    process.exit(code); // whatever the file still keeps open must not keep us
  },
};

/**
 * The same call for the child: the URL goes by its environment, so that nobody reads a password in the list of
 * processes.
 */
function childArguments(file: string, options: Options): string[] {
  const { text, flag } = {
    text: (name: string) => `--${name}=${options.text(name)}`,
    flag: (name: string) => (options.flag(name) ? [`--${name}`] : []),
  };
  return [
    "work",
    ...["queues", "concurrency", "grace", "schema"].map(text),
    ...["verbose", "json"].flatMap(flag),
    "--",
    file,
  ];
}

async function work(file: string, url: string, options: Options, out: Output): Promise<ExitCode> {
  const queues = options.text("queues").split(",").filter(Boolean);
  if (queues.length === 0) throw new UsageError("--queues names no queue");
  const workerOptions = {
    queues,
    concurrency: options.integer("concurrency", 1, 9000),
    grace: options.duration("grace"),
  };
  const signals = stopSignals();
  const handlers = await HandlersFile.load(file);
  const mill = new Millrace({
    connection: { connectionString: url, application_name: "millrace worker" },
    schema: options.text("schema"),
    logger: false, // what happens is told below
  });
  const worker = mill.worker(workerOptions);
  await handlers.register(worker, mill);
  const code = await runWorker(worker, out, signals, { verbose: options.flag("verbose") });
  await handlers.close();
  // After a forced stop a report may still be on its way to a database that does not answer.
  if (code === 0) await mill.close();
  return code;
}
