import { beforeAll, describe, expect, it } from "vitest";
import { waitingRun } from "../../support/runs.js";
import { useServer } from "./server.js";

const server = useServer();

interface Batched {
  readonly count: number;
  readonly isExact: boolean;
  readonly next?: object;
}

const post = async (path: string, body: object): Promise<Batched> => (await server.ask("POST", `/${path}`, body)).body;

/** Ask until that was all, as a page does; the counts of all steps. */
async function all(path: string, body: object): Promise<number[]> {
  const counts: number[] = [];
  for (let next: object | undefined = body; next;) {
    const answer: Batched = await post(path, next);
    counts.push(answer.count);
    next = answer.next;
  }
  return counts;
}

/** How many in all: a look ends after two seconds, so how many steps it takes depends on the machine. */
const total = async (path: string, body: object): Promise<number> =>
  (await all(path, body)).reduce((sum, count) => sum + count, 0);

/** Jobs of a type that have failed, with an error of their own. */
async function failed(type: string, howMany: number, message: string, queue = "default"): Promise<void> {
  const inputs = Array.from({ length: howMany }, (_, n) => ({ n, who: n % 2 === 0 ? "Ann" : "Bob" }));
  await server.db.engine.enqueueMany(type, inputs, { queue });
  for (;;) {
    const claimed = await server.db.engine.claim({ queues: [queue], types: [type], limit: 1000, worker: "w" });
    if (claimed.length === 0) return;
    await server.db.engine.settle([
      {
        token: claimed[0]!.token,
        jobs: claimed.map(({ id }) => id),
        outcome: "failed",
        error: { message },
      },
    ]);
  }
}

describe("acts on all jobs that match", () => {
  beforeAll(async () => {
    await failed("charge", 2500, "the card was refused");
    await failed("mail", 30, "ETIMEDOUT");
  });

  it("says exactly how many it would touch, does them in steps, and a repetition finds nothing", async () => {
    const filter = { state: "failed", error: "CARD was", input: '"ann"' };
    expect(await total("jobs/retry", { filter, dryRun: true })).toBe(1250);
    const steps = await all("jobs/retry", { filter, limit: 500, because: "the bank is back" });
    expect(Math.max(...steps)).toBeLessThanOrEqual(500);
    expect(steps.reduce((sum, count) => sum + count, 0)).toBe(1250);
    expect(await total("jobs/retry", { filter })).toBe(0);
    expect((await server.ask("POST", "/jobs/count", { type: "charge", state: "ready" })).body.count).toBe(1250);
    const { items: entries } = (await server.ask("GET", "/audit?action=POST+/jobs/retry")).body;
    expect(entries[0]).toMatchObject({ action: "POST /jobs/retry", result: "done", who: "the-admin" });
    expect(entries.reduce((sum: number, { count }: { count: number }) => sum + count, 0)).toBe(1250);
    expect(entries[0].object).toBe(`jobs ${JSON.stringify(filter)}`);
    const [one] = (await server.ask("GET", "/jobs?type=charge&state=ready&limit=1")).body.items;
    expect((await server.ask("GET", `/jobs/${one.id}`)).body.decisions).toMatchObject([
      { action: "retry", by: "the-admin", because: "the bank is back" },
    ]);
  });

  it("finds by the kind of the error, which a job tells of itself", async () => {
    const { items } = (await server.ask("GET", "/failures?type=mail")).body;
    const [job] = (await server.ask("GET", "/jobs?type=mail&limit=1")).body.items;
    expect((await server.ask("GET", `/jobs/${job.id}`)).body.failure).toBe(items[0].fingerprint);
    const filter = { failure: items[0].fingerprint };
    expect(await total("jobs/discard", { filter, dryRun: true })).toBe(30);
  });

  it("says where to count on when one look was not enough, so that the sum is exact", async () => {
    await server.db.engine.queuePut("surges");
    await server.db.engine.enqueueMany(
      "surge",
      Array.from({ length: 10_020 }, () => ({})),
      { queue: "surges" },
    );
    const filter = { queue: "surges" };
    const first = await post("jobs/cancel", { filter, dryRun: true });
    expect(first).toMatchObject({ isExact: false, next: { filter, dryRun: true } });
    const counts = await all("jobs/cancel", { filter, dryRun: true });
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(10_020);
    await server.db.engine.queuePurge("surges");
  });

  it("spreads a retry over all of its steps", async () => {
    const filter = { type: "mail" };
    const startAt = "2099-01-01T00:00:00.000Z";
    expect(await total("jobs/retry", { filter, limit: 10, perSecond: 1, startAt })).toBe(30);
    const { items } = (await server.ask("GET", "/jobs?type=mail&limit=100")).body;
    const due = items.map(({ runAt }: { runAt: string }) => Date.parse(runAt) - Date.parse(startAt));
    expect(due.toSorted((a: number, b: number) => a - b)).toEqual(Array.from({ length: 30 }, (_, n) => n * 1000));
  });

  it("cancels what has not ended, whatever else it is asked for, and leaves alone what has", async () => {
    expect(await total("jobs/cancel", { filter: { queue: "default", text: "CHARGE" } })).toBe(1250);
    expect((await server.ask("POST", "/jobs/count", { type: "charge", state: "failed" })).body.count).toBe(1250);
    expect((await server.ask("POST", "/jobs/cancel", { filter: {} })).body).toMatchObject({ code: "MR001" });
  });

  it("discards what failed, once", async () => {
    const filter = { type: "charge", input: '{"n": 7}' };
    expect(await total("jobs/discard", { filter, dryRun: true })).toBe(1);
    expect(await total("jobs/discard", { filter, because: "no use" })).toBe(1);
    expect(await total("jobs/discard", { filter })).toBe(0);
    const { items } = (await server.ask("GET", "/jobs?type=charge&state=failed&limit=3")).body;
    const ids = items.map(({ id }: { id: string }) => id);
    expect(await total("jobs/discard", { ids, dryRun: true })).toBe(3);
    expect(await total("jobs/discard", { ids: [...ids, ids[0]] })).toBe(3);
    expect(await total("jobs/retry", { ids })).toBe(0);
  });

  it("acts on those that failed within a time, as they are listed", async () => {
    await failed("aged", 2, "once");
    const [{ lastAt }] = (await server.ask("GET", "/failures?type=aged")).body.items;
    await failed("aged", 3, "once");
    const since = new Date(Date.parse(lastAt) + 1).toISOString();
    const [{ fingerprint, jobs }] = (await server.ask("GET", `/failures?type=aged&since=${since}`)).body.items;
    expect(jobs).toBe(3);
    const filter = { type: "aged", state: "failed", failure: fingerprint, endedSince: since };
    expect(await total("jobs/discard", { filter, dryRun: true })).toBe(3);
    const retry = { fingerprint, type: "aged", since };
    expect(await total("failures/retry", { ...retry, dryRun: true })).toBe(3);
    expect(await total("failures/retry", { ...retry, since: undefined, until: since, dryRun: true })).toBe(2);
    expect(await total("jobs/discard", { filter: { ...filter, endedUntil: since }, dryRun: true })).toBe(0);
    expect(await total("jobs/discard", { filter })).toBe(3);
    expect(await total("failures/retry", retry)).toBe(0);
    expect(await total("failures/retry", { ...retry, since: undefined })).toBe(2);
  });

  it("leaves jobs of a finished queue alone when they are among those that match", async () => {
    const { engine } = server.db;
    await engine.queuePut("gone");
    await failed("late", 2, "no", "gone");
    await failed("late", 3, "no");
    await server.db.sql("update queue set closed_at = clock_now(), finished_at = clock_now() where name = 'gone'");
    expect(await total("jobs/retry", { filter: { type: "late" } })).toBe(3);
  });

  it("rewinds the runs that have done the step", async () => {
    await server.db.engine.queuePut("orders");
    const runs = [await waitingRun(server.db, "orders"), await waitingRun(server.db, "orders")];
    await server.db.engine.enqueue({ type: "order", queue: "orders" });
    const body = { filter: { type: "order" }, to: "charge" };
    expect(await total("jobs/rewind", { ...body, dryRun: true })).toBe(2);
    expect(await total("jobs/rewind", { ...body, because: "the price was wrong" })).toBe(2);
    for (const { id } of runs) {
      const { items } = (await server.ask("GET", `/jobs/${id}/steps`)).body;
      expect(items).toContainEqual(expect.objectContaining({ kind: "rewind", about: "charge" }));
    }
    expect(await total("jobs/rewind", body), "what is void was not done").toBe(0);
  });
});

