import type pg from "pg";

/**
 * Make what this session has read and written so far show in the server's statistics.
 * PostgreSQL 14 cannot be asked: a session reports at most every half second, and is shown numbers up to half a second old.
 */
export async function flushStatistics(session: pg.Client): Promise<void> {
  const { rows } = await session.query("select current_setting('server_version_num')::int >= 150000 as can_be_asked");
  if (rows[0].can_be_asked) {
    await session.query("select pg_stat_force_next_flush()");
  } else {
    await session.query("select pg_sleep(0.6)");
    await session.query("select pg_sleep(0.6)");
  }
}
