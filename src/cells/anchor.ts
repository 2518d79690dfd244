import { checkAnchorName } from "../db/anchor.js";
import { AnchorError } from "../db/errors.js";
import { type Queryable, runQuery } from "../db/queryable.js";

/** Make the table in a distributed schema that calls near a tenant are carried by. Returns its name. Safe to repeat. */
export async function makeAnchor(coordinator: Queryable, schema: string): Promise<string> {
  const near = `${schema}.here`;
  checkAnchorName(near);
  const [citus] = await runQuery(
    coordinator,
    "select to_regclass('pg_catalog.pg_dist_schema') is not null as present",
    [],
  );
  const text = "select from pg_catalog.pg_dist_schema where schemaid = to_regnamespace($1::text)";
  const found = citus?.["present"] ? await runQuery(coordinator, text, [schema]) : [];
  if (found.length === 0)
    throw new AnchorError(
      `Citus does not distribute the schema "${schema}"`,
      `call citus_schema_distribute('${schema}') on the coordinator first`,
    );
  const columns = "only_row boolean primary key default true check (only_row)";
  await runQuery(coordinator, `create table if not exists ${near} (${columns})`, []);
  await runQuery(coordinator, `insert into ${near} default values on conflict do nothing`, []);
  return near;
}
