import { describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { newQueue } from "../support/jobs.js";

// what others announce, lose or make due on a shared server sends a claim the general way
const db = useDatabase({ ownServer: true });

const spares = async (queue: string): Promise<string[]> =>
  (
    await db.sql(
      "select s.job_id::text as id from spare s join lane l on l.key = s.lane join queue q on q.id = l.queue_id where q.name = $1 order by s.job_id",
      [queue],
    )
  ).map(({ id }) => id as string);

/** Does a claim while somebody else waits for the lane. */
async function leaveSpares(queue: string, claim: () => Promise<unknown>): Promise<void> {
  const other = await db.connect();
  // as if the last claim had left something, too
  await db.sql(
    "update lane_cursor c set credit = 0 from lane l join queue q on q.id = l.queue_id where c.track = l.key and q.name = $1",
    [queue],
  );
  await other.query("begin");
  await other.query(
    "select pg_advisory_xact_lock_shared(lane_spares(l.key)) from lane l join queue q on q.id = l.queue_id where q.name = $1",
    [queue],
  );
  await claim();
  await other.query("rollback");
}

/** A queue with ten jobs, of which a claim took one while somebody else waited for the lane: the others are spares. */
async function queueWithSpares({ single = false } = {}): Promise<{ queue: string; left: string[] }> {
  const queue = await newQueue(db);
  if (single) for (let i = 0; i < 10; i += 1) await db.engine.enqueue({ type: "t", queue, input: i });
  else
    await db.engine.enqueueMany(
      "t",
      Array.from({ length: 10 }, (_, i) => i),
      { queue },
    );
  expect(await db.engine.claim({ queues: [queue], limit: 1 })).toHaveLength(1); // learns that it is plain
  await leaveSpares(queue, async () => {
    expect(await db.engine.claim({ queues: [queue], limit: 1 })).toMatchObject([{ input: 1 }]);
  });
  const left = await spares(queue);
  expect(left).toHaveLength(8);
  return { queue, left };
}

const claimAll = async (queue: string): Promise<string[]> => {
  const ids: string[] = [];
  for (;;) {
    const [job] = await db.engine.claim({ queues: [queue], limit: 1 });
    if (job === undefined) return ids;
    ids.push(job.id);
    await db.engine.complete(job);
  }
};

describe("what a claim leaves for others who wait for its lane", () => {
  it.each([false, true])(
    "is claimed first, in order, and counts as ready (enqueued one by one: %s)",
    async (single) => {
      const { queue, left } = await queueWithSpares({ single });
      expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 8 });
      await db.engine.enqueue({ type: "t", queue, input: "later" });
      const ids = await claimAll(queue);
      expect(ids.slice(0, 8)).toEqual(left);
      expect(ids).toHaveLength(9);
      expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0 });
    },
  );

  it("is taken without the lane while another claim has it", async () => {
    const { queue, left } = await queueWithSpares();
    const holder = await db.connect();
    await holder.query("begin");
    await holder.query(
      "select pg_advisory_xact_lock(lane_lock(l.key)) from lane l join queue q on q.id = l.queue_id where q.name = $1",
      [queue],
    );
    const taken = await Promise.all(left.map(() => db.engine.claim({ queues: [queue], limit: 1 })));
    expect(
      taken
        .flat()
        .map(({ id }) => id)
        .sort(),
    ).toEqual(left);
    await holder.query("rollback");
  });

  it("goes back when the claim that took it is undone", async () => {
    const { queue, left } = await queueWithSpares();
    const tx = await db.connect();
    await tx.query("begin");
    expect(await db.engine.claim({ queues: [queue], limit: 1 }, { tx })).toMatchObject([{ id: left[0] }]);
    const [other] = await db.engine.claim({ queues: [queue], limit: 1 }); // some other: those who wait begin anywhere
    expect(left.slice(1)).toContain(other!.id);
    await tx.query("rollback");
    expect(await claimAll(queue)).toEqual(left.filter((id) => id !== other!.id));
  });

  it("is told of with all that its job has", async () => {
    const queue = await newQueue(db);
    const options = { queue, headers: { trace: "a" }, maxAttempts: 3, fingerprint: `spare-${queue}` };
    await db.engine.enqueueMany("t", [0, 1], { queue });
    await db.engine.enqueue({ type: "t", input: { big: "1".repeat(100) }, ...options });
    const told = async () => {
      const [job] = await db.engine.claim({ queues: [queue], limit: 1 });
      await db.engine.complete(job!);
      return job!;
    };
    await told();
    await leaveSpares(queue, told);
    expect(await spares(queue)).toHaveLength(1);
    expect(await told()).toMatchObject({
      input: { big: "1".repeat(100) },
      headers: { trace: "a" },
      maxAttempts: 3,
      fingerprint: `spare-${queue}`,
      attempt: 1,
    });
  });

  it("is told of as it was changed since", async () => {
    const { queue, left } = await queueWithSpares();
    await db.sql("select job_amend($1, true, '\"changed\"', null, null)", [left[2]]);
    const inputs: unknown[] = [];
    for (let i = 0; i < left.length; i += 1) {
      const [job] = await db.engine.claim({ queues: [queue], limit: 1 });
      inputs.push(job!.input);
    }
    expect(new Set(inputs)).toEqual(new Set([2, 3, 5, 6, 7, 8, 9, "changed"]));
  });

  it("is not left where inputs are large", async () => {
    const queue = await newQueue(db);
    await db.engine.enqueueMany(
      "t",
      Array.from({ length: 5 }, () => "x".repeat(300_000)),
      { queue },
    );
    const told = () => db.engine.claim({ queues: [queue], limit: 1 });
    await told();
    await leaveSpares(queue, told);
    expect(await spares(queue)).toEqual([]);
    expect(await told()).toHaveLength(1);
  });

  it("can be cancelled: it is never handed out, and handed out again when the cancel is undone", async () => {
    const { queue, left } = await queueWithSpares();
    await db.engine.cancel([left[0]!]);
    const tx = await db.connect();
    await tx.query("begin");
    await db.engine.cancel([left[1]!], undefined, { tx });
    expect(await db.engine.claim({ queues: [queue], limit: 1 })).toMatchObject([{ id: left[2] }]);
    await tx.query("rollback");
    expect((await claimAll(queue)).sort()).toEqual([left[1], ...left.slice(3)]);
    expect(await db.engine.get(left[0]!)).toMatchObject({ job: { state: "cancelled" } });
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0 });
  });

  it("keeps to a pause of its queue", async () => {
    const { queue, left } = await queueWithSpares();
    await db.engine.queuePause(queue);
    expect(await db.engine.claim({ queues: [queue], limit: 1 })).toEqual([]);
    await db.engine.queueResume(queue);
    expect((await claimAll(queue)).sort()).toEqual(left);
  });

  it("is dropped by a purge", async () => {
    const { queue, left } = await queueWithSpares();
    expect(await db.engine.queuePurge(queue)).toBe(8);
    expect(await claimAll(queue)).toEqual([]);
    expect(await db.engine.get(left[3]!)).toMatchObject({ job: { state: "cancelled" } });
  });

  it("is found by claims of several queues, and by upkeep when no claim comes", async () => {
    const { queue, left } = await queueWithSpares();
    expect(await db.engine.claim({ queues: [queue, await newQueue(db)], limit: 1 })).toMatchObject([{ id: left[0] }]);
    expect(await spares(queue)).toEqual([]);
    const second = await queueWithSpares();
    await db.moveClock(2);
    await db.engine.maintain();
    expect(await spares(second.queue)).toEqual([]);
    expect((await claimAll(second.queue)).sort()).toEqual(second.left);
  });

  it.each([100, 1])("each job is handed out once by sixteen connections (enqueued by %s)", async (size) => {
    const queue = await newQueue(db);
    const jobs = 600;
    for (let i = 0; i < jobs; i += size) await db.engine.enqueueMany("t", Array.from({ length: size }), { queue });
    const seen: string[] = [];
    await db.sql(`
      create sequence if not exists public.test_spared minvalue 0 start 0;
      select setval('public.test_spared', 0);
      create or replace function public.test_spared() returns trigger language plpgsql as
        $$ begin perform nextval('public.test_spared'); return null; end $$;
      create or replace trigger test_spared after insert on spare execute function public.test_spared()`);
    await Promise.all(
      Array.from({ length: 16 }, async () => {
        for (;;) {
          const [job] = await db.engine.claim({ queues: [queue], limit: 1 });
          if (job === undefined && seen.length >= jobs) return;
          if (job === undefined) continue;
          seen.push(job.id);
          await db.engine.complete(job);
        }
      }),
    );
    expect(new Set(seen).size).toBe(jobs);
    expect(seen).toHaveLength(jobs);
    expect((await db.sql("select last_value::int as n from public.test_spared"))[0]!["n"]).toBeGreaterThan(0);
    expect(await db.engine.queueDepth(queue)).toMatchObject({ ready: 0 });
  });
});
