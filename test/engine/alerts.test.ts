import { beforeAll, describe, expect, it } from "vitest";
import { clockNow } from "../support/clock.js";
import { useDatabase } from "../support/database.js";
import { claimOne, enqueue, newQueue } from "../support/jobs.js";

const db = useDatabase();

async function nextMinute(): Promise<void> {
  const now = (await clockNow(db)).getTime() / 1000;
  await db.moveClock((Math.floor(now / 60) + 1) * 60 + 5 - now);
  await db.engine.historySample();
}

/** Let 15 seconds pass, and compare. */
async function check(): Promise<number> {
  await db.moveClock(15);
  return db.engine.alertsCheck();
}

const of = async (rule: string) =>
  (await db.engine.alerts()).filter((one) => one.rule === rule).map(({ subject, state }) => `${subject} ${state}`);
const events = async (rule: string) =>
  (await db.engine.alertEvents())
    .filter((one) => one.rule === rule)
    .map(({ event }) => event)
    .toReversed();
const jobs = async () =>
  (await db.sql("select input from job where type = 'millrace.alert' order by id")).map(({ input }) => input);

beforeAll(async () => {
  const rules = await db.engine.alertRules();
  expect(rules.map(({ name, on }) => `${name} ${on}`)).toEqual([
    "backlog-growth false",
    "breaker-open true",
    "disk-size false",
    "failure-rate true",
    "no-worker true",
    "oldest-job true",
    "schedule-failing true",
  ]);
  for (const { name, kind, options } of rules) await db.engine.alertPut(name, { kind, ...options, on: false });
});

