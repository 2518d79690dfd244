import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { useServer } from "./server.js";

const server = useServer();

const entries = async () =>
  (await server.ask("GET", "/audit?limit=1000")).body.items as {
    id: string;
    who: string;
    action: string;
    object: string;
    result: string;
    count: number | null;
    address: string;
    requestId: string;
  }[];

describe("the audit", () => {
  it("says who did what to what, from where, and with what result", async () => {
    await server.ask("PUT", "/queues/mail", { maxRunning: 3 });
    const paused = await server.ask("POST", "/queues/mail/pause", { group: "acme", because: "they asked" });
    await server.ask("POST", "/queues/none/pause", {});
    await server.db.engine.enqueueMany("send", [1, 2, 3], { queue: "mail" });
    await server.ask("POST", "/queues/mail/purge", {});
    const [purge, refused, pause, put] = await entries();
    expect(put).toMatchObject({
      who: "the-admin",
      action: "PUT /queues/{queue}",
      object: "queue mail",
      result: "done",
    });
    expect(pause).toMatchObject({
      action: "POST /queues/{queue}/pause",
      object: "queue mail, group acme",
      result: "done",
      requestId: paused.headers.get("x-request-id"),
    });
    expect(pause!.address).toMatch(/127\.0\.0\.1$/);
    expect(refused).toMatchObject({ object: "queue none", result: "MR003" });
    expect(purge).toMatchObject({ object: "queue mail", result: "done", count: 3 });
    expect((await server.ask("GET", "/pauses")).body.items).toMatchObject([
      { queue: "mail", group: "acme", pausedBy: "the-admin", pausedBecause: "they asked" },
    ]);
    const page = await server.ask("GET", "/audit?limit=2");
    expect(
      (await server.ask("GET", `/audit?limit=2&cursor=${page.body.next}`)).body.items.map(
        ({ id }: { id: string }) => id,
      ),
    ).toEqual([pause!.id, put!.id]);
  });

  it("says why, and what was before and after; and is found by who, what, why, result and time", async () => {
    await server.ask("PUT", "/queues/letters", { maxRunning: 3, priority: 4 });
    await server.ask("PUT", "/queues/letters", { maxRunning: 9, priority: 4 });
    await server.ask("POST", "/queues/letters/pause", { because: "the printer burns" });
    await sleep(2); // times are told in milliseconds: the next one must be another
    const since = new Date().toISOString();
    await server.ask("POST", "/queues/letters/pause", { type: "print" });
    const rule = { every: "1h" };
    await server.ask("PUT", "/schedules/hourly", { rule, job: { type: "print" }, input: { text: "x".repeat(2000) } });
    await server.ask("DELETE", "/schedules/hourly", { because: "nobody reads it" });
    const found = async (query: Record<string, string>) =>
      (await server.ask("GET", `/audit?${new URLSearchParams(query).toString()}`)).body.items;
    const [removed, put, part, paused, changed, made] = await found({ limit: "6" });
    expect(made).toMatchObject({ before: null, after: { maxRunning: 3, priority: 4 }, because: null });
    expect([changed.before, changed.after]).toEqual([{ maxRunning: 3 }, { maxRunning: 9 }]);
    expect(paused).toMatchObject({ because: "the printer burns", before: { paused: false }, after: { paused: true } });
    expect(part).toMatchObject({ after: { pausedParts: [{ type: "print" }] } });
    expect(put).toMatchObject({ before: null, after: { input: "(2,011 letters)", job: { type: "print" } } });
    expect(removed).toMatchObject({ because: "nobody reads it", before: { paused: false }, after: null });
    expect(await found({ object: "PRINTER" })).toEqual([paused]);
    expect(await found({ action: "delete /sched" })).toEqual([removed]);
    expect(await found({ since, object: "letters" })).toEqual([part]);
    expect((await found({ result: "refused" })).map(({ result }: { result: string }) => result)).not.toContain("done");
    expect(await found({ who: "nobody" })).toEqual([]);
  });

  it("has nothing of what is only asked, or only pretended", async () => {
    const before = (await entries()).length;
    await server.db.engine.enqueueMany("send", [1, 2], { queue: "mail" });
    expect((await server.ask("POST", "/queues/mail/purge", { dryRun: true })).body).toEqual({
      count: 2,
      isExact: true,
    });
    await server.ask("GET", "/queues/mail");
    expect((await server.db.engine.queueDepth("mail")).ready).toBe(2);
    expect(await entries()).toHaveLength(before);
  });

  it("commits with the act, or not at all", async () => {
    await server.db.sql("alter table audit add constraint no_more check (object <> 'queue held')");
    expect((await server.ask("PUT", "/queues/held", {})).status).not.toBe(200);
    expect((await server.ask("GET", "/queues/held")).status).toBe(404);
    await server.db.sql("alter table audit drop constraint no_more");
  });

  it("is bounded: old entries go, a few with each new one", async () => {
    await server.db.sql("update audit set at = at - interval '91 days'");
    const old = (await entries()).length;
    await server.ask("PUT", "/queues/mail", {});
    expect(await entries()).toHaveLength(Math.max(1, old + 1 - 10));
    await server.db.sql("select setval(pg_get_serial_sequence('audit', 'id'), 200000)");
    await server.ask("PUT", "/queues/mail", {});
    expect(await entries()).toHaveLength(1);
  });

  it("has before and after of rules of alerts, web hooks and orders to workers, and neither secrets nor addresses", async () => {
    const size = { kind: "size", bytes: 1e15 };
    await server.ask("PUT", "/alerts/hooks/audited", { url: "https://hooks.example.com/T0/abc" });
    await server.ask("PUT", "/alerts/rules/audited", { ...size, hooks: ["audited"] });
    await server.ask("PUT", "/alerts/rules/audited", { ...size, bytes: 2e15, hooks: ["audited"] });
    await server.ask("POST", "/alerts/rules/audited/silence", { seconds: 60, because: "known" });
    await server.ask("POST", "/alerts/rules/audited/silence", { seconds: 60, subject: "disk" });
    await server.ask("DELETE", "/alerts/rules/audited");
    await server.ask("PUT", "/alerts/hooks/audited", { url: "https://elsewhere.example.com/T0/abc" });
    await server.ask("DELETE", "/alerts/hooks/audited");
    const worker = { name: "w", queues: ["letters"], types: null, concurrency: 1 };
    const facts = { host: "h", pid: 1, release: null, workers: [worker] };
    await server.db.engine.workerBeat("h:1:w", facts, { running: 0, memoryBytes: 1, stalledSeconds: 0 });
    await server.ask("POST", "/workers/pause", { worker: "w", because: "too hot" });
    await server.ask("POST", "/workers/concurrency", { worker: "w", concurrency: 3 });
    await server.ask("POST", "/workers/resume", { worker: "w" });
    const { items } = (await server.ask("GET", "/audit?limit=11")).body;
    expect(
      items.toReversed().map(({ object, before, after }: Record<string, unknown>) => [object, before, after]),
    ).toMatchObject([
      ["web hook audited", null, { leadsTo: "https://hooks.example.com", rules: [] }],
      ["alert rule audited", null, { kind: "size", bytes: 1e15, hooks: ["audited"], on: true }],
      ["alert rule audited", { bytes: 1e15 }, { bytes: 2e15 }],
      ["alert rule audited", { silencedUntil: null }, { silencedUntil: expect.any(String) }],
      ["alert rule audited", { silencedSubjects: null }, { silencedSubjects: { disk: expect.any(String) } }],
      ["alert rule audited", { kind: "size", remindSeconds: 86_400 }, null],
      ["web hook audited", { leadsTo: "https://hooks.example.com" }, { leadsTo: "https://elsewhere.example.com" }],
      ["web hook audited", { leadsTo: "https://elsewhere.example.com" }, null],
      ["worker w", null, { hold: "pause" }],
      ["worker w", { concurrency: null }, { concurrency: 3 }],
      ["worker w", { hold: "pause" }, { hold: null }],
    ]);
    expect(JSON.stringify(items)).not.toMatch(/T0\/abc|whsec/);
  });
});

