import type { HistoryPoint } from "../../db/types.js";
import { durationSeconds } from "../../job/duration.js";
import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { count, duration, time } from "../format.js";
import { textTable } from "../text-table.js";

export const historyCommand: Command = {
  name: "history",
  summary: "show past rates, waits and run times",
  details: [
    "By the minute up to a day, by the hour up to thirty days. Workers and servers write it down; where none ran there is no line.",
    "WAITED and RAN are the median and the 95th percentile: how long jobs had waited for their first attempt, and how long attempts took.",
  ],
  arguments: [{ name: "QUEUE", help: "only this queue (default all together)", optional: true }],
  options: {
    type: { value: "TYPE", help: "only this type of the queue" },
    last: { value: "DURATION", help: "how far back", default: "1h" },
    ...databaseOptions,
  },
  examples: [
    "millrace history",
    "millrace history mail --type send --last 24h",
    "millrace history mail --last 30d --json",
  ],
  async run({ args, options, out }) {
    const [queue] = args as [string?];
    const seconds = durationSeconds(options.text("last"), "--last");
    return withDatabase(options, async ({ engine }) => {
      const filter = { ...(queue === undefined ? {} : { queue }), ...options.pick("type"), seconds };
      const points = await engine.historyGet(filter);
      out.result(points, points.length === 0 ? "nothing was written down" : historyTable(points, out.width));
      return 0;
    });
  },
};

function historyTable(points: readonly HistoryPoint[], width: number): string[] {
  const number = (n: number | null): string => (n === null ? "" : count(n));
  const seconds = (n: number | null): string => (n === null ? "" : duration(n * 1000));
  const pair = (a: number | null, b: number | null): string => (a === null ? "" : `${seconds(a)} / ${seconds(b)}`);
  return textTable(
    [
      { title: "UNTIL" },
      { title: "IN", align: "right" },
      { title: "OUT", align: "right" },
      { title: "FAILED", align: "right" },
      { title: "WAITING", align: "right" },
      { title: "RUNNING", align: "right" },
      { title: "OLDEST", align: "right" },
      { title: "WAITED", align: "right" },
      { title: "RAN", align: "right" },
      { title: "KINDS" },
    ],
    points.map((point) => [
      time(point.at),
      number(point.enqueued),
      number(point.finished),
      number(point.failed),
      number(point.waiting),
      number(point.running),
      seconds(point.oldestReadySeconds),
      pair(point.waitP50Seconds, point.waitP95Seconds),
      pair(point.runP50Seconds, point.runP95Seconds),
      Object.entries(point.kinds ?? {})
        .toSorted(([, a], [, b]) => b - a)
        .map(([kind, n]) => `${kind} ${n}`)
        .join(", "),
    ]),
    width,
  );
}
