import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { plural } from "../format.js";
import { partName } from "../queue-part.js";

export const queuesSetAsideCommand: Command = {
  name: "queues set-aside",
  summary: "let new jobs of a queue go before all that wait now, at the same cost for any number",
  details: [
    "What was set aside is handed out when there is nothing newer, oldest first. Not for queues whose jobs have groups.",
  ],
  arguments: [{ name: "NAME", help: "the queue" }],
  options: { type: { value: "TYPE", help: "only its jobs of this type" }, ...databaseOptions },
  examples: ["millrace queues set-aside mail", "millrace queues set-aside mail --type newsletter"],
  async run({ args, options, out }) {
    const [name] = args as [string];
    return withDatabase(options, async ({ engine }) => {
      const part = options.pick("type");
      const aside = await engine.queueSetAside(name, part);
      out.result({ name, ...part, aside }, `${plural(aside, "job")} of ${partName(name, part)} set aside`);
      return 0;
    });
  },
};
