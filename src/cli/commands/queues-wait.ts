import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";

export const queuesWaitCommand: Command = {
  name: "queues wait",
  summary: "make a queue wait until other queues have finished",
  details: [
    "Replaces what it waited for before; without others it waits for nothing any more. The queue is created when there is none; the others must exist.",
  ],
  arguments: [
    { name: "NAME", help: "the queue" },
    { name: "OTHER", help: "the queues it waits for (default none)", optional: true, many: true },
  ],
  options: databaseOptions,
  examples: ["millrace queues wait report import-7 import-8", "millrace queues wait report"],
  async run({ args, options, out }) {
    const [name, ...waitsFor] = args as [string, ...string[]];
    return withDatabase(options, async ({ engine }) => {
      await engine.queuePut(name, { waitsFor: waitsFor.length > 0 ? waitsFor : null });
      if (waitsFor.length === 0) await engine.queueNotify([name]);
      out.result({ name, waitsFor }, `${name} waits for ${waitsFor.join(", ") || "nothing"}`);
      return 0;
    });
  },
};
