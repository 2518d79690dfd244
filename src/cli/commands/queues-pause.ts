import { userInfo } from "node:os";
import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";

export const queuesPauseCommand: Command = {
  name: "queues pause",
  summary: "hand out no more jobs of a queue, in any process, until it is resumed",
  details: ["Running jobs go on, and new ones may be enqueued. Your user name is noted."],
  arguments: [{ name: "NAME", help: "the queue" }],
  options: { because: { value: "TEXT", help: "why, for whoever looks at the queue" }, ...databaseOptions },
  examples: ['millrace queues pause mail --because "the provider is down"'],
  async run({ args, options, out }) {
    const [name] = args as [string];
    return withDatabase(options, async ({ engine }) => {
      await engine.queuePause(name, { by: userName(), ...options.pick("because") });
      out.result({ name, state: "paused" }, `${name} is paused`);
      return 0;
    });
  },
};

/** Some containers run as a user without a name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? "unknown"}`;
  }
}
