import pg from "pg";
import { Engine } from "../../src/db/engine.js";
import { migrate } from "../../src/db/migrate.js";
import type { CallOptions } from "../../src/db/foreign.js";
import type { ConnectionPool } from "../../src/db/queryable.js";
import { type EmbeddedServer, startEmbeddedServer } from "../../src/embedded/server.js";
import { inDatabase, onServer } from "../support/server.js";
import { Clock } from "./clock.js";
import { smallRings } from "./ring.js";
import type { Session } from "./verbs.js";

/** The tables that combinations leave something in, in an order that suits their references. */
const emptied =
  "job attempt streak amendment decision fingerprint ticket lane_cursor aside lane_purge claim agenda snooze postponed tally lane_depth scout lane bucket breaker_event pause group_setting resource queue_event step";

/** No verb takes longer than this; one that does is a finding. */
const patienceMs = 15_000;

/** One connection that can stand for a pool, so that what an engine has prepared is known wherever it asks. */
function poolOf(client: pg.Client): ConnectionPool {
  const query: ConnectionPool["query"] = (text) => client.query(text);
  return { query, connect: () => Promise.resolve({ query, release: () => {} }) };
}

/** Somebody who calls verbs, in a transaction or not. */
export class Actor implements Session {
  readonly client: pg.Client;
  readonly engine: Engine;
  readonly besideClient: pg.Client;
  readonly beside: Engine;
  readonly pids: readonly number[];
  isInTransaction = false;
  #prepared = 0;

  private constructor(client: pg.Client, besideClient: pg.Client, pids: readonly number[]) {
    this.client = client;
    this.engine = new Engine({ pool: poolOf(client) });
    this.besideClient = besideClient;
    this.beside = new Engine({ pool: poolOf(besideClient) });
    this.pids = pids;
  }

  static async make(client: pg.Client, besideClient: pg.Client): Promise<Actor> {
    const pidOf = async (of: pg.Client): Promise<number> =>
      Number((await of.query("select pg_backend_pid() as pid")).rows[0].pid);
    return new Actor(client, besideClient, [await pidOf(client), await pidOf(besideClient)]);
  }

  get call(): CallOptions {
    return this.isInTransaction ? { tx: this.client } : {};
  }

  async begin(isolation: "read committed" | "repeatable read"): Promise<void> {
    await this.client.query(`begin isolation level ${isolation}`);
    this.isInTransaction = true;
  }

  async end(how: "commit" | "rollback"): Promise<void> {
    this.isInTransaction = false;
    await this.client.query(how);
  }

  /** False when the server cannot prepare it, because it has notified somebody; then it is rolled back. */
  async prepare(): Promise<boolean> {
    this.isInTransaction = false;
    this.#prepared += 1;
    try {
      await this.client.query(`prepare transaction '${this.#gid}'`);
      return true;
    } catch (error) {
      if ((error as { code?: string }).code !== "0A000") throw error;
      return false;
    }
  }

  async endPrepared(how: "commit" | "rollback"): Promise<void> {
    await this.client.query(`${how} prepared '${this.#gid}'`);
  }

  get #gid(): string {
    return `product-${this.pids[0]}-${this.#prepared}`;
  }
}

/** A server of its own, and in it one database after another: old ones grow, and their clock runs out of years. */
export class Stage {
  /** Who calls the first, the second and the third verb. */
  a!: Actor;
  b!: Actor;
  c!: Actor;
  /** Sets scenes, works and maintains. */
  keeper!: Actor;
  clock!: Clock;
  watcher!: pg.Client;
  /** How many ring children of tickets were emptied so far. */
  emptied = 0;
  readonly #server: EmbeddedServer | undefined;
  readonly #url: string;
  readonly canPrepare: boolean;
  #clients: pg.Client[] = [];
  #databases = 0;
  readonly #name: string;

  private constructor(server: EmbeddedServer | undefined, url: string, canPrepare: boolean, name: string) {
    this.#server = server;
    this.#url = url;
    this.canPrepare = canPrepare;
    this.#name = name;
  }

  /**
   * With a server of its own, because transactions of others would keep queues from finishing; DATABASE_URL names
   * another one.
   */
  static async open(): Promise<Stage> {
    const given = process.env["DATABASE_URL"];
    // As everywhere, longer than rotation and compaction wait for a table (200 ms): they give way, and are not taken
    // for a deadlock.
    const settings = {
      fsync: "off",
      max_connections: "60",
      max_prepared_transactions: "10",
      deadlock_timeout: "450ms",
      autovacuum: "off",
    };
    const server = given ? undefined : await startEmbeddedServer({ settings });
    const url = server?.url ?? given!;
    const name = `product_${process.pid}_${Date.now().toString(36)}_${Math.floor(Math.random() * 1e6)}`;
    await onServer(url, `create database ${name}`);
    const client = new pg.Client({
      connectionString: inDatabase(url, name),
      options: "-c search_path=millrace,public",
    });
    await client.connect();
    await migrate(poolOf(client), { release: smallRings() });
    await Clock.install(client);
    // An hour instead of days, so that the ids, which end in 2091, are enough for many combinations.
    const engine = new Engine({ pool: poolOf(client) });
    const hour = 3600;
    await engine.cellPut({
      retentionSucceededSeconds: hour,
      retentionFailedSeconds: hour,
      retentionExpiredSeconds: hour,
      retentionCancelledSeconds: hour,
    });
    const { rows } = await client.query("select current_setting('max_prepared_transactions')::int > 0 as can");
    await client.end();
    const stage = new Stage(server, url, rows[0].can as boolean, name);
    await stage.renew();
    return stage;
  }

