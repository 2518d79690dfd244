import type pg from "pg";
import type { TestDatabase } from "./database.js";

/** True as soon as some session waits for this one, false when the call has ended without that. */
export async function isBlocked(db: TestDatabase, call: Promise<unknown>, by: pg.Client): Promise<boolean> {
  const pid = await pidOf(by);
  let ended = false;
  const end = () => (ended = true);
  call.then(end, end);
  while (!ended) {
    if ((await db.sql("select from pg_stat_activity where $1 = any (pg_blocking_pids(pid))", [pid])).length > 0)
      return true;
  }
  return false;
}

export async function pidOf(client: pg.Client): Promise<number> {
  return (await client.query<{ pid: number }>("select pg_backend_pid() as pid")).rows[0]!.pid;
}
