import { count, duration, plural } from "./words.js";
import { type Check, type Finding, ok, skipped, wrong } from "./check.js";

/** Workers look every five seconds; three rounds missed are no accident. */
const lateMs = 15_000;
/** One round folds 100,000; more than that waits only when nobody folds. */
const maxTallies = 100_000;

/** Somebody promotes, reaps and folds. */
export const maintenanceCheck: Check = {
  name: "maintenance",
  needsSchema: true,
  async run({ read, schema }) {
    const remedy = `run a worker ("millrace work", maintenance is on by default) or a Maintainer; by hand: select ${schema}.maintain()`;
    const [claims] = await read<{ late: string; ms: number | null }>(
      `select count(distinct token) as late, extract(epoch from max(:clock_now() - lease_ends_at))::float8 * 1000 as ms
         from :claims where lease_ends_at < :clock_now() - make_interval(secs => $1)`,
      [lateMs / 1000],
    );
    const findings: Finding[] = [];
    if (Number(claims?.late) > 0) {
      findings.push(
        wrong(
          `${plural(Number(claims?.late), "claim")} ended up to ${duration(claims?.ms ?? 0)} ago, and nobody takes the jobs back`,
          remedy,
        ),
      );
    }
    const [rights] = await read<{ may: boolean }>(
      "select has_table_privilege($1, 'select') and has_table_privilege($2, 'select') as may",
      [`${schema}.agenda`, `${schema}.tally`],
    );
    if (!rights?.may) return [...findings, skipped("agenda and tally can be looked at by the schema's owner only")];

    const [agenda] = await read<{ late: string; ms: number | null }>(
      `select count(*) as late, extract(epoch from max(:clock_now() - due_at))::float8 * 1000 as ms
         from (select due_at from :agenda where due_at < :clock_now() - make_interval(secs => $1) order by due_at limit 100000) due`,
      [lateMs / 1000],
    );
    if (Number(agenda?.late) > 0) {
      findings.push(
        wrong(
          `${plural(Number(agenda?.late), "delayed job")} came due up to ${duration(agenda?.ms ?? 0)} ago and cannot be claimed yet`,
          remedy,
        ),
      );
    }
    const [tally] = await read<{ rows: string }>("select count(*) as rows from (select from :tally limit $1) t", [
      maxTallies + 1,
    ]);
    if (Number(tally?.rows) > maxTallies)
      findings.push(
        wrong(`more than ${count(maxTallies)} changes of depth are not added up: counting gets slow`, remedy),
      );
    return findings.length > 0 ? findings : [ok("nothing is overdue")];
  },
};