describe("acts", () => {
  it("that cancel a job are told with it: by whom, and why", async () => {
    const { id } = await server.db.engine.enqueue({ type: "unwanted", queue: "mail" });
    expect((await server.ask("POST", `/jobs/${id}/cancel`, { because: "sent twice" })).status).toBe(200);
    const { body } = await server.ask("GET", `/jobs/${id}`);
    expect(body).toMatchObject({ decisions: [{ action: "cancel", by: "the-admin", because: "sent twice" }] });
  });

  it("do not wait for somebody's open transaction for long", async () => {
    const { id } = await server.db.engine.enqueue({ type: "held", queue: "mail" });
    const other = await server.db.connect();
    await other.query("begin");
    await server.db.engine.cancel([id], undefined, { tx: other });
    const answer = await server.ask("POST", `/jobs/${id}/cancel`, {});
    expect(answer).toMatchObject({ status: 504, body: { code: "MR111" } });
    await other.query("rollback");
    expect((await server.ask("POST", `/jobs/${id}/cancel`, {})).body).toEqual({ done: true });
  });

  it("pages of jobs with large inputs are bounded in bytes, and nothing is left out", async () => {
    const input = Array.from({ length: 60_000 }, () => Math.random().toString(36));
    const ids = [];
    for (let i = 0; i < 12; i += 1) ids.unshift((await server.db.engine.enqueue({ type: "fat", input })).id);
    const seen: string[] = [];
    let pages = 0;
    for (let cursor: string | undefined; ;) {
      const { body } = await server.ask("GET", `/jobs?type=fat${cursor === undefined ? "" : `&cursor=${cursor}`}`);
      seen.push(...body.items.map((job: { id: string }) => job.id));
      pages += 1;
      if (body.next === undefined) break;
      cursor = body.next;
    }
    expect(seen).toEqual(ids);
    expect(pages).toBeGreaterThan(1);
  });
});

