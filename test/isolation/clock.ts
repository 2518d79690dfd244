import type pg from "pg";

/**
 * The database's clock, moved by hand. How far it is ahead stands in a sequence, and not in a table as elsewhere: a
 * transaction with an old snapshot must see time pass too, and no transaction may end by that: an unlogged sequence is
 * set without a transaction number (a server before 15 has none such).
 */
export class Clock {
  readonly #client: pg.Client;

  constructor(client: pg.Client) {
    this.#client = client;
  }

  /** Put it into a database, once. */
  static async install(client: pg.Client): Promise<void> {
    const { rows } = await client.query("select current_setting('server_version_num')::int >= 150000 as can");
    await client.query(`
      create ${rows[0].can ? "unlogged" : ""} sequence public.test_ahead minvalue 0 start 0;
      create ${rows[0].can ? "unlogged" : ""} sequence public.test_crowd minvalue 0 start 64;
      create or replace function millrace.crowd_from() returns int language plpgsql stable as $$ begin return (select last_value from public.test_crowd); end $$;
      create or replace function millrace.clock_now() returns timestamptz language plpgsql volatile as
        $$ begin return clock_timestamp() + (select last_value from public.test_ahead) * interval '1 microsecond'; end $$;`);
  }

  /**
   * With more lanes than that a queue is crowded from now on: claims look at some of them by chance, and those that
   * have nothing may be put to rest.
   */
  async crowd(from: number): Promise<void> {
    await this.#client.query({ name: "crowd", text: "select setval('public.test_crowd', $1)", values: [from] });
  }

  /** Move it forward. Returns what it shows then. */
  async move(seconds: number): Promise<Date> {
    const { rows } = await this.#client.query({
      name: "move clock",
      text: "select clock_now() as now from (select setval('public.test_ahead', (select last_value from public.test_ahead) + $1::bigint)) x",
      values: [Math.round(seconds * 1e6)],
    });
    return rows[0].now as Date;
  }

  /** Move it forward to so many seconds from midnight (UTC); below 0: before it. Returns what it shows then. */
  async moveToMidnight(seconds: number): Promise<Date> {
    const { rows } = await this.#client.query({
      name: "move clock to midnight",
      text: `
        select clock_now() as now from (
          select setval('public.test_ahead', (select last_value from public.test_ahead) + ceil(x.target - x.now)::bigint * 1000000)
            from (select n.now, d.day + $1 + ceil(greatest(0, n.now - d.day - $1) / ${day}) * ${day} as target
                    from (select extract(epoch from clock_now())::float8 as now) n cross join lateral (select floor(n.now / ${day}) * ${day} as day) d) x) y`,
      values: [seconds],
    });
    return rows[0].now as Date;
  }
}

export const day = 86_400;