describe("searching in inputs and free text", () => {
  it("finds parts whatever the case, what an input contains, and says how far it has looked", async () => {
    const { engine } = server.db;
    const { id } = await engine.enqueue({
      type: "index",
      group: "Größe",
      tenant: "Acme",
      input: { path: ["a", { b: "Needle in hay" }], n: 12 },
    });
    await engine.enqueue({ type: "index", input: "nothing" });
    const find = async (query: Record<string, string>): Promise<string[]> => {
      const { status, body } = await server.ask("GET", `/jobs?${new URLSearchParams(query).toString()}`);
      return status === 200 ? body.items.map((job: { id: string }) => job.id) : body.code;
    };
    expect(await find({ input: "needle IN" })).toEqual([id]);
    expect(await find({ input: '{"path": [{"b": "Needle in hay"}]}' })).toEqual([id]);
    expect(await find({ input: '{"n": "12"}' })).toEqual([]);
    expect(await find({ input: "{n}" })).toBe("MR001");
    for (const text of ["NEEDLE", "acme", "größe"]) expect(await find({ text, type: "index" }), text).toEqual([id]);
    expect(await find({ text: "etimedout", state: "failed", type: "mail" })).toEqual([]);
    const replaced = await engine.enqueue({ type: "index", fingerprint: "one", input: { was: "before" } });
    await engine.enqueue({ type: "index", fingerprint: "one", input: { is: "after" }, fingerprintMode: "replace" });
    expect(await find({ input: '"after"' })).toEqual([replaced.id]);
    expect(await find({ input: '"before"' })).toEqual([]);
    const short = await engine.server.find({ input: "no such thing", seconds: 0 });
    expect(short.ids).toEqual([]);
    expect(BigInt(short.next!), "a look that ends early says where").toBeGreaterThan(0n);
  });
});