describe("a rule", () => {
  it("fires when its condition has held for long enough, once, and is resolved when it has ended for as long", async () => {
    const queue = await newQueue(db, { breaker: { failures: 1, pauseSeconds: 86_400, pauseCapSeconds: 86_400 } });
    await db.engine.hookPut("ops", { url: "https://hooks.example.com/secret-path" }, "ann");
    await db.engine.alertPut("broken", { kind: "breaker", queue, forSeconds: 60, hooks: ["ops"] }, "ann");
    expect(await check()).toBe(0);
    await enqueue(db, queue, { type: "send" });
    await db.engine.retryLater(await claimOne(db, queue), { message: "down" });
    expect(await check()).toBe(0);
    expect(await of("broken")).toEqual([`${queue}/send pending`]);
    expect(await db.engine.alertsCheck()).toBe(0); // somebody has just done it
    for (let n = 0; n < 3; n += 1) expect(await check()).toBe(0);
    expect(await check()).toBe(1);
    expect(await of("broken")).toEqual([`${queue}/send firing`]);
    expect(await check()).toBe(0);
    expect(await jobs()).toMatchObject([
      { hook: "ops", body: { event: "fired", rule: "broken", kind: "breaker", subject: `${queue}/send` } },
    ]);
    await db.engine.breakerReset({ queue });
    await check();
    await enqueue(db, queue, { type: "send" });
    await db.engine.retryLater(await claimOne(db, queue), { message: "down" }); // it flaps
    for (let n = 0; n < 6; n += 1) expect(await check()).toBe(0);
    await db.engine.breakerReset({ queue });
    let changes = 0;
    for (let n = 0; n < 6; n += 1) changes += await check();
    expect(changes).toBe(1);
    expect(await of("broken")).toEqual([]);
    expect((await jobs()).map(({ body }) => body.event)).toEqual(["fired", "resolved"]);
    expect(await events("broken")).toEqual(["put", "fired", "resolved"]);
  });

  it("that is silenced fires and tells nobody, until the silence has ended", async () => {
    const before = (await jobs()).length;
    await db.engine.alertPut("small", { kind: "size", bytes: 1, forSeconds: 0, hooks: ["ops"] });
    await db.engine.alertSilence("small", 40, { by: "ann", because: "known" });
    expect((await db.engine.alertRules()).find(({ name }) => name === "small")).toMatchObject({
      silencedBy: "ann",
      silencedBecause: "known",
      silencedUntil: expect.any(Date),
    });
    expect(await check()).toBe(1);
    expect((await db.engine.alerts()).find(({ rule }) => rule === "small")).toMatchObject({
      silenced: true,
      value: expect.any(Number),
    });
    expect(await jobs()).toHaveLength(before);
    await check();
    await check();
    expect((await jobs()).slice(before)).toMatchObject([{ body: { event: "fired", rule: "small" } }]);
    await db.engine.alertRemove("small", "ann");
    expect((await jobs()).at(-1)).toMatchObject({ body: { event: "resolved" } });
    expect(await events("small")).toEqual(["put", "silenced", "fired", "resolved", "removed"]);
  });

  it("that is silenced tells no end either: that is told when the silence ends, and once", async () => {
    const queue = await newQueue(db, { breaker: { failures: 1, pauseSeconds: 86_400, pauseCapSeconds: 86_400 } });
    const fail = async () => {
      await enqueue(db, queue, { type: "send" });
      await db.engine.retryLater(await claimOne(db, queue), { message: "down" });
    };
    const told = async () => (await jobs()).filter(({ body }) => body.rule === "quiet").map(({ body }) => body.event);
    await db.engine.alertPut("quiet", { kind: "breaker", queue, forSeconds: 15, hooks: ["ops"] });
    await fail();
    await check();
    expect(await check()).toBe(1);
    expect(await told()).toEqual(["fired"]);
    await db.engine.alertSilence("quiet", 300);
    await db.engine.breakerReset({ queue });
    expect((await check()) + (await check())).toBe(1);
    expect(await of("quiet")).toEqual([]);
    expect(await told()).toEqual(["fired"]);
    await fail(); // it begins again, and must hold for as long as before
    expect(await check()).toBe(0);
    expect(await check()).toBe(1);
    expect(await of("quiet")).toEqual([`${queue}/send firing`]);
    await db.engine.breakerReset({ queue });
    expect((await check()) + (await check())).toBe(1);
    expect(await told()).toEqual(["fired"]);
    await db.engine.alertSilence("quiet", 0);
    await check();
    await check();
    expect(await told()).toEqual(["fired", "resolved"]);
    expect((await events("quiet")).join(", ")).toBe("put, fired, silenced, resolved, fired, resolved, unsilenced");
    await db.engine.alertRemove("quiet");
  });

  it("may be silenced for one subject, which tells nothing while others do", async () => {
    const names = [await newQueue(db), await newQueue(db)] as const;
    await db.engine.alertPut("loud", { kind: "unhandled", seconds: 1, forSeconds: 0, hooks: ["ops"] });
    await db.engine.alertSilence("loud", 600, { subject: `${names[0]}/t`, by: "ann", because: "known" });
    await db.engine.alertPut("loud", { kind: "unhandled", seconds: 1, forSeconds: 0, hooks: ["ops"] }); // it stays
    expect((await db.engine.alertRules()).find(({ name }) => name === "loud")).toMatchObject({
      options: { seconds: 1 },
      silencedUntil: null,
      silences: [{ subject: `${names[0]}/t`, by: "ann", because: "known", until: expect.any(Date) }],
    });
    for (const queue of names) await enqueue(db, queue, { type: "t" });
    await check();
    await check();
    const told = async () =>
      (await jobs())
        .filter(({ body }) => body.rule === "loud" && names.some((name) => body.subject === `${name}/t`))
        .map(({ body }) => body.subject);
    expect(await told()).toEqual([`${names[1]}/t`]);
    const shown = (await db.engine.alerts()).filter(({ rule }) => rule === "loud");
    expect(shown.find(({ subject }) => subject === `${names[0]}/t`)).toMatchObject({ state: "firing", silenced: true });
    expect(shown.find(({ subject }) => subject === `${names[1]}/t`)).toMatchObject({ silenced: false });
    await db.engine.alertSilence("loud", 0, { subject: `${names[0]}/t` });
    await check();
    expect(await told()).toEqual([`${names[1]}/t`, `${names[0]}/t`]);
    expect((await db.engine.alertRules()).find(({ name }) => name === "loud")!.silences).toEqual([]);
    await expect(db.engine.alertSilence("loud", 1, { subject: "" })).rejects.toMatchObject({ code: "MR001" });
    await db.engine.alertRemove("loud");
  });

  it("reminds of what goes on, as often as it says, unless that is never", async () => {
    const told = async (rule: string) =>
      (await jobs()).filter(({ body }) => body.rule === rule).map(({ body }) => body.event);
    const size = { kind: "size", bytes: 1, forSeconds: 0, hooks: ["ops"] } as const;
    await db.engine.alertPut("hourly", { ...size, remindSeconds: 3600 });
    await db.engine.alertPut("daily", size);
    await db.engine.alertPut("never", { ...size, remindSeconds: 0 });
    await check();
    await db.moveClock(3500);
    await check();
    expect(await told("hourly")).toEqual(["fired"]);
    await db.moveClock(90);
    await check();
    await check();
    expect(await told("hourly")).toEqual(["fired", "reminder"]);
    await db.engine.alertSilence("hourly", 86_000);
    await db.moveClock(7200);
    await check();
    expect(await told("hourly")).toEqual(["fired", "reminder"]);
    await db.moveClock(86_400);
    await check();
    expect(await told("hourly"), "one, however many times have passed").toEqual(["fired", "reminder", "reminder"]);
    expect(await told("daily")).toEqual(["fired", "reminder"]);
    expect(await told("never")).toEqual(["fired"]);
    expect((await db.engine.alertRules()).map(({ name, remindSeconds }) => `${name} ${remindSeconds}`)).toEqual(
      expect.arrayContaining(["hourly 3600", "daily 86400", "never 0", "oldest-job 86400"]),
    );
    await expect(db.engine.alertPut("bad", { ...size, remindSeconds: 5 })).rejects.toMatchObject({ code: "MR001" });
    for (const name of ["hourly", "daily", "never"]) await db.engine.alertRemove(name);
  });

  it("of each kind finds what it is about", async () => {
    const queue = await newQueue(db);
    await nextMinute();
    await nextMinute();
    await db.engine.alertPut("age", { kind: "oldest", queue, seconds: 30, forSeconds: 0 });
    await db.engine.alertPut("rate", { kind: "failures", queue, minRuns: 2, share: 0.5, forSeconds: 0 });
    await db.engine.alertPut("grows", { kind: "backlog", queue, growth: 3, windowSeconds: 60, forSeconds: 0 });
    await db.engine.alertPut("nobody", { kind: "unhandled", queue, seconds: 1, forSeconds: 0 });
    await db.engine.alertPut("few", { kind: "workers", queue, forSeconds: 0 });
    await db.engine.alertPut("slots", { kind: "schedule", schedule: "none", forSeconds: 0 });
    for (let n = 0; n < 5; n += 1) await enqueue(db, queue, { type: "t" });
    for (let n = 0; n < 2; n += 1) await db.engine.fail(await claimOne(db, queue), { message: "no" });
    await db.engine.maintain();
    await nextMinute();
    await check();
    for (const rule of ["rate", "grows", "few"]) expect(await of(rule), rule).toEqual([`${queue} firing`]);
    expect(await of("nobody")).toEqual([`${queue}/t firing`]);
    expect(await of("slots")).toEqual([]);
    await nextMinute();
    await check();
    expect(await of("age")).toEqual([`${queue} firing`]);
    const worker = { name: "w", queues: [queue], types: null, concurrency: 1 };
    const state = { running: 0, memoryBytes: 1, stalledSeconds: 0 };
    await db.engine.workerBeat("h:1:w", { host: "h", pid: 1, release: null, workers: [worker] }, state);
    await check();
    expect(await of("few")).toEqual([]);
    await db.moveClock(600); // the history has stopped: nothing is known of it
    await check();
    expect(await of("age")).toEqual([`${queue} firing`]);
    await db.engine.alertPut("age", { kind: "oldest", queue, on: false });
    await check();
    expect(await of("age")).toEqual([]);
  });

  it("that cannot be is refused, and so is what nobody knows", async () => {
    for (const rule of [
      {},
      { kind: "weather" },
      { kind: "oldest", seconds: 0 },
      { kind: "oldest", share: 0.5 },
      { kind: "oldest", type: "t" },
      { kind: "workers" },
      { kind: "size" },
      { kind: "failures", share: 1.1 },
      { kind: "oldest", on: "yes" },
      { kind: "oldest", hooks: "ops" },
    ])
      await expect(db.engine.alertPut("bad", rule as never), JSON.stringify(rule)).rejects.toMatchObject({
        code: "MR001",
      });
    await expect(db.engine.alertPut("a b", { kind: "breaker" })).rejects.toMatchObject({ code: "MR001" });
    await expect(db.engine.alertPut("bad", { kind: "breaker", hooks: ["none"] })).rejects.toMatchObject({
      code: "MR024",
    });
    await expect(db.engine.alertRemove("none")).rejects.toMatchObject({ code: "MR024" });
    await expect(db.engine.alertSilence("none", 1)).rejects.toMatchObject({ code: "MR024" });
    await expect(db.engine.hookTest("none")).rejects.toMatchObject({ code: "MR024" });
    for (const url of ["ftp://x", "https://user@host/", "https://", "x"])
      await expect(db.engine.hookPut("bad", { url }), url).rejects.toMatchObject({ code: "MR001" });
    await expect(db.engine.hookPut("bad", { url: "https://x", secret: "short" })).rejects.toMatchObject({
      code: "MR001",
    });
  });

  it("and its web hooks are bounded in number, and neither address nor secret is told again", async () => {
    const { secret } = await db.engine.hookPut("quiet", { url: "https://hooks.example.com/T0/abc" });
    expect(secret).toMatch(/^whsec_/);
    expect(await db.engine.hookPut("quiet", { url: "https://hooks.example.com/T0/abc" })).toEqual({});
    const told = JSON.stringify([await db.engine.hooks(), await db.engine.alertEvents(), await jobs()]);
    expect(told).toContain("https://hooks.example.com");
    expect(told).not.toContain("T0/abc");
    expect(told).not.toContain(secret);
    await db.sql("insert into hook select 'h' || n, 'https://x', 'x', null, now() from generate_series(1, 20) n");
    await expect(db.engine.hookPut("more", { url: "https://x" })).rejects.toMatchObject({ code: "MR001" });
    await db.sql(
      "insert into alert_rule select 'r' || n, 'breaker', '{}', 60, '{}', false, null, null, null, null, now() from generate_series(1, 100) n",
    );
    await expect(db.engine.alertPut("more", { kind: "breaker" })).rejects.toMatchObject({ code: "MR001" });
  });
});
