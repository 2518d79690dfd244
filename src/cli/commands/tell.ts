import { Millrace } from "../../client/millrace.js";
import { JobEndedError, JobNotFoundError } from "../../db/errors.js";
import { type Command, databaseOptions } from "../command.js";
import { databaseUrl } from "../database.js";
import { jsonArgument } from "../json-argument.js";
import { UsageError } from "../usage-error.js";

export const tellCommand: Command = {
  name: "tell",
  summary: "send a signal to a job that waits for it, or will",
  details: [
    "The signal is kept until the job waits for it. With `--id` it counts once, however often it is sent.",
    "The exit code is 1 when the job has ended, or there is none.",
  ],
  arguments: [
    { name: "JOB", help: "its id, or with `--by-fingerprint` its fingerprint" },
    { name: "NAME", help: "the name of the signal" },
    {
      name: "VALUE",
      help: "the signal's value: JSON, `@file`, or `-` for standard input (default null)",
      optional: true,
      isFile: true,
    },
  ],
  options: {
    "by-fingerprint": { help: "JOB is the fingerprint of the live job of a queue" },
    queue: { value: "NAME", help: "the queue of that job (default: default)" },
    id: { value: "TEXT", help: "what the signal is known by, such as the id of a web hook" },
    ...databaseOptions,
  },
  examples: [
    `millrace tell 880123456789012345 approved '{"by": "ann"}'`,
    "millrace tell 880123456789012345 paid @event.json --id evt_1042",
    "millrace tell order-7 paid --by-fingerprint --queue orders",
  ],
  async run({ args, options, out }) {
    const [job, name, argument] = args as [string, string, string?];
    const value = await jsonArgument(argument, "VALUE");
    const isFingerprint = options.flag("by-fingerprint");
    if (options.given("queue") && !isFingerprint)
      throw new UsageError("--queue says whose fingerprint it is", "give --by-fingerprint too, or leave it out");
    const target = isFingerprint ? { fingerprint: job, ...options.pick("queue") } : job;
    const mill = new Millrace({
      connection: { connectionString: databaseUrl(options), max: 2, application_name: "millrace cli" },
      schema: options.text("schema"),
    });
    try {
      const isNew = await mill.tell(target, name, value, options.pick("id"));
      out.result({ told: true, isNew }, isNew ? `told ${job} "${name}"` : `${job} was told that before`);
      return 0;
    } catch (error) {
      if (!(error instanceof JobEndedError || error instanceof JobNotFoundError)) throw error;
      out.result({ told: false, isNew: false, because: error.message }, error.message);
      return 1;
    } finally {
      await mill.close();
    }
  },
};
