import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { plural } from "../format.js";

export const queuesPurgeCommand: Command = {
  name: "queues purge",
  summary: "drop all waiting and delayed jobs of a queue, at the same cost for any number",
  details: [
    "Running jobs go on. The dropped ones become cancelled. Without `--yes` nothing is dropped, and the exit code is 1.",
  ],
  arguments: [{ name: "NAME", help: "the queue" }],
  options: { yes: { help: "do it; without it they are only counted" }, ...databaseOptions },
  examples: ["millrace queues purge mail", "millrace queues purge mail --yes"],
  async run({ args, options, out }) {
    const [name] = args as [string];
    return withDatabase(options, async ({ engine }) => {
      if (options.flag("yes")) {
        const purged = await engine.queuePurge(name);
        out.result({ name, purged }, `${plural(purged, "job")} dropped from ${name}`);
        return 0;
      }
      const { ready, blocked, delayed } = await engine.queueDepth(name);
      const waiting = ready + blocked + delayed;
      out.result(
        { name, purged: 0, waiting },
        `${plural(waiting, "job")} would be dropped from ${name}; repeat with --yes`,
      );
      return 1;
    });
  },
};
