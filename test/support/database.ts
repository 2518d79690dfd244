import pg from "pg";
import { afterAll, beforeAll, inject } from "vitest";
import { Engine } from "../../src/db/engine.js";
import { migrate } from "../../src/db/migrate.js";
import { type EmbeddedServer, startEmbeddedServer } from "../../src/embedded/server.js";
import { inDatabase, onServer } from "./server.js";

/** A database of its own for one test file, with the schema installed. */
export interface TestDatabase {
  readonly url: string;
  readonly pool: pg.Pool;
  readonly engine: Engine;
  /** Run SQL with the schema on the search path. */
  sql<Row extends pg.QueryResultRow = Record<string, any>>(text: string, values?: unknown[]): Promise<Row[]>;
  /** A connection of its own, for interleavings; closed after the file. */
  connect(): Promise<pg.Client>;
  /** Move the database's clock by this many seconds from now on, for everybody. */
  moveClock(seconds: number): Promise<void>;
}

let created = 0;

/**
 * Create the database before the file's tests and drop it afterwards. With a server of its own where the transactions
 * of other files, which keep dead rows alive in the whole server, would spoil what is measured.
 */
export function useDatabase(options: { readonly migrate?: boolean; readonly ownServer?: boolean } = {}): TestDatabase {
  const name = `test_${process.pid}_${Date.now().toString(36)}_${(created += 1)}`;
  const clients: pg.Client[] = [];
  let url = "";
  let pool: pg.Pool | undefined;
  let engine: Engine | undefined;
  let serverUrl = "";
  let own: EmbeddedServer | undefined;

  beforeAll(async () => {
    if (options.ownServer && !process.env["DATABASE_URL"])
      own = await startEmbeddedServer({ settings: { fsync: "off" } });
    serverUrl = own?.url ?? inject("serverUrl");
    const copied = (options.migrate ?? true) && !own;
    await onServer(serverUrl, `create database ${name}${copied ? ` template ${inject("template")}` : ""}`);
    url = inDatabase(serverUrl, name);
    pool = new pg.Pool({ connectionString: url, max: 40, options: "-c search_path=millrace,public" });
    pool.on("error", () => {});
    // one that is just ending may still hear that its database is dropped
    pool.on("connect", (client) => client.on("error", () => {}));
    if ((options.migrate ?? true) && !copied) await migrate(pool);
    engine = new Engine({ pool });
  }, 60_000);

  afterAll(async () => {
    await Promise.all(clients.map((client) => client.end().catch(() => {})));
    await pool?.end();
    await onServer(serverUrl, `drop database if exists ${name} with (force)`);
    await own?.stop("immediate");
  });

  const existing = <T>(value: T | undefined): T => {
    if (value === undefined) throw new Error("the database exists only inside tests");
    return value;
  };
  return {
    get url() {
      return url;
    },
    get pool() {
      return existing(pool);
    },
    get engine() {
      return existing(engine);
    },
    async sql(text, values) {
      return (await existing(pool).query(text, values)).rows;
    },
    async connect() {
      const client = new pg.Client({ connectionString: url, options: "-c search_path=millrace,public" });
      client.on("error", () => {});
      await client.connect();
      clients.push(client);
      return client;
    },
    async moveClock(seconds) {
      await existing(pool).query(`
        create table if not exists public.test_clock (ahead interval not null);
        insert into public.test_clock select '0' where not exists (select from public.test_clock);
        create or replace function millrace.clock_now() returns timestamptz language plpgsql volatile as
          $$ begin return clock_timestamp() + (select ahead from public.test_clock); end $$;`);
      await existing(pool).query("update public.test_clock set ahead = ahead + make_interval(secs => $1)", [seconds]);
    },
  };
}
