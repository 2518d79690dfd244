import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { plural } from "../format.js";

export const breakersResetCommand: Command = {
  name: "breakers reset",
  summary: "close circuit breakers by hand, and reset their counts",
  details: [
    "All of them, or those of a queue, of a type, or of both. The exit code is 1 when there was nothing to reset.",
  ],
  arguments: [],
  options: {
    queue: { value: "NAME", help: "only of this queue" },
    type: { value: "TYPE", help: "only of this type" },
    ...databaseOptions,
  },
  examples: ["millrace breakers reset --queue mail --type send-mail", "millrace breakers reset"],
  async run({ options, out }) {
    return withDatabase(options, async ({ engine }) => {
      const reset = await engine.breakerReset(options.pick("queue", "type"));
      out.result({ reset }, `${plural(reset, "breaker")} reset`);
      return reset > 0 ? 0 : 1;
    });
  },
};
