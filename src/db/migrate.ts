import { SchemaVersionError } from "./errors.js";
import { type ConnectionPool, type Queryable, inTransaction, runQuery } from "./queryable.js";
import { checkSchemaName, defaultSchema } from "./schema-name.js";
import { type Migration, functionsChecksum, functionsText, migrations as releasedMigrations } from "./sql.generated.js";

/** The SQL to apply. Only tests give their own, to stand for another release. */
export interface Release {
  readonly migrations: readonly Migration[];
  readonly functionsText: string;
  readonly functionsChecksum: string;
}

export const thisRelease: Release = { migrations: releasedMigrations, functionsText, functionsChecksum };

/** Options of `migrate`. */
export interface MigrateOptions {
  /** Schema to install into; created when it does not exist. Default `millrace`. */
  readonly schema?: string;
  /** @internal */
  readonly release?: Release;
}

/** What a migration run found and did. */
export interface MigrateResult {
  readonly schema: string;
  readonly version: number;
  readonly applied: readonly string[];
  readonly functionsReplaced: boolean;
}

/** How a schema compares with this release. */
export interface MigrationStatus {
  readonly schema: string;
  readonly installed: number;
  readonly wanted: number;
  readonly state: "missing" | "older" | "current" | "newer";
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

function wantedVersion(release: Release): number {
  return release.migrations.at(-1)?.number ?? 0;
}

/** Compare a schema with this release, changing nothing. */
export async function migrationStatus(db: Queryable, options: MigrateOptions = {}): Promise<MigrationStatus> {
  const schema = checkSchemaName(options.schema ?? defaultSchema);
  const wanted = wantedVersion(options.release ?? thisRelease);
  const [found] = await runQuery(db, "select to_regclass($1 || '.migrations') is not null as present", [schema]);
  if (!found?.["present"]) return { schema, installed: 0, wanted, state: "missing" };
  const [row] = await runQuery(db, `select coalesce(max(number), 0) as version from ${schema}.migrations`, []);
  const installed = Number(row?.["version"]);
  return { schema, installed, wanted, state: installed < wanted ? "older" : installed > wanted ? "newer" : "current" };
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

/** Refuse to work with a schema of another version, naming the command to run. Changes nothing. */
export async function checkSchema(db: Queryable, options: MigrateOptions = {}): Promise<void> {
  const status = await migrationStatus(db, options);
  const command = `run "millrace migrate${status.schema === defaultSchema ? "" : ` --schema ${status.schema}`}"`;
  if (status.state === "missing")
    throw new SchemaVersionError(`there is no Millrace schema "${status.schema}" in this database`, command);
  if (status.state === "older")
    throw new SchemaVersionError(
      `the schema "${status.schema}" has version ${status.installed}, this release needs ${status.wanted}`,
      command,
    );
  if (status.state === "newer")
    throw new SchemaVersionError(
      `the schema "${status.schema}" has version ${status.installed}, this release knows ${status.wanted}`,
      "upgrade millrace",
    );
}
