import { beforeAll, describe, expect, it } from "vitest";
import { day, moveClockToNoon } from "../support/clock.js";
import { useDatabase } from "../support/database.js";
import { enqueue, idsOf, newQueue, stateOf } from "../support/jobs.js";

const db = useDatabase();
beforeAll(() => moveClockToNoon(db));

const claim = (queue: string, limit = 1000) => db.engine.claim({ queues: [queue], limit, worker: "w" });
/** Streaks and single records that jobs lie in. */
const stored = async (ids: readonly string[]) => {
  const [row] = await db.sql(
    `select (select count(*)::int from attempt where job_id = any ($1)) as singles,
            (select array_agg(length order by first_place) from streak s
              where exists (select from unnest($1::bigint[]) id where job_place(id) between s.first_place and s.first_place + s.length - 1)) as streaks`,
    [ids],
  );
  return row;
};
const attemptsOf = (ids: readonly string[]) =>
  db.sql(
    "select job_id::text as id, attempt, outcome, final_state, worker, result from attempts where job_id = any ($1) order by job_id, attempt",
    [ids],
  );
const succeeded = (id: string) => ({
  id,
  attempt: 1,
  outcome: "succeeded",
  final_state: "succeeded",
  worker: "w",
  result: null,
});

describe("the place of a job", () => {
  it("is next to that of the job one microsecond later, and tells the id", async () => {
    for (const id of [
      0n,
      1n,
      4095n,
      4096n,
      888_740_567_769_936_044n,
      9_223_372_036_854_771_711n,
      9_223_372_036_854_767_617n,
    ]) {
      const [row] = await db.sql(
        "select job_at(job_place($1))::text as id, job_place($1 + 4096) - job_place($1) as step",
        [id],
      );
      expect(row).toEqual({ id: String(id), step: "1" });
    }
  });
});