describe("Idempotency-Key", () => {
  const send = (key: string, body: unknown, path = "/jobs", role: "producer" | "admin" = "producer") =>
    server.ask("POST", path, body, { role, headers: { "idempotency-key": key } });
  const jobs = async (type: string) => (await server.ask("POST", "/jobs/count", { type })).body.count as number;

  it("a repeated request gets the first answer, and makes no second job", async () => {
    const first = await send("a", { type: "once", input: 1 });
    const again = await send("a", { type: "once", input: 1 });
    expect(again).toMatchObject({ status: 200, body: first.body });
    expect([first.headers.get("idempotency-replayed"), again.headers.get("idempotency-replayed")]).toEqual([
      null,
      "true",
    ]);
    expect(await jobs("once")).toBe(1);
    const batch = { jobs: [{ type: "many" }, { type: "many" }] };
    expect((await send("b", batch, "/jobs/many")).body).toEqual((await send("b", batch, "/jobs/many")).body);
    expect(await jobs("many")).toBe(2);
  });

  it("many at once make one", async () => {
    const answers = await Promise.all(Array.from({ length: 12 }, () => send("race", { type: "raced" })));
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect(await jobs("raced")).toBe(1);
  });

  it("is refused for another request, and is its sender's own", async () => {
    await send("c", { type: "mine" });
    expect(await send("c", { type: "other" })).toMatchObject({ status: 409, body: { code: "MR109" } });
    expect((await send("c", { type: "mine" }, "/jobs", "admin")).headers.get("idempotency-replayed")).toBeNull();
    expect((await send("a b", { type: "x" })).status).toBe(400);
  });

  it("what was refused is not remembered, and keys go after a day", async () => {
    expect((await send("d", { type: "x", queue: "not there" })).status).toBe(404);
    await server.ask("PUT", "/queues/later", {});
    await server.ask("POST", "/queues/later/close", {});
    expect((await send("e", { type: "x", queue: "later" })).status).toBe(409);
    const kept = await server.db.sql("select key from idempotent");
    expect(kept.map(({ key }) => key)).not.toContain("the-producer e");
    await server.db.sql("update idempotent set at = at - interval '25 hours'");
    await send("f", { type: "x" });
    expect((await server.db.sql("select key from idempotent")).length).toBeLessThan(kept.length);
  });

  it("a job joins the trace of its request", async () => {
    const traceparent = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
    const { body } = await server.ask("POST", "/jobs", { type: "traced" }, { headers: { traceparent } });
    expect((await server.ask("GET", `/jobs/${body.id}`)).body.job.headers).toEqual({ traceparent });
  });
});
