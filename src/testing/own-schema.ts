import { randomBytes } from "node:crypto";
import pg from "pg";
import { InvalidArgumentError } from "../db/errors.js";
import { checkSchemaName } from "../db/schema-name.js";

/** What a schema of ours says of itself. Only what says so is ever dropped. */
const mark = "made by createTestMill";
const prefix = "millrace_test_";

/**
 * A schema that was made for one test, on a server that others may use. A lock of its own connection says that the test
 * still runs; whatever ends the process ends the lock.
 */
export class OwnSchema {
  readonly #keeper: pg.Client;

  private constructor(
    keeper: pg.Client,
    readonly name: string,
  ) {
    this.#keeper = keeper;
  }

  /** Make a schema: of this name, or of a name nobody has. */
  static async make(url: string, given: string | undefined): Promise<OwnSchema> {
    const name = checkSchemaName(given ?? prefix + randomBytes(8).toString("hex"));
    const keeper = new pg.Client({ connectionString: url });
    keeper.on("error", () => {}); // the test hears it from the connections it uses
    await keeper.connect();
    try {
      await keeper.query("set lock_timeout = '30s'; set client_min_messages = 'warning'");
      if (given === undefined) await dropLeftovers(keeper);
      await makeSchema(keeper, name);
    } catch (error) {
      await keeper.end();
      throw error;
    }
    return new OwnSchema(keeper, name);
  }

  /** Drop it with all there is in it. */
  async drop(): Promise<void> {
    try {
      await this.#keeper.query(`drop schema ${this.name} cascade`);
    } finally {
      await this.#keeper.end();
    }
  }
}

async function makeSchema(keeper: pg.Client, name: string): Promise<void> {
  const isFree = await tryLock(keeper, name);
  const { rows } = await keeper.query<{ isOurs: boolean }>(
    `select coalesce(starts_with(obj_description(oid, 'pg_namespace'), $2), false) as "isOurs"
       from pg_namespace where nspname = $1`,
    [name, mark],
  );
  if (rows[0]?.isOurs === false)
    throw new InvalidArgumentError(
      `the schema "${name}" was not made by createTestMill, which leaves it as it is`,
      "leave `schema` out, or give a name that nobody uses",
    );
  if (!isFree)
    throw new InvalidArgumentError(
      `another test uses the schema "${name}"`,
      "leave `schema` out, so that each test has its own, or close the other test first",
    );
  const drop = rows.length === 0 ? "" : `drop schema ${name} cascade;`; // of a test that was killed
  await keeper.query(
    `begin; ${drop} create schema ${name};
     do $$ begin execute format('comment on schema ${name} is %L', '${mark} at ' || now()); end $$; commit`,
  );
}

/**
 * Schemas of tests that were killed. Only after a day: behind a pooler that lends its connections out by transaction
 * the lock of a test says nothing.
 */
async function dropLeftovers(keeper: pg.Client): Promise<void> {
  const { rows } = await keeper.query<{ name: string }>(
    `select nspname as name from pg_namespace n, obj_description(n.oid, 'pg_namespace') as comment
      where starts_with(nspname, $1) and
            case when starts_with(comment, $2)
                 then substr(comment, length($2) + 1)::timestamptz < now() - interval '1 day' end`,
    [prefix, `${mark} at `],
  );
  for (const { name } of rows) {
    if (!(await tryLock(keeper, name))) continue;
    await keeper.query(`drop schema if exists ${name} cascade`);
    await keeper.query("select pg_advisory_unlock(hashtextextended($1, 0))", [lockName(name)]);
  }
}

async function tryLock(keeper: pg.Client, name: string): Promise<boolean> {
  const { rows } = await keeper.query<{ ok: boolean }>("select pg_try_advisory_lock(hashtextextended($1, 0)) as ok", [
    lockName(name),
  ]);
  return rows[0]!.ok;
}

const lockName = (schema: string): string => `millrace test ${schema}`;
