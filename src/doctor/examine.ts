import { DatabaseUnavailableError, NotGrantedError, translateError } from "../db/errors.js";
import { type Check, type Finding, type Patient, skipped, wrong } from "./check.js";
import { clockCheck } from "./clock.js";
import { countsCheck } from "./counts.js";
import { handlersCheck } from "./handlers.js";
import { heldCheck } from "./held.js";
import { hooksCheck } from "./hooks.js";
import { indexesCheck } from "./indexes.js";
import { locksCheck } from "./locks.js";
import { maintenanceCheck } from "./maintenance.js";
import { poolerCheck } from "./pooler.js";
import { schemaCheck } from "./schema.js";
import { serverCheck } from "./server.js";
import { sizesCheck } from "./sizes.js";
import { snapshotsCheck } from "./snapshots.js";
import { waitsCheck } from "./waits.js";

const checks: readonly Check[] = [
  serverCheck,
  schemaCheck,
  snapshotsCheck,
  indexesCheck,
  poolerCheck,
  clockCheck,
  locksCheck,
  maintenanceCheck,
  countsCheck,
  waitsCheck,
  heldCheck,
  handlersCheck,
  hooksCheck,
  sizesCheck,
];

/** A finding, and the check that made it. */
export type NamedFinding = Finding & { readonly check: string };

/**
 * One check after the other: each may load the server a little. A server that is gone ends it, a broken schema skips
 * what needs it.
 */
export async function examine(patient: Patient): Promise<NamedFinding[]> {
  const findings: NamedFinding[] = [];
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
  } catch (thrown) {
    const error = translateError(thrown);
    if (error instanceof DatabaseUnavailableError)
      return [
        wrong(error.message, "check host, port, user, password and database of the URL, and that the server runs"),
      ];
    if (error instanceof NotGrantedError)
      return [
        wrong(
          (error.cause as Error).message,
          `let the schema's owner run: select ${patient.schema}.role_grant('this role', 'reader')`,
        ),
      ];
    return [skipped(`could not look: ${(error as Error).message}`)];
  }
}
