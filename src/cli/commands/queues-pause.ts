import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { partName, partOptions } from "../queue-part.js";
import { userName } from "../user-name.js";

export const queuesPauseCommand: Command = {
  name: "queues pause",
  summary: "pause a queue, or a type or group of it, in all processes",
  details: ["Running jobs go on, and new ones may be enqueued. Your user name is noted."],
  arguments: [{ name: "NAME", help: "the queue" }],
  options: {
    because: { value: "TEXT", help: "why; shown with the queue" },
    ...partOptions,
    ...databaseOptions,
  },
  examples: ['millrace queues pause mail --because "the provider is down"', "millrace queues pause mail --group acme"],
  async run({ args, options, out }) {
    const [name] = args as [string];
    return withDatabase(options, async ({ engine }) => {
      const part = options.pick("type", "group");
      await engine.queuePause(name, { by: userName(), ...options.pick("because"), ...part });
      out.result({ name, ...part, state: "paused" }, `${partName(name, part)} is paused`);
      return 0;
    });
  },
};
