import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { until } from "../../support/wait.js";
import { useServer } from "./server.js";

const server = useServer();

interface Claimed {
  readonly id: string;
  readonly token: string;
}

const queue = (name: string) => server.ask("PUT", `/queues/${name}`, {});
const enqueue = async (queue: string, more: object = {}): Promise<string> =>
  (await server.ask("POST", "/jobs", { type: "work", queue, ...more })).body.id;
const claim = async (queue: string, more: object = {}): Promise<Claimed[]> =>
  (await server.ask("POST", "/claims", { queues: [queue], ...more })).body.items;
const settle = ({ id, token }: Claimed, more: object) =>
  server.ask("POST", "/claims/settle", { settlements: [{ token, jobs: [id], outcome: "succeeded", ...more }] });

describe("over HTTP", () => {
  it("the depth of a queue: ready, delayed, running, and the age of the oldest; zeros when it is empty [#36]", async () => {
    await queue("depths");
    const depth = async () => (await server.ask("GET", "/queues/depths")).body.depth;
    expect(await depth()).toMatchObject({
      ready: 0,
      delayed: 0,
      running: 0,
      oldestReadyAt: null,
      oldestAgeSeconds: null,
    });
    for (let i = 0; i < 4; i += 1) await enqueue("depths");
    await enqueue("depths", { delaySeconds: 600 });
    const [first, second] = await claim("depths", { limit: 2 });
    await settle(first!, {});
    await server.db.moveClock(7);
    expect(await depth()).toMatchObject({ ready: 2, delayed: 1, running: 1 });
    expect((await depth()).oldestAgeSeconds).toBeGreaterThanOrEqual(7);
    await settle(second!, {});
  });

  it("running jobs are listed with worker, start, elapsed time, end of the lease and progress [#98]", async () => {
    await queue("long");
    const id = await enqueue("long");
    const [job] = await claim("long", { worker: "crane", leaseSeconds: 60 });
    expect(
      (await server.ask("POST", "/claims/progress", { token: job!.token, job: id, progress: { done: 3 } })).status,
    ).toBe(200);
    await server.db.moveClock(5);
    const running = async () =>
      (await server.ask("GET", "/running")).body.items.filter(({ queue }: { queue: string }) => queue === "long");
    const items = await running();
    expect(items).toMatchObject([
      { id, queue: "long", type: "work", attempt: 1, worker: "crane", progress: { done: 3 } },
    ]);
    expect(items[0].elapsedSeconds).toBeGreaterThanOrEqual(5);
    expect(Date.parse(items[0].leaseEndsAt) - Date.parse(items[0].startedAt)).toBe(60_000);
    await settle(job!, {});
    expect(await running()).toEqual([]);
  });

  it("finished jobs are found by state, type, time and key, in one place, at every moment once [#105]", async () => {
    await queue("history");
    const id = await enqueue("history", { type: "report", fingerprint: "report-7" });
    const found = async (query: string): Promise<string[]> =>
      (await server.ask("GET", `/jobs?queue=history&${query}`)).body.items.map((job: Claimed) => job.id);
    const seen: number[] = [];
    let isOver = false;
    const looking = (async () => {
      while (!isOver) seen.push((await found("key=report-7")).length);
    })();
    const [job] = await claim("history");
    await settle(job!, { results: [{ ok: true }] });
    await sleep(100);
    isOver = true;
    await looking;
    expect(new Set(seen)).toEqual(new Set([1]));
    expect(await found("state=succeeded")).toEqual([id]);
    expect(await found("state=succeeded&type=report&key=report-7&since=2020-01-01T00:00:00Z")).toEqual([id]);
    for (const none of ["state=ready", "type=other", "key=report-8", "until=2020-01-01T00:00:00Z"])
      expect(await found(none), none).toEqual([]);
    expect((await server.ask("GET", `/jobs/${id}`)).body).toMatchObject({
      job: { state: "succeeded" },
      attempts: [{ outcome: "succeeded", result: { ok: true } }],
    });
  });

  it("whatever pgmq can do: send with a delay and in batches, read with a timeout, set it, pop, archive, delete, purge, measure [#107]", async () => {
    await queue("pgmq");
    const batch = Array.from({ length: 5 }, (_, i) => ({ type: "message", queue: "pgmq", input: { i } }));
    expect((await server.ask("POST", "/jobs/many", { jobs: batch })).body.items).toHaveLength(5);
    const later = await enqueue("pgmq", { delaySeconds: 30 });
    const [read, popped, archived] = await claim("pgmq", { limit: 3, leaseSeconds: 20 });
    const extended = (await server.ask("POST", "/claims/extend", { tokens: [read!.token], seconds: 90 })).body.items;
    expect(extended).toMatchObject([{ token: read!.token }]);
    await settle(popped!, {});
    await settle(archived!, { results: ["kept"] });
    expect((await server.ask("GET", `/jobs/${archived!.id}`)).body).toMatchObject({
      job: { state: "succeeded" },
      attempts: [{ result: "kept" }],
    });
    expect((await server.ask("POST", `/jobs/${read!.id}/cancel`, {})).body).toEqual({ done: true });
    expect((await server.ask("GET", "/queues/pgmq")).body.depth).toMatchObject({ ready: 2, delayed: 1, running: 0 });
    expect((await server.ask("POST", "/queues/pgmq/purge", {})).body).toEqual({ count: 3, isExact: true });
    expect((await server.ask("GET", `/jobs/${later}`)).body.job.state).not.toBe("ready");
    expect(await claim("pgmq")).toEqual([]);
  });

  it("the age of the oldest is a metric, a producer can ask how deep it is, and old work can be shed [#108]", async () => {
    await queue("backlog");
    for (let i = 0; i < 3; i += 1) await enqueue("backlog");
    await server.db.moveClock(100);
    await enqueue("backlog");
    const metric = async (name: string): Promise<number> => {
      const response = await fetch(`${server.url}/metrics`, {
        headers: { authorization: `Bearer ${server.tokens.reader}` },
      });
      return Number(new RegExp(`^${name}\\{queue="backlog"\\} (\\S+)$`, "m").exec(await response.text())?.[1]);
    };
    await until("the sampler has looked", async () => (await metric("millrace_queue_oldest_ready_seconds")) >= 100);
    await until("all are counted", async () => (await metric("millrace_queue_ready")) === 4);
    const shed = (
      await server.ask("POST", "/queues/backlog/shed", {
        before: new Date(Date.now() + 60_000).toISOString(),
        dryRun: true,
      })
    ).body;
    expect(shed.count).toBe(3);
    await server.ask("POST", "/queues/backlog/shed", { before: new Date(Date.now() + 60_000).toISOString() });
    expect((await server.ask("GET", "/queues/backlog")).body.depth.ready).toBe(1);
    expect((await server.ask("PUT", "/queues/backlog", { maxDepth: 1 })).status).toBe(200);
    expect(await server.ask("POST", "/jobs", { type: "work", queue: "backlog" })).toMatchObject({ status: 429 });
  });
});
