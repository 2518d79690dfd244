import { beforeAll, describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { claimOne, enqueue, idsOf, jobOf, newQueue, stateOf } from "../support/jobs.js";

const db = useDatabase();
const terminal = ["succeeded", "failed", "expired", "cancelled"];
const live = ["delayed", "ready", "running", "blocked"];

describe("the store", () => {
  it("has exactly one job with an id of its own per enqueue [#2]", async () => {
    const queue = await newQueue(db);
    const ids = [
      ...idsOf(await db.engine.enqueueMany("work", Array.from({ length: 500 }), { queue })),
      ...idsOf(
        await db.engine.enqueueEach(
          Array.from({ length: 300 }, (_, i) => ({
            type: `type-${i % 3}`,
            queue,
            ...(i % 2 ? { delaySeconds: 60 } : {}),
          })),
        ),
      ),
      ...(await Promise.all(Array.from({ length: 200 }, () => enqueue(db, queue)))),
    ];
    expect(new Set(ids).size).toBe(1000);
    const rows = await db.sql<{ id: string }>("select id::text from jobs where queue = $1 order by id", [queue]);
    expect(idsOf(rows)).toEqual([...ids].sort());
  });

  it("shows each job's state, attempts, times and last error by id [#2]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue);
    expect(await jobOf(db, id)).toMatchObject({
      state: "ready",
      attempts: 0,
      createdAt: expect.any(Date),
      updatedAt: expect.any(Date),
      lastAttemptAt: null,
      lastError: null,
    });
    const job = await claimOne(db, queue);
    await db.engine.retryLater(job, { message: "out of paper" }, 60);
    expect(await jobOf(db, id)).toMatchObject({
      state: "delayed",
      attempts: 1,
      lastAttemptAt: job.claimedAt,
      lastError: { message: "out of paper" },
    });
    expect(await db.engine.get("1")).toBeNull();
  });

  it("tells a job being executed from one that waits, until it has finished [#4]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue, { delaySeconds: 60 });
    const seen = [await stateOf(db, id)];
    await db.moveClock(60);
    seen.push(await stateOf(db, id));
    await db.engine.queuePause(queue);
    seen.push(await stateOf(db, id));
    await db.engine.queueResume(queue);
    const job = await claimOne(db, queue);
    seen.push(await stateOf(db, id));
    await db.engine.retryLater(job, undefined, 60);
    seen.push(await stateOf(db, id));
    await db.moveClock(60);
    const again = await claimOne(db, queue);
    await db.engine.release(again);
    seen.push(await stateOf(db, id));
    expect(seen).toEqual(["delayed", "ready", "blocked", "running", "delayed", "ready"]);
    await db.engine.complete(await claimOne(db, queue));
    expect(terminal).toContain(await stateOf(db, id));
  });

  it("shows a job whose lease has ended as running, but to be taken back [#4] [#3]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue);
    await claimOne(db, queue, { leaseSeconds: 10 });
    expect(await jobOf(db, id)).toMatchObject({ state: "running", leaseEnded: false });
    await db.moveClock(10);
    expect(await jobOf(db, id)).toMatchObject({ state: "running", leaseEnded: true });
  });
});

/** What the rows of a job say, one value of each dimension; the fixture holds every combination. */
interface Combination {
  readonly id: string;
  readonly attempt: "none" | "failed" | "final succeeded" | "final failed" | "final expired" | "final cancelled";
  readonly attempt_ended: "before the purge" | "after the purge";
  readonly amendment:
    | "none"
    | "plain"
    | "revived before the purge"
    | "revived after the purge"
    | "cancelled"
    | "expired"
    | "start_by past"
    | "start_by future";
  readonly claim: "none" | "live" | "ended";
  readonly agenda: "none" | "past" | "future" | "held";
  readonly start_by: "none" | "past" | "future";
  readonly queue_paused: boolean;
  readonly lane_purged: boolean;
}

