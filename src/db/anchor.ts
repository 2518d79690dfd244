import { AnchorError, InvalidArgumentError } from "./errors.js";
import { type QueryResult, type Queryable, runQuery } from "./queryable.js";

type Rows = QueryResult["rows"];

/**
 * Calls that Citus carries to the node of a tenant: a query on a table of the tenant is sent there as a whole, so the
 * function runs in the cell of that node, inside the distributed transaction.
 */
export class Anchors {
  /** Those that were found to be what they should be. */
  readonly #known = new Set<string>();

  async run(db: Queryable, near: string, text: string, values: unknown[]): Promise<Rows> {
    checkAnchorName(near);
    if (!this.#known.has(near)) await this.#look(db, near);
    const rows = await runQuery(db, anchored(near, text), values);
    if (rows.length !== 1)
      throw new AnchorError(
        `the anchor "${near}" has ${rows.length === 0 ? "no row" : `${rows.length} rows`}; the call was done as often`,
        rows.length === 0 ? 'run "millrace cells anchor" for its schema' : "roll back, and leave one row in it",
      );
    return rows;
  }

  /** Where Citus does not know the table, or has it everywhere, the call would be done on the wrong server. */
  async #look(db: Queryable, near: string): Promise<void> {
    const [citus] = await runQuery(db, "select to_regclass('pg_catalog.pg_dist_partition') is not null as present", []);
    const [table] = citus?.["present"]
      ? await runQuery(
          db,
          `select p.repmodel = 't' as is_reference, p.partmethod = 'n' and p.repmodel = 's' and p.colocationid > 0 as is_fit
             from pg_catalog.pg_dist_partition p where p.logicalrelid = to_regclass($1::text)`,
          [near],
        )
      : [];
    if (table?.["is_fit"] !== true)
      throw new AnchorError(
        `"${near}" is no anchor: ${
          !table
            ? "Citus does not distribute it"
            : table["is_reference"]
              ? "it is a reference table"
              : "it has several shards"
        }`,
        'an anchor is a table of a distributed schema; "millrace cells anchor" makes one',
      );
    this.#known.add(near);
  }
}

/** Refuse what is no plain `schema.table`: it stands in statements as it is. */
export function checkAnchorName(near: unknown): asserts near is string {
  if (typeof near !== "string" || !/^[a-z_][a-z0-9_]{0,62}\.[a-z_][a-z0-9_]{0,62}$/.test(near))
    throw new InvalidArgumentError(
      "near does not name an anchor",
      'give schema.table, in small letters, digits and _, as "millrace cells anchor" has made it',
    );
}

/**
 * The statement, sent to where the anchor is. The update changes nothing and is essential: without a write Citus takes
 * the node for one that was only read, and commits although the node's part is lost.
 */
function anchored(near: string, text: string): string {
  const [, columns, source] = /^select (.*?) from (\S+\(.*\))$/s.exec(text) ?? [];
  const written = `with written as (update ${near} set only_row = only_row where not only_row returning 1)`;
  return columns === undefined
    ? `${written} ${text} from ${near} anchor`
    : `${written} select ${columns} from ${near} anchor cross join lateral ${source} answer`;
}