describe("jobs that were enqueued together and succeeded together", () => {
  it("share one record, and each has an attempt of its own to show [#85]", async () => {
    const queue = await newQueue(db);
    const ids = idsOf(await db.engine.enqueueMany("work", Array.from({ length: 300 }), { queue }));
    const jobs = await claim(queue);
    await db.moveClock(3);
    await db.engine.completeMany(jobs[0]!.token, idsOf(jobs));
    expect(await stored(ids)).toEqual({ singles: 0, streaks: [300] });
    expect(await attemptsOf(ids)).toEqual(ids.map(succeeded));
    const { job, attempts } = (await db.engine.get(ids[150]!))!;
    expect(job).toMatchObject({ state: "succeeded", attempts: 1, worker: "w", lastAttemptAt: jobs[0]!.claimedAt });
    expect(attempts).toHaveLength(1);
    expect(attempts[0]!.finishedAt.getTime() - attempts[0]!.startedAt.getTime()).toBeGreaterThanOrEqual(3000);
    expect(await db.sql("select state, count(*)::int from jobs where queue = $1 group by state", [queue])).toEqual([
      { state: "succeeded", count: 300 },
    ]);
  });

  it("do not cover what lies between them: failed, running and waiting jobs, jobs with a result, neighbours from other enqueues [#85]", async () => {
    const queue = await newQueue(db);
    const ids = idsOf(await db.engine.enqueueMany("work", Array.from({ length: 12 }), { queue }));
    const others = await Promise.all([1, 2, 3].map(() => enqueue(db, queue)));
    const jobs = await db.engine.claim({ queues: [queue], limit: 10, worker: "w" });
    const token = jobs[0]!.token;
    await db.engine.fail(jobs[2]!, { message: "no" });
    await db.engine.complete(jobs[5]!, { answer: 42 });
    await db.engine.completeMany(
      token,
      idsOf(jobs).filter((_, i) => ![2, 5, 8].includes(i)),
    );
    // 0 1 . 3 4 . 6 7 . 9: the last alone is no streak
    expect(await stored(ids)).toEqual({ singles: 3, streaks: [2, 2, 2] });
    expect(await Promise.all(ids.map((id) => stateOf(db, id)))).toEqual(
      ids.map((_, i) => (i === 2 ? "failed" : i === 8 ? "running" : i >= 10 ? "ready" : "succeeded")),
    );
    expect(await Promise.all(others.map((id) => stateOf(db, id)))).toEqual(["ready", "ready", "ready"]);
    expect((await db.engine.get(ids[5]!))!.job.result).toEqual({ answer: 42 });
  });

  it("leave out those that needed a second attempt [#85]", async () => {
    const queue = await newQueue(db, { retry: 0 });
    const ids = idsOf(await db.engine.enqueueMany("work", [1, 2, 3, 4], { queue }));
    const [, second] = await claim(queue);
    await db.engine.retryLater(second!, { message: "again" });
    await db.sql("select job_release($1)", [second!.token]);
    const jobs = await claim(queue);
    expect(idsOf(jobs)).toEqual(ids);
    await db.engine.completeMany(jobs[0]!.token, ids);
    expect(await stored(ids)).toEqual({ singles: 3, streaks: [2] });
    expect(
      (await attemptsOf(ids)).map(({ id, attempt, outcome }) => `${ids.indexOf(id as string)} ${attempt} ${outcome}`),
    ).toEqual(["0 1 succeeded", "1 1 failed", "1 2 succeeded", "2 1 succeeded", "3 1 succeeded"]);
  });

  it("are never taken for neighbours because their ids lie at equal distances [#85]", async () => {
    // x and x + 2 µs with somebody else's job between them have the distance of neighbours but one, and the positions
    // too
    const queue = await newQueue(db);
    const [first] = await db.engine.enqueueMany("work", [1], { queue });
    const x = BigInt(first!.id);
    const [lane] = await db.sql(
      "select lane_key(j.queue_id, j.type, j.priority, j.resources)::text as key from job j where id = $1",
      [first!.id],
    );
    const between = [x + (1n << 12n) + 1n - (x & 1n) * 2n, x + (2n << 12n)].map(String);
    for (const id of between) {
      await db.sql(
        "insert into job select (jsonb_populate_record(j, jsonb_build_object('id', $2::bigint))).* from job j where j.id = $1",
        [first!.id, id],
      );
      await db.sql("select tickets_append($1, $1, array[$2::bigint], 1, 0, false)", [lane!["key"], id]);
    }
    const jobs = await claim(queue);
    expect(idsOf(jobs)).toEqual([first!.id, ...between]);
    await db.engine.completeMany(jobs[0]!.token, idsOf(jobs));
    expect(await stored(idsOf(jobs))).toEqual({ singles: 3, streaks: null });
    expect(await attemptsOf(idsOf(jobs))).toEqual(idsOf(jobs).map(succeeded));
  });

  it("tell the same as records of their own would, whatever part of them is reported when", async () => {
    const queue = await newQueue(db);
    let seed = 20_261_116;
    const random = (n: number) => (seed = (seed * 48_271) % 2_147_483_647) % n;
    const done = new Set<string>();
    const all: string[] = [];
    for (let round = 0; round < 12; round += 1) {
      all.push(...idsOf(await db.engine.enqueueMany("work", Array.from({ length: 1 + random(60) }), { queue })));
      const jobs = await claim(queue, 1 + random(80));
      for (let part = 0; part < 3; part += 1) {
        const some = idsOf(jobs).filter((id) => !done.has(id) && random(3) > 0);
        if (some.length > 0) await db.engine.completeMany(jobs[0]!.token, some);
        for (const id of some) done.add(id);
      }
      if (idsOf(jobs).some((id) => !done.has(id))) await db.sql("select job_release($1)", [jobs[0]!.token]);
    }
    expect(await attemptsOf(all)).toEqual(all.filter((id) => done.has(id)).map(succeeded));
    const states = await db.sql(
      "select id::text, state, job_state(id) as alone from jobs where queue = $1 order by id",
      [queue],
    );
    expect(states).toEqual(
      all.map((id) => ({
        id,
        state: done.has(id) ? "succeeded" : "ready",
        alone: done.has(id) ? "succeeded" : "ready",
      })),
    );
    const [overlaps] = await db.sql(
      "select count(*)::int as n from streak a join streak b on a.slot = b.slot and a.first_place < b.first_place and a.first_place + a.length > b.first_place",
    );
    expect(overlaps).toEqual({ n: 0 });
  });
});

describe("the space of streaks", () => {
  it("is given back with their jobs; what stays of a day stays finished [#15]", async () => {
    const queue = await newQueue(db);
    await db.engine.cellPut({ retentionSucceededSeconds: 60 });
    const ids = idsOf(await db.engine.enqueueMany("work", [1, 2, 3, 4, 5, 6], { queue }));
    const early = await claim(queue, 3);
    await db.engine.completeMany(early[0]!.token, idsOf(early));
    await db.moveClock(day + 120);
    const late = await claim(queue);
    await db.engine.completeMany(late[0]!.token, idsOf(late));
    await db.engine.maintainSpace();
    expect(await db.sql("select id::text, state from jobs where queue = $1 order by id", [queue])).toEqual(
      ids.slice(3).map((id) => ({ id, state: "succeeded" })),
    );
    expect(await stored(ids)).toEqual({ singles: 3, streaks: null });
    await db.engine.cellPut({ retentionSucceededSeconds: null });
  });

  it("is given back too where too many jobs of a day live for it to be emptied [#15]", async () => {
    const queue = await newQueue(db);
    const ids = idsOf(await db.engine.enqueueMany("work", [1, 2, 3, 4], { queue }));
    const jobs = await claim(queue);
    await db.engine.completeMany(jobs[0]!.token, ids);
    const live = idsOf(await db.engine.enqueueMany("work", Array.from({ length: 10_001 }), { queue }));
    await db.moveClock(8 * day + 120);
    await db.engine.maintainSpace();
    expect(await db.sql("select state, count(*)::int from jobs where queue = $1 group by state", [queue])).toEqual([
      { state: "ready", count: live.length },
    ]);
    expect(await stored(ids)).toEqual({ singles: 0, streaks: null });
  });
});