  async close(): Promise<void> {
    await this.#leave();
    if (this.#server) await this.#server.stop("immediate");
    else await onServer(this.#url, `drop database if exists ${this.#name} with (force)`);
  }

  /** A new database, as on the first day. */
  async renew(): Promise<void> {
    await this.#leave();
    this.#databases += 1;
    const database = `${this.#name}_${this.#databases}`;
    await onServer(this.#url, `create database ${database} template ${this.#name}`);
    const connect = async (): Promise<pg.Client> => {
      const client = new pg.Client({
        connectionString: inDatabase(this.#url, database),
        options: `-c search_path=millrace,public -c statement_timeout=${patienceMs}`,
      });
      client.on("error", () => {});
      await client.connect();
      this.#clients.push(client);
      return client;
    };
    this.watcher = await connect();
    // the view reads 100 tables: planning it takes longer than running it
    await this.watcher.query("set plan_cache_mode = force_generic_plan");
    const actor = async (): Promise<Actor> => Actor.make(await connect(), await connect());
    [this.a, this.b, this.c, this.keeper] = [await actor(), await actor(), await actor(), await actor()];
    this.clock = new Clock(this.keeper.client);
  }

  /**
   * Make the database empty again, so that a combination does alone what it does after others, and what goes wrong
   * spoils nothing. `phase` sets what depends on counters: the number of the queue, and with it the order of lanes, and
   * where in the ring of tickets the next transaction is. It is noon then: no combination crosses midnight by chance.
   */
  async clear(phase: number): Promise<void> {
    await this.clock.moveToMidnight(43_200);
    await this.keeper.client.query(`
      do $$ begin
        ${emptied
          .split(" ")
          .map((table) => `delete from ${table};`)
          .join("\n")}
        insert into lane_cursor (track, seq, head_xid) values (notice_track(), 1, pg_current_xact_id()::text::bigint);
        delete from queue where name <> 'default';
        update ring set survivors = 0 where survivors > 0;
        update expiry_sweep set swept_until = clock_now() - interval '1 minute', candidate = clock_now(), candidate_xid = pg_snapshot_xmax(pg_current_snapshot())::text::bigint;
        perform setval('queue_id_seq', ${10 + (phase % 1000)});
        commit;
        while (pg_current_xact_id()::text::bigint & 63) <> ${(phase >>> 10) & 63} loop
          commit;
        end loop;
      end $$`);
  }

  async #leave(): Promise<void> {
    if (this.#databases === 0) return;
    await Promise.all(this.#clients.map((client) => client.end().catch(() => {})));
    this.#clients = [];
    const database = `${this.#name}_${this.#databases}`;
    const client = new pg.Client({ connectionString: inDatabase(this.#url, database) });
    await client.connect();
    for (const { gid } of (
      await client.query<{ gid: string }>("select gid from pg_prepared_xacts where database = current_database()")
    ).rows) {
      await client.query(`rollback prepared '${gid}'`);
    }
    await client.end();
    await onServer(this.#url, `drop database if exists ${database} with (force)`);
  }

  async query<Row extends pg.QueryResultRow>(name: string, text: string, values: unknown[]): Promise<Row[]> {
    return (await this.watcher.query<Row>({ name, text, values })).rows;
  }

  /**
   * True as soon as the call of somebody waits for a lock, false when it has ended. Asks the server, so that a slow
   * machine is not taken for a wait, and asks twice, so that a moment's wait for a page is not either.
   */
  async endsOrWaits(call: Promise<unknown>, { pids }: Actor): Promise<boolean> {
    let hasEnded = false;
    let looks = 0;
    const ended = call.then(() => void (hasEnded = true));
    for (const giveUpAt = Date.now() + patienceMs; Date.now() < giveUpAt;) {
      await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 3))]);
      if (hasEnded) return false;
      const [row] = await this.query<{ waits: boolean }>(
        "waits",
        "select bool_or(wait_event_type = 'Lock' and cardinality(pg_blocking_pids(pid)) > 0) as waits from pg_stat_activity where pid = any ($1)",
        [pids],
      );
      looks = row!.waits ? looks + 1 : 0;
      if (!hasEnded && looks === 2) return true;
    }
    throw new Error("a verb neither ended nor waited for a lock");
  }

  async inTime<T>(what: string, work: Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>(
      (_, reject) => (timer = setTimeout(() => reject(new Error(what)), patienceMs + 5000)),
    );
    try {
      return await Promise.race([work, late]);
    } finally {
      clearTimeout(timer);
    }
  }
}
