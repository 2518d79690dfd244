import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { userName } from "../user-name.js";

export const queuesOpenCommand: Command = {
  name: "queues open",
  summary: "accept jobs in a closed queue again, if it has not finished",
  arguments: [{ name: "NAME", help: "the queue" }],
  options: { because: { value: "TEXT", help: "why; kept with the event" }, ...databaseOptions },
  examples: ["millrace queues open import-7"],
  async run({ args, options, out }) {
    const [name] = args as [string];
    return withDatabase(options, async ({ engine }) => {
      await engine.queueOpen(name, { by: userName(), ...options.pick("because") });
      out.result({ name, state: "open" }, `${name} is open`);
      return 0;
    });
  },
};
