import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { type NamedFinding, examine } from "../../doctor/examine.js";
import { plural } from "../format.js";
import type { Output } from "../output.js";
import { displayUrl } from "../redact.js";

export const doctorCommand: Command = {
  name: "doctor",
  summary: "check the database, and say how to fix what is wrong",
  details: [
    "Checks the server and its version, the schema and whether it was restored from elsewhere, old snapshots (sessions, prepared transactions, replication " +
      "slots), the indexes of the rings, transaction poolers, clocks, sessions that hold the locks of lanes for more than a minute, which stops all claims from them, " +
      "maintenance that lags, counts, suspended jobs that wait for what cannot come any more or have waited for a signal for more than 30 days, and the size of control tables. Changes nothing. " +
      "The exit code is 1 when something is wrong.",
  ],
  arguments: [],
  options: {
    "max-snapshot-age": { value: "DURATION", help: "how long a transaction may stay open", default: "10m" },
    ...databaseOptions,
  },
  examples: ["millrace doctor", "millrace doctor --json | jq '.findings[] | select(.state == \"wrong\")'"],
  async run({ options, out }) {
    const maxSnapshotAgeMs = options.duration("max-snapshot-age");
    return withDatabase(options, async (database) => {
      const findings = await examine({ ...database, maxSnapshotAgeMs });
      const found = findings.filter(({ state }) => state === "wrong").length;
      const unseen = findings.filter(({ state }) => state === "skipped").length;
      const verdict = `${found === 0 ? "nothing is" : plural(found, "thing is", "things are")} wrong${unseen === 0 ? "" : `, ${unseen} could not be looked at`}`;
      out.result({ database: displayUrl(database.url), schema: database.schema, healthy: found === 0, findings }, [
        `${displayUrl(database.url)}, schema ${database.schema}`,
        "",
        ...findings.flatMap((finding) => findingLines(finding, out)),
        "",
        out.style(found === 0 ? "green" : "red", verdict),
      ]);
      return found === 0 ? 0 : 1;
    });
  },
};

const marks = { ok: ["green", "✔"], wrong: ["red", "✘"], skipped: ["dim", "–"] } as const;

function findingLines(finding: NamedFinding, out: Output): string[] {
  const [colour, mark] = marks[finding.state];
  return [
    `${out.style(colour, mark)} ${finding.check.padEnd(12)} ${finding.message}`,
    ...(finding.state === "wrong" ? [`${" ".repeat(15)}${out.style("bold", "→")} ${finding.remedy}`] : []),
  ];
}
