import type pg from "pg";

/**
 * The raw limit: the same rows in plain tables with their primary keys, and no queue. Batches travel as one JSON
 * parameter, which is also the fastest way we know for a plain INSERT from Node.
 */
export class RawTables {
  #next = 0;
  #read = 0;

  private constructor(readonly pool: pg.Pool) {}

  static async create(pool: pg.Pool): Promise<RawTables> {
    await pool.query(`
      create table raw_job (like millrace.job, primary key (id));
      create table raw_attempt (like millrace.attempt, primary key (job_id, attempt));`);
    return new RawTables(pool);
  }

  async insert(inputs: readonly unknown[]): Promise<void> {
    await this.pool.query({
      name: "raw-insert",
      text: `insert into raw_job (id, xid, run_at, queue_id, max_attempts, slot, priority, type, input)
             select $2::bigint + e.n, 1, now(), 1, 25, 0, 5, 'noop', e.value from json_array_elements($1) with ordinality e (value, n)`,
      values: [JSON.stringify(inputs), this.#next],
    });
    this.#next += inputs.length;
  }

  async readAndFinish(n: number): Promise<void> {
    const { rows } = await this.pool.query({
      name: "raw-read",
      text: "select json_agg(json_build_array(id::text, input)) as jobs from (select id, input from raw_job where id > $1 order by id limit $2) x",
      values: [this.#read, n],
    });
    const ids = (rows[0].jobs as [string, unknown][]).map(([id]) => id);
    await this.pool.query({
      name: "raw-finish",
      text: `insert into raw_attempt (job_id, started_at, finished_at, attempt, slot, outcome, state)
             select id, now(), now(), 1, 0, 'succeeded', 'succeeded' from unnest($1::bigint[]) id`,
      values: [`{${ids.join(",")}}`],
    });
    this.#read += n;
  }
}

/** The usual queue table: insert, update to claim, delete to finish. */
export class UpdateDeleteQueue {
  private constructor(readonly pool: pg.Pool) {}

  static async create(pool: pg.Pool): Promise<UpdateDeleteQueue> {
    await pool.query(`
      create table usual_job (
        id bigint generated always as identity primary key, queue text not null, type text not null, priority int not null, state text not null default 'ready',
        run_at timestamptz not null default now(), attempts int not null default 0, max_attempts int not null default 25, locked_until timestamptz,
        created_at timestamptz not null default now(), input json);
      create index on usual_job (queue, priority, run_at, id) where state = 'ready';`);
    return new UpdateDeleteQueue(pool);
  }

  async fill(inputs: string, atLeast: number): Promise<void> {
    for (let jobs = 0; jobs < atLeast; jobs += 1000)
      await this.pool.query(
        "insert into usual_job (queue, type, priority, input) select 'default', 'noop', 5, e from json_array_elements($1) e",
        [inputs],
      );
    await this.pool.query("vacuum analyze usual_job");
  }

  /** The claim of one that most queues on PostgreSQL have. Returns how many jobs it got. */
  async claimOne(): Promise<number> {
    const { rows } = await this.pool.query({
      name: "usual-claim-one",
      text: `update usual_job set state = 'running', attempts = attempts + 1, locked_until = now() + interval '30 s'
              where id = (select id from usual_job where state = 'ready' and queue = 'default' and run_at <= now()
                           order by priority, run_at, id limit 1 for update skip locked) returning id, input`,
    });
    return rows.length;
  }

  async clear(): Promise<void> {
    await this.pool.query("truncate usual_job");
  }

  async pass(inputs: string, n: number): Promise<void> {
    await this.pool.query(
      "insert into usual_job (queue, type, priority, input) select 'default', 'noop', 5, e from json_array_elements($1) e",
      [inputs],
    );
    const { rows } = await this.pool.query(
      `with next as materialized (select id from usual_job where state = 'ready' and queue = 'default' and run_at <= now() order by priority, run_at, id limit $1 for update skip locked)
       update usual_job j set state = 'running', attempts = attempts + 1, locked_until = now() + interval '30 s' from next where j.id = next.id returning j.id, j.input`,
      [n],
    );
    await this.pool.query("delete from usual_job where id = any ($1::bigint[])", [rows.map((row) => row.id as string)]);
  }
}
