import type { Depth, QueueRecord, Reason } from "../../db/types.js";
import { QueueNotFoundError } from "../../db/errors.js";
import { queueWord } from "../../db/queue-word.js";
import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { count, duration, time } from "../format.js";
import type { Output } from "../output.js";
import { unhandledOf } from "../queue-columns.js";
import { partOptions } from "../queue-part.js";
import { whyLines } from "../why-lines.js";

export const queuesShowCommand: Command = {
  name: "queues show",
  summary: "show one queue: how much is waiting, and why",
  details: [
    "`ready` jobs need a worker and room, `blocked` ones are behind a pause, an open breaker or another queue. " +
      "With `--type` or `--group` the reasons are those of that part. Counts cost the same at any backlog.",
  ],
  arguments: [{ name: "NAME", help: "the queue (default `default`)", optional: true }],
  options: { ...partOptions, ...databaseOptions },
  examples: ["millrace queues show mail", "millrace queues show mail --group acme --json | jq '.why[].text'"],
  async run({ args, options, out }) {
    const [name = "default"] = args as [string?];
    return withDatabase(options, async ({ engine }) => {
      const queue = (await engine.queues()).find((one) => one.name === name);
      if (!queue) throw new QueueNotFoundError(`there is no queue "${name}"`, "millrace queues tells those there are");
      const [depth, why] = [await engine.queueDepth(name), await engine.queueWhy(name, options.pick("type", "group"))];
      const unhandled = unhandledOf(await engine.server.unhandled(0)).get(name);
      out.result({ ...queue, depth, why }, lines(queue, queueWord(queue, unhandled), depth, why, out));
      return 0;
    });
  },
};

function lines(queue: QueueRecord, word: string, depth: Depth, why: readonly Reason[], out: Output): string[] {
  const fields: [string, string][] = [
    ["queue", queue.name],
    ["state", word],
    ["ready", count(depth.ready)],
    ["blocked", count(depth.blocked)],
    ["delayed", count(depth.delayed)],
    ["staged", count(depth.staged)],
    ["suspended", count(queue.suspended)],
    ["running", count(depth.running)],
    ["oldest ready", depth.oldestAgeSeconds === null ? "" : duration(depth.oldestAgeSeconds * 1000)],
    ["made", time(queue.createdAt)],
  ];
  return [
    ...fields.flatMap(([name, value]) => (value === "" ? [] : [`${out.style("dim", name.padEnd(12))}  ${value}`])),
    ...(why.length === 0 ? ["", "nothing waits"] : ["", "why it waits:", ...whyLines(why).map((line) => `  ${line}`)]),
  ];
}
