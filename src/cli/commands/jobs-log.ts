import { setTimeout as sleep } from "node:timers/promises";
import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { stopSignals } from "../stop-signals.js";

const pauseMs = 1000;

export const jobsLogCommand: Command = {
  name: "jobs log",
  summary: "print the log of a job: of its current run, or else of its last attempt",
  details: ["With --follow it goes on until the run has ended, or Ctrl-C; the exit code is 0 then too."],
  arguments: [{ name: "ID", help: "the job" }],
  options: { follow: { help: "go on while it runs" }, ...databaseOptions },
  examples: ["millrace jobs log 880123456789012345", "millrace jobs log 880123456789012345 --follow"],
  async run({ args, options, out }) {
    const [id] = args as [string];
    return withDatabase(options, async ({ engine }) => {
      if (!options.flag("follow")) {
        const log = await engine.log(id);
        out.result(log, log.lines.length === 0 ? "no log" : log.lines);
        return 0;
      }
      const signals = stopSignals();
      let last: string | undefined;
      try {
        for (;;) {
          const { lines, isRunning } = await engine.log(id);
          // each line begins with its time; those before the last that was printed were printed too
          const fresh = lines.slice(last === undefined ? 0 : lines.lastIndexOf(last) + 1);
          for (const line of fresh) out.event("line", { line }, line);
          last = lines.at(-1) ?? last;
          if (!isRunning || signals.isRequested) return 0;
          await Promise.race([sleep(pauseMs, undefined, { ref: true }), signals.requested]);
        }
      } finally {
        signals.forget();
      }
    });
  },
};
