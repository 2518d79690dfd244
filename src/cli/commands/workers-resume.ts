import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { targetName, targetOf, targetOptions } from "../worker-target.js";

export const workersResumeCommand: Command = {
  name: "workers resume",
  summary: "let paused or drained workers take jobs again",
  details: ["Asked again, it changes nothing."],
  arguments: [{ name: "NAME", help: "the name of workers (default: all of the process)", optional: true }],
  options: { ...targetOptions, ...databaseOptions },
  examples: ["millrace workers resume mailer"],
  async run({ args, options, out }) {
    const target = targetOf(args, options);
    return withDatabase(options, async ({ engine }) => {
      const workers = await engine.workerResume(target);
      out.result({ ...target, workers }, `${targetName(target)}: ${workers} resumed`);
      return 0;
    });
  },
};