describe("every combination of what can be stored about a job", () => {
  // 2 finished attempts of 3, so that "revived after the second" means that both do not count any more
  const fixture = `
    create table public.combination as
    select (select job_id_at(clock_now() - interval '1 hour')) + row_number() over () as id, *
      from unnest(array['none', 'failed', 'final succeeded', 'final failed', 'final expired', 'final cancelled']) attempt,
           unnest(array['before the purge', 'after the purge']) attempt_ended,
           unnest(array['none', 'plain', 'revived before the purge', 'revived after the purge', 'cancelled', 'expired', 'start_by past', 'start_by future']) amendment,
           unnest(array['none', 'live', 'ended']) claim, unnest(array['none', 'past', 'future', 'held']) agenda,
           unnest(array['none', 'past', 'future']) start_by, unnest(array[false, true]) queue_paused, unnest(array[false, true]) lane_purged
     where attempt_ended = 'before the purge' or (attempt <> 'none' and lane_purged);

    insert into queue (name, paused_at) values ('combination-false', null), ('combination-true', clock_now());
    insert into job (id, xid, run_at, start_by, queue_id, max_attempts, slot, priority, type)
    select c.id, xid_now(), job_created_at(c.id), clock_now() + case c.start_by when 'past' then interval '-1 s' when 'future' then interval '1 day' end,
           q.id, 3, job_slot(c.id), 5, case when c.lane_purged then 'purged' else 'kept' end
      from public.combination c join queue q on q.name = 'combination-' || c.queue_paused;
    insert into attempt (job_id, slot, attempt, started_at, finished_at, outcome, state)
    select id, job_slot(id), n, clock_now() - interval '31 minutes',
           clock_now() - case when attempt_ended = 'before the purge' then interval '30 minutes' else interval '10 minutes' end,
           (case when n = 1 then 'failed' else replace(attempt, 'final ', '') end)::job_outcome,
           case when n = 2 and attempt like 'final %' then replace(attempt, 'final ', '')::job_final_state end
      from public.combination cross join generate_series(1, 2) n where attempt <> 'none';
    insert into amendment (job_id, slot, revived_after, revived_at, closed_at, closed_as, start_by, updated_at)
    select id, job_slot(id), case when amendment like 'revived%' then 2 else 0 end,
           clock_now() - case amendment when 'revived before the purge' then interval '25 minutes' when 'revived after the purge' then interval '15 minutes' end,
           case when amendment in ('cancelled', 'expired') then clock_now() end, case when amendment in ('cancelled', 'expired') then amendment::job_final_state end,
           clock_now() + case amendment when 'start_by past' then interval '-1 s' when 'start_by future' then interval '1 day' end, clock_now()
      from public.combination where amendment <> 'none';
    insert into claim (token, lane, slot, jobs, attempts, started_at, touched_at, until)
    select gen_random_uuid(), 0, 0, array_agg(id), array_agg(3), clock_now(), clock_now(), clock_now() + case claim when 'live' then interval '1 day' else interval '-1 s' end
      from public.combination where claim <> 'none' group by claim, id / 1000;
    insert into agenda (job_id, due_at, lane, track, attempt, created_at)
    select id, case agenda when 'held' then 'infinity' when 'past' then clock_now() - interval '1 s' else clock_now() + interval '1 day' end, 0, 0, 3, clock_now()
      from public.combination where agenda <> 'none';`;
  const purge = `
    insert into lane_purge (lane, snapshot, own_xid, own_job, purged_at)
    select lane_key(id, 'purged', 5, null), pg_current_snapshot(), 0, 0, clock_now() - interval '20 minutes' from queue where name like 'combination-%'`;

  let seen: (Combination & {
    view: string;
    fn: string;
    lease_ended: boolean;
    rows: number;
    complete: boolean;
    ordered: boolean;
  })[];

  beforeAll(async () => {
    await db.sql(fixture);
    await db.sql(purge); // in a transaction of its own, so that its snapshot sees the jobs
    seen = await db.sql(`
      select c.*, v.state as view, job_state(c.id) as fn, v.lease_ended, count(*) over (partition by c.id)::int as rows,
             num_nulls(v.state, v.attempts, v.run_at, v.created_at, v.updated_at) = 0 as complete, v.created_at <= v.updated_at as ordered
        from public.combination c left join jobs v on v.id = c.id`);
  });

  /** The order of precedence, said once more in other words. */
  function expectedState(c: Combination): string {
    if (c.attempt.startsWith("final") && !c.amendment.startsWith("revived")) return c.attempt.slice("final ".length);
    if (c.amendment === "cancelled" || c.amendment === "expired") return c.amendment;
    if (c.claim !== "none") return "running";
    const outlivesPurge =
      c.amendment === "revived after the purge" || (c.attempt !== "none" && c.attempt_ended === "after the purge");
    if (c.lane_purged && !outlivesPurge) return "cancelled";
    if (c.agenda === "future" || c.agenda === "held") return "delayed";
    const startBy = c.amendment.startsWith("start_by") ? c.amendment.slice("start_by ".length) : c.start_by;
    if (startBy === "past") return "expired";
    return c.queue_paused ? "blocked" : "ready";
  }

  it("is one job in exactly one state, the same from the view and from the function [#3]", () => {
    expect(seen.length).toBe((6 + 11) * 8 * 3 * 4 * 3 * 2);
    expect(seen.filter((c) => c.rows !== 1 || c.view !== c.fn || c.view !== expectedState(c)).slice(0, 5)).toEqual([]);
    expect(new Set(seen.map((c) => c.view))).toEqual(new Set([...live, ...terminal]));
  });

  it("is to be taken back exactly when its lease has ended [#3]", () => {
    expect(seen.filter((c) => c.lease_ended !== (c.claim === "ended")).slice(0, 5)).toEqual([]);
  });

  it("has a state, attempts, run time, created and updated time, in this order [#56]", () => {
    expect(seen.filter((c) => !c.complete || !c.ordered).slice(0, 5)).toEqual([]);
  });
});

describe("what is stored of a job", () => {
  it("cannot lack what its state and times are derived from [#56]", async () => {
    const nullable = await db.sql(`
      select attrelid::regclass::text || '.' || attname as column from pg_attribute
       where not attnotnull and (attrelid, attname) in (values
         ('job'::regclass, 'id'), ('job', 'run_at'), ('job', 'queue_id'), ('job', 'max_attempts'), ('attempt', 'attempt'), ('attempt', 'outcome'), ('attempt', 'finished_at'),
         ('claim', 'jobs'), ('claim', 'started_at'), ('claim', 'touched_at'), ('claim', 'until'), ('agenda', 'due_at'), ('agenda', 'attempt'), ('amendment', 'updated_at'))`);
    expect(nullable).toEqual([]);
  });
});
