import { type Check, type Finding, type Patient, ok, wrong } from "./check.js";

interface IndexRow {
  readonly parent: string;
  readonly child: string;
  /** What follows `using`, or null for a child without indexes. */
  readonly definition: string | null;
  readonly primary: boolean | null;
  readonly unique: boolean | null;
}

/** Every child of a ring has the indexes of its siblings. */
export const indexesCheck: Check = {
  name: "indexes",
  needsSchema: true,
  async run({ read, schema }: Patient) {
    const rows = await read<IndexRow>(
      `select p.relname as parent, c.relname as child, regexp_replace(pg_get_indexdef(i.indexrelid), '^.*? USING ', '') as definition,
              i.indisprimary as primary, i.indisunique as unique
         from pg_inherits h join pg_class p on p.oid = h.inhparent join pg_class c on c.oid = h.inhrelid
         left join pg_index i on i.indrelid = c.oid and i.indisvalid
        where p.relnamespace = $1::regnamespace and p.relkind = 'p' order by 1, 2, 3`,
      [schema],
    );
    const findings = Object.values(groupBy(rows, ({ parent }) => parent)).flatMap((siblings) =>
      missingOf(siblings, schema),
    );
    const children = new Set(rows.map(({ child }) => child)).size;
    return findings.length > 0 ? findings : [ok(`all ${children} children of the rings have their indexes`)];
  },
};

/** What more than half of the children have, the others lack. */
function missingOf(siblings: readonly IndexRow[], schema: string): Finding[] {
  const children = [...new Set(siblings.map(({ child }) => child))];
  return Object.values(groupBy(siblings, ({ definition }) => definition ?? "")).flatMap((alike) => {
    const [example] = alike as [IndexRow, ...IndexRow[]];
    if (example.definition === null || alike.length * 2 <= children.length) return [];
    const lacking = children.filter((child) => !alike.some((row) => row.child === child));
    return lacking.map((child) =>
      wrong(
        `${schema}.${child} lacks the index ${example.definition}`,
        `run: ${statement(`${schema}.${child}`, example)}; look for an invalid one to drop first`,
      ),
    );
  });
}

function statement(table: string, { definition, primary, unique }: IndexRow): string {
  if (primary) return `alter table ${table} add primary key ${definition!.replace(/^btree /, "")}`;
  return `create ${unique ? "unique " : ""}index on ${table} using ${definition}`;
}

function groupBy<T>(items: readonly T[], key: (item: T) => string): Record<string, T[]> {
  const groups: Record<string, T[]> = {};
  for (const item of items) (groups[key(item)] ??= []).push(item);
  return groups;
}
