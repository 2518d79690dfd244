import type { FailureGroup } from "../../db/types.js";
import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { count, oneLine, time } from "../format.js";
import { textTable } from "../text-table.js";

/** The newest so many failures are looked at. */
const maxLooked = 10_000;

export const failuresCommand: Command = {
  name: "failures",
  summary: "list failed jobs, grouped by similar error",
  details: [
    "Errors are alike when they differ in numbers, ids and quoted texts only. The most frequent come first, with the newest message of each. Looks at the newest 10,000 jobs that match.",
  ],
  arguments: [],
  options: {
    queue: { value: "NAME", help: "only of this queue" },
    type: { value: "TYPE", help: "only of this type" },
    since: { value: "TIME", help: "only those that failed at this time or later, such as 2026-03-01T08:00Z" },
    until: { value: "TIME", help: "only those that failed before this time" },
    limit: { value: "N", help: "how many groups, up to 10,000", default: "20" },
    ...databaseOptions,
  },
  examples: [
    "millrace failures",
    "millrace failures --type send-mail --since 2026-03-01T08:00Z",
    "millrace failures --json | jq -r '.[0].fingerprint'",
  ],
  async run({ options, out }) {
    return withDatabase(options, async ({ engine }) => {
      const all = await engine.failures({ ...options.pick("queue", "type", "since", "until"), limit: maxLooked });
      const groups = all.slice(0, options.integer("limit", 1, 10_000));
      const isCut = all.reduce((sum, { jobs }) => sum + jobs, 0) >= maxLooked;
      const lines = failuresTable(groups, out.width);
      if (isCut)
        lines.push("", `there are more: this looked at the newest ${count(maxLooked)}, so the counts are lower bounds`);
      out.result(groups, groups.length === 0 ? "no failures" : lines);
      return 0;
    });
  },
};

function failuresTable(groups: readonly FailureGroup[], width: number): string[] {
  return textTable(
    [
      { title: "FINGERPRINT" },
      { title: "JOBS", align: "right" },
      { title: "FIRST" },
      { title: "LAST" },
      { title: "TYPES" },
      { title: "ERROR" },
    ],
    groups.map((group) => [
      group.fingerprint,
      count(group.jobs),
      time(group.firstAt),
      time(group.lastAt),
      group.types.length > 3 ? `${group.types.slice(0, 3).join(", ")}, …` : group.types.join(", "),
      oneLine([group.name, group.code, group.message].filter(Boolean).join(": ") || "(none)"),
    ]),
    width,
  );
}
