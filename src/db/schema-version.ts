import { SchemaVersionError } from "./errors.js";
import { type Queryable, runQuery } from "./queryable.js";
import { schemaVersion } from "./release.generated.js";
import { checkSchemaName, defaultSchema } from "./schema-name.js";
import type { Migration } from "./sql.generated.js";

/** The SQL to apply. Only tests give their own, to stand for another release. */
export interface Release {
  readonly migrations: readonly Migration[];
  readonly functionsText: string;
  readonly functionsChecksum: string;
}

/** Options of `migrate`. */
export interface MigrateOptions {
  /** Schema to install into; created when it does not exist. Default `millrace`. */
  readonly schema?: string;
  /** @internal */
  readonly release?: Release;
}

/** How a schema compares with this release. */
export interface MigrationStatus {
  readonly schema: string;
  readonly installed: number;
  readonly wanted: number;
  readonly state: "missing" | "older" | "current" | "newer";
}

/** The version that a schema of a release has. */
export function wantedVersion(release: Release): number {
  return release.migrations.at(-1)?.number ?? 0;
}

/** Compare a schema with this release, changing nothing. */
export async function migrationStatus(db: Queryable, options: MigrateOptions = {}): Promise<MigrationStatus> {
  const schema = checkSchemaName(options.schema ?? defaultSchema);
  const wanted = options.release ? wantedVersion(options.release) : schemaVersion;
  const [found] = await runQuery(db, "select to_regclass($1 || '.migrations') is not null as present", [schema]);
  if (!found?.["present"]) return { schema, installed: 0, wanted, state: "missing" };
  const [row] = await runQuery(db, `select coalesce(max(number), 0) as version from ${schema}.migrations`, []);
  const installed = Number(row?.["version"]);
  return { schema, installed, wanted, state: installed < wanted ? "older" : installed > wanted ? "newer" : "current" };
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
