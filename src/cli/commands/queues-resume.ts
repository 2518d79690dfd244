import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { partName, partOptions } from "../queue-part.js";
import { userName } from "../user-name.js";

export const queuesResumeCommand: Command = {
  name: "queues resume",
  summary: "resume a paused queue, or the paused part of it",
  arguments: [{ name: "NAME", help: "the queue" }],
  options: {
    because: { value: "TEXT", help: "why; kept with the event" },
    ...partOptions,
    ...databaseOptions,
  },
  examples: ["millrace queues resume mail", "millrace queues resume mail --group acme"],
  async run({ args, options, out }) {
    const [name] = args as [string];
    return withDatabase(options, async ({ engine }) => {
      const part = options.pick("type", "group");
      await engine.queueResume(name, { by: userName(), ...options.pick("because"), ...part });
      await engine.queueNotify([name]);
      out.result({ name, ...part, state: "active" }, `${partName(name, part)} is active`);
      return 0;
    });
  },
};
