import type { World } from "./world.js";

export const daySeconds = 86_400;

/** Put a clock that can be moved in the place of the database's. Before any process starts. */
export async function useMovableClock(world: World): Promise<void> {
  await world.sql("create table chaos.clock as select interval '0' as ahead");
  await world.sql(`create or replace function millrace.clock_now() returns timestamptz language plpgsql volatile as
    $$ begin return clock_timestamp() + (select ahead from chaos.clock); end $$`);
}

export async function moveClock(world: World, seconds: number): Promise<void> {
  await world.sql("update chaos.clock set ahead = ahead + make_interval(secs => $1)", [seconds]);
}
