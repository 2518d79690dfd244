import type { JobOptions } from "../../job/job-options.js";
import { DeclaredInputs } from "../../client/declared-inputs.js";
import { Millrace } from "../../client/millrace.js";
import { rangeOf } from "../../db/option-table.js";
import { type Command, databaseOptions } from "../command.js";
import { databaseUrl } from "../database.js";
import { count, duration, plural } from "../format.js";
import { jsonArgument } from "../json-argument.js";
import type { Options } from "../options.js";
import type { Output } from "../output.js";
import { stopSignals } from "../stop-signals.js";

const batch = 1000;
const most = 1_000_000_000;

export const enqueueCommand: Command = {
  name: "enqueue",
  summary: "enqueue a job, or many of the same kind",
  details: [
    "Prints the job's id. With `--count`, jobs are committed a thousand at a time; Ctrl-C stops after the batch in progress and says how many there are (exit 1).",
  ],
  arguments: [
    { name: "TYPE", help: "the job's type" },
    {
      name: "INPUT",
      help: "its input: JSON, `@file`, or `-` for standard input (default null)",
      optional: true,
      isFile: true,
    },
  ],
  options: {
    queue: { value: "NAME", help: "the queue (default: default)" },
    priority: { value: "0-10", help: "lower is more urgent (default: the type's or queue's, else 5)" },
    group: { value: "NAME", help: "group, which takes turns with others" },
    cost: {
      value: "N",
      help: "how much of its group's turns it takes, 1 to 1000000 (default: the type's or queue's, else 1)",
    },
    delay: { value: "DURATION", help: 'not before this much time has passed, such as "90s" or "5m"' },
    tenant: { value: "NAME", help: "tenant, for filters" },
    stage: { value: "NAME", help: "not before this stage of the queue is released" },
    fingerprint: { value: "TEXT", help: "while a job with it lives in the queue, another is not made" },
    count: { value: "N", help: "how many jobs", default: "1" },
    ...databaseOptions,
  },
  examples: [
    `millrace enqueue resize '{"key": "a.png"}'`,
    "millrace enqueue report @input.json --queue slow --priority 0 --delay 5m",
    "jq -n '{to: \"ann\"}' | millrace enqueue mail -",
    "millrace enqueue resize --count 100000",
  ],
  async run({ args, options, out }) {
    const [type, argument] = args as [string, string?];
    const jobs = options.integer("count", 1, most);
    const jobOptions = jobOptionsOf(options);
    const input = await jsonArgument(argument, "INPUT");
    const mill = new Millrace({
      connection: { connectionString: databaseUrl(options), max: 2, application_name: "millrace cli" },
      schema: options.text("schema"),
    });
    try {
      await new DeclaredInputs(mill.engine).check([{ type, input }]);
      if (jobs > 1) return await enqueueMany(mill, type, input, jobs, jobOptions, out);
      const enqueued = await mill.enqueue(type, input, jobOptions);
      out.result(
        enqueued,
        enqueued.duplicate ? `${enqueued.id} (a duplicate: it has the fingerprint already)` : enqueued.id,
      );
      return 0;
    } finally {
      await mill.close();
    }
  },
};

function jobOptionsOf(options: Options): JobOptions {
  const priority = options.givenInteger("priority", ...rangeOf("priority"));
  const cost = options.givenInteger("cost", ...rangeOf("cost"));
  const delay = options.givenDuration("delay");
  return {
    ...options.pick("queue", "group", "tenant", "fingerprint", "stage"),
    ...(priority === undefined ? {} : { priority }),
    ...(cost === undefined ? {} : { cost }),
    ...(delay === undefined ? {} : { delay }),
  };
}

async function enqueueMany(
  mill: Millrace,
  type: string,
  input: unknown,
  jobs: number,
  jobOptions: JobOptions,
  out: Output,
): Promise<0 | 1> {
  const startedAt = performance.now();
  const progress = out.progress(jobs);
  const signals = stopSignals();
  let done = 0;
  let duplicates = 0;
  try {
    while (done < jobs && !signals.isRequested) {
      const inputs = Array.from({ length: Math.min(batch, jobs - done) }, () => input);
      duplicates += (await mill.enqueueMany(type, inputs, jobOptions)).filter(({ duplicate }) => duplicate).length;
      done += inputs.length;
      progress.update(done);
    }
  } finally {
    progress.end();
    signals.forget();
  }
  const ms = performance.now() - startedAt;
  const enqueued = done - duplicates;
  const rate = count(Math.round(done / (ms / 1000)));
  out.result({ enqueued, duplicates, asked: jobs, ms: Math.round(ms) }, [
    `${plural(enqueued, "job")} enqueued in ${duration(ms)} (${rate}/s)${duplicates > 0 ? `, ${plural(duplicates, "duplicate")} not made` : ""}`,
    ...(done < jobs ? [`stopped: ${count(jobs - done)} were not enqueued`] : []),
  ]);
  return done < jobs ? 1 : 0;
}
