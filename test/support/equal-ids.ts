import { onTestFinished } from "vitest";
import type { TestDatabase } from "./database.js";

/**
 * From now on, until the test ends, these databases make the same ids: their clocks stand at one time, and they count
 * on from one number.
 */
export async function makeIdsEqual(...dbs: readonly TestDatabase[]): Promise<void> {
  const shows = new Date().toISOString();
  for (const db of dbs) {
    onTestFinished(() => db.moveClock(0)); // it goes again
    await db.sql(`create or replace function millrace.clock_now() returns timestamptz language plpgsql volatile as
      $$ begin return timestamptz '${shows}'; end $$`);
    await db.sql("select setval('job_id_seq', 7, false)");
  }
}
