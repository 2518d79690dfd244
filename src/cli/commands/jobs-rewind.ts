import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";

export const jobsRewindCommand: Command = {
  name: "jobs rewind",
  summary: "restart a run from one of its steps",
  details: [
    "What it has done from that step on is void, and stays on record. A job that has failed or expired gets another attempt. It is refused while the job runs, and when it has succeeded or was cancelled.",
  ],
  arguments: [
    { name: "ID", help: "the job" },
    { name: "STEP", help: "the step, with its number where its name is used again, such as `poll#2`" },
  ],
  options: {
    by: { value: "NAME", help: "who decided it, kept with the job" },
    because: { value: "TEXT", help: "why, kept with the job" },
    ...databaseOptions,
  },
  examples: ['millrace jobs rewind 880123456789012345 charge --because "the price was wrong"'],
  async run({ args, options, out }) {
    const [job, step] = args as [string, string];
    return withDatabase(options, async ({ engine }) => {
      const queue = await engine.rewind(job, step, options.pick("by", "because"));
      await engine.noticesDeliver();
      await engine.queueNotify([queue]);
      out.result({ rewound: true }, `${job} goes back to "${step}"`);
      return 0;
    });
  },
};
