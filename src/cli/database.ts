import pg from "pg";
import { Engine } from "../db/engine.js";
import { translateError } from "../db/errors.js";
import { exactTypes } from "../db/exact-types.js";
import { runQuery } from "../db/queryable.js";
import { devUrl } from "../embedded/dev-url.js";
import type { ExitCode } from "./command.js";
import type { Options } from "./options.js";
import { UsageError } from "./usage-error.js";

/** The database a command works on. */
export interface Database {
  readonly url: string;
  readonly schema: string;
  readonly pool: pg.Pool;
  readonly engine: Engine;
  /** Read from the promised views: `:jobs` stands for the view in the schema. */
  readonly read: <Row>(text: string, values?: readonly unknown[]) => Promise<Row[]>;
}

/** Work with a pool on the database that was named, and close it afterwards. */
export async function withDatabase(
  options: Options,
  work: (database: Database) => Promise<ExitCode>,
): Promise<ExitCode> {
  const url = databaseUrl(options);
  const pool = new pg.Pool({ connectionString: url, max: 4, application_name: "millrace cli", types: exactTypes });
  pool.on("error", () => {}); // a dying idle connection is replaced; the next query tells
  try {
    const engine = new Engine({ pool, schema: options.text("schema") });
    const { schema } = engine;
    const read = async <Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> =>
      (await runQuery(pool, text.replaceAll(/(?<![:\w]):(?=[a-z_]+)/g, `${schema}.`), [...values])) as Row[];
    return await work({ url, schema, pool, engine, read });
  } catch (error) {
    throw translateError(error);
  } finally {
    await pool.end();
  }
}

/** The database that was named: by option, by environment, or by a `millrace dev` that runs in this folder. */
export function databaseUrl(options: Options): string {
  const url = options.given("url") ?? (process.env["DATABASE_URL"] || devUrl());
  if (!url)
    throw new UsageError("no database given", 'set DATABASE_URL, pass --url, or run "millrace dev" in this folder');
  if (url.includes("://") && !URL.canParse(url)) {
    throw new UsageError(
      "the database's URL cannot be understood",
      "write postgres://user:password@host:5432/database, and % escapes in the password",
    );
  }
  return url;
}
