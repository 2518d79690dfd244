import { SchemaVersionError } from "./errors.js";
import { type ConnectionPool, type Queryable, inTransaction, runQuery } from "./queryable.js";
import { functionsChecksum } from "./release.generated.js";
import { checkSchemaName, defaultSchema } from "./schema-name.js";
import { type MigrateOptions, type Release, wantedVersion } from "./schema-version.js";
import { functionsText, migrations as releasedMigrations } from "./sql.generated.js";

export const thisRelease: Release = { migrations: releasedMigrations, functionsText, functionsChecksum };

/** What a migration run found and did. */
export interface MigrateResult {
  readonly schema: string;
  readonly version: number;
  readonly applied: readonly string[];
  readonly functionsReplaced: boolean;
}

const historyTable = `create table if not exists migration (
  number     int primary key,
  name       text not null,
  checksum   text not null,
  applied_at timestamptz not null default clock_timestamp()
)`;

/**
 * Install the schema, or bring it to this release. Safe to run twice, and by many processes at once:
 * they queue on one advisory lock and find the work done.
 *
 * @example
 * ```ts
 * import pg from "pg";
 * import { migrate } from "millrace";
 *
 * const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
 * await migrate(pool, { schema: "millrace" });
 * ```
 */
export async function migrate(pool: ConnectionPool, options: MigrateOptions = {}): Promise<MigrateResult> {
  const schema = checkSchemaName(options.schema ?? defaultSchema);
  const release = options.release ?? thisRelease;
  return inTransaction(pool, undefined, async (db) => {
    await runQuery(db, "select pg_advisory_xact_lock(hashtextextended('millrace migrate ' || $1, 0))", [schema]);
    await stayPlain(db);
    const exists = await runQuery(db, "select from pg_namespace where nspname = $1", [schema]);
    if (exists.length === 0) await runQuery(db, `create schema ${schema}`, []);
    await useSchema(db, schema);
    await runQuery(db, historyTable, []);
    const history = await readHistory(db);
    refuseStrangers(release, history);

    const applied: string[] = [];
    for (const migration of release.migrations) {
      if (history.has(migration.number)) continue;
      await runQuery(db, migration.text, []);
      await record(db, migration.number, migration.name, migration.checksum);
      applied.push(`${String(migration.number).padStart(4, "0")}_${migration.name}`);
    }
    const functionsReplaced = history.get(0) !== release.functionsChecksum;
    if (functionsReplaced) {
      await runQuery(db, release.functionsText, []);
      await runQuery(db, dropStale, []);
      await runQuery(db, closeToPublic(schema), []);
      await record(db, 0, "functions", release.functionsChecksum);
    }
    return { schema, version: wantedVersion(release), applied, functionsReplaced };
  });
}

/**
 * Functions of the release before that this one has not replaced. Each one it has was written by this very transaction;
 * what is left would be dead, or worse, make a call with a default ambiguous.
 */
const dropStale = `do $$
declare
  f text;
begin
  for f in select p.oid::regprocedure from pg_proc p where p.pronamespace = current_schema()::regnamespace and p.xmin <> pg_current_xact_id()::xid loop
    execute 'drop function ' || f;
  end loop;
end $$`;

/** Functions are for roles that were granted them, not for everybody. */
const closeToPublic = (schema: string) => `revoke all on all functions in schema ${schema} from public`;

/**
 * Where Citus is, a cell is nothing it should know of: a plain schema of this one server. It would make the schema one
 * of its shards, or repeat everything on the other nodes. Elsewhere nothing of the kind is sent.
 */
async function stayPlain(db: Queryable): Promise<void> {
  const citus = await runQuery(db, "select from pg_extension where extname = 'citus'", []);
  if (citus.length > 0) await runQuery(db, "select set_config('citus.enable_ddl_propagation', 'off', true)", []);
}

const stayPlainScript = `do $$
begin
  if exists (select from pg_extension where extname = 'citus') then
    perform set_config('citus.enable_ddl_propagation', 'off', true);
  end if;
end $$`;

async function useSchema(db: Queryable, schema: string): Promise<void> {
  await runQuery(
    db,
    "select set_config('search_path', $1 || ', pg_temp', true), set_config('client_min_messages', 'warning', true)",
    [schema],
  );
}

async function readHistory(db: Queryable): Promise<Map<number, string>> {
  const rows = await runQuery(db, "select number, checksum from migration order by number", []);
  return new Map(rows.map((row) => [Number(row["number"]), String(row["checksum"])]));
}

async function record(db: Queryable, number: number, name: string, checksum: string): Promise<void> {
  await runQuery(
    db,
    "insert into migration (number, name, checksum) values ($1, $2, $3) on conflict (number) do update set checksum = excluded.checksum, applied_at = clock_timestamp()",
    [number, name, checksum],
  );
}

function refuseStrangers(release: Release, history: ReadonlyMap<number, string>): void {
  const newest = Math.max(0, ...history.keys());
  if (newest > wantedVersion(release)) {
    throw new SchemaVersionError(
      `the schema has version ${newest}, this release knows ${wantedVersion(release)}`,
      "upgrade millrace",
    );
  }
  for (const { number, name, checksum } of release.migrations) {
    const found = history.get(number);
    if (found !== undefined && found !== checksum) {
      throw new SchemaVersionError(
        `migration ${number} (${name}) was applied with other content`,
        "this schema was not made by a released version; install into a new schema",
      );
    }
  }
}

/**
 * The whole installation as one script for a DBA: `millrace migrate --print | psql`.
 * It gives the same schema as `migrate`.
 */
export function migrationScript(options: MigrateOptions = {}): string {
  const schema = checkSchemaName(options.schema ?? defaultSchema);
  const release = options.release ?? thisRelease;
  const recorded = [
    ...release.migrations.map((m) => [m.number, m.name, m.checksum]),
    [0, "functions", release.functionsChecksum],
  ]
    .map(([number, name, checksum]) => `(${number}, '${name}', '${checksum}')`)
    .join(",\n  ");
  return [
    "-- Millrace: the whole schema, for an empty database. Run it once, as the role that shall own the schema.",
    "begin;",
    `${stayPlainScript};`,
    `create schema if not exists ${schema};`,
    `set local search_path = ${schema}, pg_temp;`,
    "set local client_min_messages = warning;",
    `${historyTable};`,
    ...release.migrations.map((migration) => migration.text),
    release.functionsText,
    `${closeToPublic(schema)};`,
    `insert into migration (number, name, checksum) values\n  ${recorded};`,
    "commit;",
    "",
  ].join("\n");
}
