import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";

export const queuesResumeCommand: Command = {
  name: "queues resume",
  summary: "hand out a paused queue's jobs again",
  arguments: [{ name: "NAME", help: "the queue" }],
  options: databaseOptions,
  examples: ["millrace queues resume mail"],
  async run({ args, options, out }) {
    const [name] = args as [string];
    return withDatabase(options, async ({ engine }) => {
      await engine.queueResume(name);
      await engine.notify([name]);
      out.result({ name, state: "active" }, `${name} is active`);
      return 0;
    });
  },
};
