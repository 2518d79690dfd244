import { expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { newQueue, stateOf } from "../support/jobs.js";

const db = useDatabase();

/** Break attempts of one type: as if something of such a job could not be worked with, whatever it is. */
async function breakType(type: string): Promise<void> {
  await db.sql(`create or replace function broken() returns trigger language plpgsql as $$
    begin
      if new.outcome = 'lost' and new.state is null and (select j.type from job j where j.id = new.job_id) = '${type}' then
        perform 1 / 0;
      end if;
      return new;
    end $$`);
  await db.sql("drop trigger if exists broken on attempt");
  await db.sql("create trigger broken before insert on attempt for each row execute function broken()");
}

it("a claim that cannot be taken back fails with its job, on record, and neither neighbours nor other queues notice", async () => {
  const queue = await newQueue(db);
  const other = await newQueue(db);
  await breakType("bad");
  const [bad] = await db.engine.enqueueMany("bad", [1], { queue });
  const good = await db.engine.enqueueMany("good", [1, 2], { queue });
  await db.sql("select * from job_claim(array[$1], null, 10, null, 1)", [queue]);
  await db.sql("update claim set until = clock_now() - interval '1 second'");
  const [waiting] = await db.engine.enqueueMany("t", [1], { queue: other });
  expect((await db.engine.claim({ queues: [other] })).map(({ id }) => id)).toEqual([waiting!.id]);
  await db.engine.maintain();
  expect(await stateOf(db, bad!.id)).toBe("failed");
  expect((await db.sql("select error from attempts where job_id = $1", [bad!.id]))[0]?.error).toMatchObject({
    code: "22012",
    message: expect.stringContaining("division by zero"),
  });
  for (const { id } of good) expect(await stateOf(db, id)).toBe("ready");
  await db.sql("drop trigger broken on attempt");
});

it("of several jobs of one claim only the bad one fails", async () => {
  const queue = await newQueue(db);
  const jobs = await db.engine.enqueueMany("t", [1, 2, 3], { queue });
  await db.sql("select * from job_claim(array[$1], null, 10, null, 1)", [queue]);
  await db.sql("update claim set until = clock_now() - interval '1 second'");
  await db.sql(`create or replace function broken() returns trigger language plpgsql as $$
    begin
      if new.job_id = ${jobs[1]!.id} and new.state is null then perform 1 / 0; end if;
      return new;
    end $$`);
  await db.sql("create trigger broken before insert on attempt for each row execute function broken()");
  await db.engine.maintain();
  expect(await Promise.all(jobs.map(({ id }) => stateOf(db, id)))).toEqual(["ready", "failed", "ready"]);
  await db.sql("drop trigger broken on attempt");
  expect(await db.sql("select * from counts_audit()")).toEqual([]);
});

it("a part of upkeep that fails does not keep the others from being done, and is told", async () => {
  const queue = await newQueue(db);
  const [job] = await db.engine.enqueueMany("t", [1], { queue, delaySeconds: 60 });
  await db.sql(
    "create function broken_fold() returns trigger language plpgsql as $$ begin perform 1 / 0; return null; end $$",
  );
  await db.sql("create trigger broken_fold before insert on lane_depth for each row execute function broken_fold()");
  await db.moveClock(120);
  const [{ done } = { done: null }] = await db.sql("select maintain() as done");
  expect(done).toMatchObject({ promoted: 1, failed: { folded: "division by zero" } });
  expect((await db.engine.claim({ queues: [queue] })).map(({ id }) => id)).toEqual([job!.id]);
  await db.sql("drop trigger broken_fold on lane_depth");
});
