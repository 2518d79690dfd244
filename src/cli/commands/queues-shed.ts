import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { plural } from "../format.js";
import { partName, partOptions } from "../queue-part.js";
import { UsageError } from "../usage-error.js";

export const queuesShedCommand: Command = {
  name: "queues shed",
  summary: "drop the waiting jobs of a queue (or of a type or group of it) enqueued before a time",
  details: [
    "Running jobs go on. The dropped ones become cancelled. Without `--yes` nothing is dropped, and the exit code is 1.",
    "The cost does not depend on how many are ready. More than 100,000, and those of groups, leave the counts as they are passed over.",
  ],
  arguments: [{ name: "NAME", help: "the queue" }],
  options: {
    before: { value: "TIME", help: "with its offset, such as `2026-12-24T18:00:00Z`" },
    ...partOptions,
    yes: { help: "do it; without it they are only counted" },
    ...databaseOptions,
  },
  examples: [
    "millrace queues shed mail --before 2026-12-24T18:00:00Z",
    "millrace queues shed mail --before 2026-12-24T18:00:00Z --group acme --yes",
  ],
  async run({ args, options, out }) {
    const [name] = args as [string];
    const before = moment(options.given("before"));
    const part = options.pick("type", "group");
    return withDatabase(options, async ({ engine }) => {
      if (options.flag("yes")) {
        const dropped = await engine.queueShed(name, before, part);
        out.result(
          { name, ...part, before, dropped },
          `${plural(dropped, "job")} dropped from ${partName(name, part)}`,
        );
        return 0;
      }
      const { ready, blocked, delayed } = await engine.count({ queue: name, ...part, until: before });
      const waiting = ready + blocked + delayed;
      out.result(
        { name, ...part, before, dropped: 0, waiting },
        `${plural(waiting, "job")} would be dropped from ${partName(name, part)}; repeat with --yes`,
      );
      return 1;
    });
  },
};

/** A time that means the same everywhere. */
function moment(text: string | undefined): Date {
  const time = new Date(text ?? "");
  if (text === undefined || Number.isNaN(time.getTime()) || !/(Z|[+-]\d{2}:\d{2})$/.test(text)) {
    throw new UsageError(
      text === undefined ? "--before is missing" : `--before ${text} is not a time`,
      "give it with its offset, such as 2026-12-24T18:00:00Z",
    );
  }
  return time;
}
