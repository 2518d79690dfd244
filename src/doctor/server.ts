import { type Check, type Finding, ok, wrong } from "./check.js";

const leastVersion = 140_000;

/** The server answers, is new enough, and can be written to. */
export const serverCheck: Check = {
  name: "server",
  needsSchema: false,
  async run({ read }) {
    const startedAt = performance.now();
    const [row] = await read<{ version: string; number: number; standby: boolean; readOnly: string }>(
      `select current_setting('server_version') as version, current_setting('server_version_num')::int as number,
              pg_is_in_recovery() as standby, current_setting('transaction_read_only') as "readOnly"`,
    );
    const { version, number, standby, readOnly } = row!;
    const findings: Finding[] = [
      ok(`PostgreSQL ${version} answers within ${Math.ceil(performance.now() - startedAt)} ms`),
    ];
    if (number < leastVersion)
      findings.push(wrong(`PostgreSQL ${version} is too old`, "upgrade the server to version 14 or newer"));
    if (standby) findings.push(wrong("this server is a standby", "connect to the primary: a queue writes"));
    else if (readOnly === "on")
      findings.push(
        wrong("transactions are read-only here", "set default_transaction_read_only = off for this role and database"),
      );
    return findings;
  },
};
