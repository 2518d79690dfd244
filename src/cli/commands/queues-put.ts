import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { jsonArgument } from "../json-argument.js";
import { UsageError } from "../usage-error.js";

export const queuesPutCommand: Command = {
  name: "queues put",
  summary: "create a queue, or change the defaults of its jobs",
  details: [
    "Defaults given replace those of the same name, null removes one, the others stay. They are listed in docs/options.md.",
  ],
  arguments: [
    { name: "NAME", help: "the queue" },
    {
      name: "DEFAULTS",
      help: "a JSON object, `@file`, or `-` for standard input (default none)",
      optional: true,
      isFile: true,
    },
  ],
  options: databaseOptions,
  examples: [
    "millrace queues put mail",
    `millrace queues put mail '{"maxAttempts": 5, "leaseSeconds": 60, "deadLetterQueue": "dead"}'`,
  ],
  async run({ args, options, out }) {
    const [name, argument] = args as [string, string?];
    const defaults = (await jsonArgument(argument, "DEFAULTS")) ?? {};
    if (typeof defaults !== "object" || Array.isArray(defaults))
      throw new UsageError("DEFAULTS is not a JSON object", "write it as '{\"maxAttempts\": 5}'");
    return withDatabase(options, async ({ engine }) => {
      const stored = await engine.queuePut(name, defaults);
      out.result({ name, options: stored }, `${name} has the defaults ${JSON.stringify(stored)}`);
      return 0;
    });
  },
};
