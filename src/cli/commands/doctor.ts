import { DatabaseUnavailableError } from "../../db/errors.js";
import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { type Check, type Finding, type Patient, skipped, wrong } from "../doctor/check.js";
import { clockCheck } from "../doctor/clock.js";
import { indexesCheck } from "../doctor/indexes.js";
import { maintenanceCheck } from "../doctor/maintenance.js";
import { poolerCheck } from "../doctor/pooler.js";
import { schemaCheck } from "../doctor/schema.js";
import { serverCheck } from "../doctor/server.js";
import { sizesCheck } from "../doctor/sizes.js";
import { snapshotsCheck } from "../doctor/snapshots.js";
import { plural } from "../format.js";
import type { Output } from "../output.js";
import { displayUrl } from "../redact.js";

const checks: readonly Check[] = [serverCheck, schemaCheck, snapshotsCheck, indexesCheck, poolerCheck, clockCheck, maintenanceCheck, sizesCheck];

export const doctorCommand: Command = {
  name: "doctor",
  summary: "look for what is wrong with the database, and say what to do",
  details: [
    "Checks the server and its version, the schema and whether it was restored from elsewhere, old snapshots (sessions, prepared transactions, replication " +
      "slots), the indexes of the rings, transaction poolers, clocks, maintenance that lags, and the size of control tables. Changes nothing. " +
      "The exit code is 1 when something is wrong.",
  ],
  arguments: [],
  options: { "max-snapshot-age": { value: "DURATION", help: "how long a transaction may stay open", default: "10m" }, ...databaseOptions },
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

type Named = Finding & { readonly check: string };

/** One check after the other: each may load the server a little. A server that is gone ends it, a broken schema skips what needs it. */
async function examine(patient: Patient): Promise<Named[]> {
  const findings: Named[] = [];
  for (const { name, needsSchema, run } of checks) {
    const hasSchema = findings.every(({ check, state }) => check !== "schema" || state !== "wrong");
    const found = needsSchema && !hasSchema ? [skipped("needs a schema in order")] : await attempt(run, patient);
    findings.push(...found.map((finding) => ({ check: name, ...finding })));
    if (name === "server" && found.some(({ state }) => state === "wrong")) break;
  }
  return findings;
}

async function attempt(run: Check["run"], patient: Patient): Promise<readonly Finding[]> {
  try {
    return await run(patient);
  } catch (error) {
    if (error instanceof DatabaseUnavailableError)
      return [wrong(error.message, "check host, port, user, password and database of the URL, and that the server runs")];
    const { code, message } = error as Error & { code?: unknown };
    if (code === "42501") return [wrong(message, `let the schema's owner run: select ${patient.schema}.role_grant('this role', 'reader')`)];
    return [skipped(`could not look: ${message}`)];
  }
}

const marks = { ok: ["green", "✔"], wrong: ["red", "✘"], skipped: ["dim", "–"] } as const;

function findingLines(finding: Named, out: Output): string[] {
  const [colour, mark] = marks[finding.state];
  return [
    `${out.style(colour, mark)} ${finding.check.padEnd(12)} ${finding.message}`,
    ...(finding.state === "wrong" ? [`${" ".repeat(15)}${out.style("bold", "→")} ${finding.remedy}`] : []),
  ];
}
