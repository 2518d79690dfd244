import { writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, it } from "vitest";
import type { JobRecord, QueueRecord } from "../../src/db/types.js";
import { useDatabase } from "../support/database.js";
import { claimOne, jobOf, stateOf } from "../support/jobs.js";
import { type Ended, type RunOptions, Running, millrace, useFolder } from "./cli.js";

const db = useDatabase();
const folder = useFolder();

const cli = (args: readonly string[], options: RunOptions = {}): Promise<Ended> =>
  millrace(args, { url: db.url, ...options });
const idOf = ({ stdout }: Ended): string => stdout.trim();
const json = ({ stdout }: Ended): unknown => JSON.parse(stdout);

describe("enqueue", () => {
  it("takes the input as JSON, from a file and from standard input", async () => {
    const file = path.join(folder.path, "input.json");
    writeFileSync(file, '{"from": "file"}');
    const [none, text, fromFile, fromStdin] = await Promise.all([
      cli(["enqueue", "input"]),
      cli(["enqueue", "input", '{"key": "a.png"}']),
      cli(["enqueue", "input", `@${file}`]),
      cli(["enqueue", "input", "-"], { input: "[1, 2]" }),
    ]);
    const inputs = [];
    for (const enqueued of [none, text, fromFile, fromStdin]) inputs.push((await jobOf(db, idOf(enqueued))).input);
    expect(inputs).toEqual([null, { key: "a.png" }, { from: "file" }, [1, 2]]);
  });

  it("takes and shows large integers as they are", async () => {
    const id = idOf(await cli(["enqueue", "exact", '{"order": 9007199254740993}']));
    const [lines, whole] = await Promise.all([cli(["jobs", "show", id]), cli(["jobs", "show", id, "--json"])]);
    expect(lines.stdout).toContain('{"order":9007199254740993}');
    expect(whole.stdout).toContain('"order": 9007199254740993');
  });

  it("passes its options on", async () => {
    await db.engine.queuePut("mail");
    const options = [
      "--queue",
      "mail",
      "--priority",
      "0",
      "--delay",
      "1h 30m",
      "--tenant",
      "acme",
      "--fingerprint",
      "one",
    ];
    const first = json(await cli(["enqueue", "options", "--json", ...options])) as { id: string; duplicate: boolean };
    const job = await jobOf(db, first.id);
    expect(job).toMatchObject({ queue: "mail", priority: 0, tenant: "acme", fingerprint: "one", state: "delayed" });
    expect(job.runAt.getTime() - job.createdAt.getTime()).toBeCloseTo(5_400_000, -4);
    expect(json(await cli(["enqueue", "options", "--json", ...options]))).toEqual({ id: first.id, duplicate: true });
  });

  it("stores many, and counts duplicates", async () => {
    const [many, alike] = await Promise.all([
      cli(["enqueue", "many", '{"n": 1}', "--count", "2500"]),
      cli(["enqueue", "alike", "--count", "3", "--fingerprint", "x", "--json"]),
    ]);
    expect(many).toMatchObject({ code: 0, stderr: "", stdout: expect.stringMatching(/^2,500 jobs enqueued in /) });
    expect(json(alike)).toMatchObject({ enqueued: 1, duplicates: 2, asked: 3 });
    const [row] = await db.sql("select count(*)::int as n from jobs where type = 'many' and input->>'n' = '1'");
    expect(row).toEqual({ n: 2500 });
  });

  it("stops between two batches on Ctrl-C, and says how far it came", async () => {
    const running = new Running(["enqueue", "endless", "--count", "1000000000", "--json"], { url: db.url });
    while ((await db.engine.list({ type: "endless", limit: 1 })).length === 0) await sleep(20);
    running.pressControlC();
    const ended = await running.ended;
    expect(ended.code).toBe(1);
    const [row] = await db.sql("select count(*)::int as n from jobs where type = 'endless'");
    expect(json(ended)).toMatchObject({ enqueued: row!["n"], asked: 1_000_000_000 });
  });

  it("refuses what it cannot understand", async () => {
    const cases: [string[], string][] = [
      [["enqueue", "x", "{key}"], "INPUT is not JSON"],
      [["enqueue", "x", "@/nowhere.json"], "/nowhere.json cannot be read"],
      [["enqueue", "x", "--queue", "nowhere"], "nowhere"],
      [["enqueue", "x", "--priority", "11"], '--priority cannot be "11"'],
      [["enqueue", "x", "--delay", "soon"], '--delay cannot be "soon" (give a number with a unit'],
    ];
    const ended = await Promise.all(cases.map(([args]) => cli(args)));
    for (const [i, { code, stdout, stderr }] of ended.entries()) {
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toContain(cases[i]![1]);
    }
  });
});

describe("queues", () => {
  it("lists, makes, pauses, resumes and purges", async () => {
    expect(json(await cli(["queues", "put", "slow", '{"maxAttempts": 3}', "--json"]))).toEqual({
      name: "slow",
      options: { maxAttempts: 3 },
    });
    await db.engine.enqueueMany("work", [1, 2, 3], { queue: "slow" });
    await db.engine.enqueue({ type: "work", queue: "slow", delaySeconds: 60 });

    expect(await cli(["queues", "pause", "slow", "--because", "the provider is down"])).toMatchObject({
      code: 0,
      stdout: "slow is paused\n",
    });
    const [text, listed, dry] = await Promise.all([
      cli(["queues"]),
      cli(["queues", "--json"]),
      cli(["queues", "purge", "slow"]),
    ]);
    expect(text.stdout).toMatch(/^QUEUE +STATE +READY +BLOCKED +DELAYED +SUSPENDED +RUNNING/);
    expect(text.stdout).toMatch(/^slow +paused +0 +3 +1 +0 +0 .*the provider is down/m);
    expect((json(listed) as QueueRecord[]).find(({ name }) => name === "slow")).toMatchObject({
      state: "paused",
      waiting: 3,
      ready: 0,
      blocked: 3,
      delayed: 1,
      options: { maxAttempts: 3 },
    });
    const shown = await cli(["queues", "show", "slow"]);
    expect(shown.stdout).toMatch(
      /^blocked +3$[^]*^why it waits:\n {2}3 jobs: the queue is paused since .*: the provider is down$/m,
    );
    const [why] = (json(await cli(["queues", "show", "slow", "--json"])) as { why: object[] }).why;
    expect(why).toMatchObject({ code: "paused", jobs: 3, because: "the provider is down" });
    expect(await cli(["queues", "show", "nowhere"])).toMatchObject({ code: 2 });
    const [blocked] = await db.engine.list({ queue: "slow", state: "blocked" });
    const job = await cli(["jobs", "show", blocked!.id]);
    expect(job.stdout).toMatch(/^why it waits +the queue is paused since .*: the provider is down; /m);
    expect(dry).toMatchObject({ code: 1, stdout: "4 jobs would be dropped from slow; repeat with --yes\n" });

    expect(await cli(["queues", "resume", "slow"])).toMatchObject({ code: 0, stdout: "slow is active\n" });
    expect((await cli(["queues"])).stdout).toMatch(/^slow +no worker +3 +0 +1 +0 +0/m);
    expect((await cli(["queues", "show", "slow"])).stdout).toMatch(/^state +no worker$/m);
    expect(json(await cli(["queues", "purge", "slow", "--yes", "--json"]))).toEqual({ name: "slow", purged: 4 });
    expect(await db.engine.queueDepth("slow")).toMatchObject({ ready: 0, delayed: 0 });
  });

  it("closes, opens, lets wait, and tells what happened", async () => {
    for (const name of ["import", "merge"]) await db.engine.queuePut(name);
    await db.engine.enqueue({ type: "work", queue: "import" });
    expect(await cli(["queues", "wait", "report", "import", "merge"])).toMatchObject({
      code: 0,
      stdout: "report waits for import, merge\n",
    });
    expect(await cli(["queues", "close", "import", "--because", "all files are in"])).toMatchObject({
      code: 0,
      stdout: "import is closed\n",
    });
    const [text, again, circle, refused] = await Promise.all([
      cli(["queues"]),
      cli(["queues", "close", "import"]),
      cli(["queues", "wait", "import", "report"]),
      cli(["enqueue", "work", "--queue", "import"]),
    ]);
    expect(text.stdout).toMatch(/^import +closed +1 +0 +0 +0 .*all files are in/m);
    expect(text.stdout).toMatch(/^report +waiting +0 +0 +0 +0 .*waits for import, merge/m);
    for (const { code, stderr } of [again, refused])
      expect({ code, stderr }).toEqual({
        code: 2,
        stderr: expect.stringMatching(/import" is closed by .*: all files are in/),
      });
    expect(circle).toMatchObject({ code: 2, stderr: expect.stringContaining("would wait for itself") });
    expect(await cli(["queues", "open", "import"])).toMatchObject({ code: 0, stdout: "import is open\n" });
    expect(await cli(["queues", "wait", "report"])).toMatchObject({ code: 0, stdout: "report waits for nothing\n" });
    const [events, listed] = await Promise.all([
      cli(["queues", "events", "import"]),
      cli(["queues", "events", "import", "--json", "--limit", "1"]),
    ]);
    expect(events.stdout).toMatch(/import +closed .*all files are in\n.*import +opened/);
    expect(json(listed)).toMatchObject([{ queue: "import", event: "opened" }]);
  });

  it("releases and cancels stages", async () => {
    await db.engine.queuePut("staged");
    for (const stage of ["approval", "approval", "later"])
      await cli(["enqueue", "work", "--queue", "staged", "--stage", stage]);
    expect((await cli(["stages"])).stdout).toMatch(/^staged +2 .*approval\nstaged +1 .*later/m);
    expect(await cli(["stages", "release", "staged", "approval"])).toMatchObject({
      code: 0,
      stdout: "2 jobs of approval released\n",
    });
    expect(json(await cli(["stages", "cancel", "staged", "later", "--json"]))).toEqual({
      name: "staged",
      stage: "later",
      cancelled: 1,
    });
    expect(await db.engine.queueDepth("staged")).toMatchObject({ ready: 2, staged: 0 });
  });

  it("sheds what was enqueued before a time, and sets aside what waits [#108]", async () => {
    await db.engine.queuePut("flooded");
    const old = await db.engine.enqueueMany("work", [1, 2, 3], { queue: "flooded" });
    const [{ now }] = (await db.sql("select clock_timestamp() as now")) as [{ now: Date }];
    const before = new Date(now.getTime() + 1).toISOString();
    const shed = ["queues", "shed", "flooded", "--before", before];
    expect(await cli(shed)).toMatchObject({
      code: 1,
      stdout: "3 jobs would be dropped from flooded; repeat with --yes\n",
    });
    expect(json(await cli([...shed, "--type", "other", "--yes", "--json"]))).toEqual({
      name: "flooded",
      type: "other",
      before,
      dropped: 0,
    });
    expect(await cli([...shed, "--yes"])).toMatchObject({ code: 0, stdout: "3 jobs dropped from flooded\n" });
    expect((await db.engine.get(old[0]!.id))!.job.state).toBe("cancelled");
    for (const text of ["yesterday", "2026-12-24T18:00:00"]) {
      expect(await cli(["queues", "shed", "flooded", "--before", text])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("is not a time"),
      });
    }
    expect(await cli(["queues", "shed", "flooded"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--before is missing"),
    });

    const [aside] = await db.engine.enqueueMany("work", [4], { queue: "flooded" });
    expect(await cli(["queues", "set-aside", "flooded"])).toMatchObject({
      code: 0,
      stdout: "1 job of flooded set aside\n",
    });
    expect(json(await cli(["queues", "set-aside", "flooded", "--type", "other", "--json"]))).toEqual({
      name: "flooded",
      type: "other",
      aside: 0,
    });
    const [fresh] = await db.engine.enqueueMany("work", [5], { queue: "flooded" });
    const claimed = await db.engine.claim({ queues: ["flooded"], limit: 2 });
    expect(claimed.map(({ id }) => id)).toEqual([fresh!.id, aside!.id]);
    for (const job of claimed) await db.engine.complete(job);
    const grouped = await cli([
      "queues",
      "put",
      "flooded",
      '{"blocked": [{"from": "22:00", "to": "06:00", "zone": "Mars"}]}',
    ]);
    expect(grouped).toMatchObject({ code: 2, stderr: expect.stringContaining("no time zone") });
  });

  it("knows only queues that exist, and options that there are", async () => {
    const [queue, option, list] = await Promise.all([
      cli(["queues", "pause", "nowhere"]),
      cli(["queues", "put", "q", '{"maxAttemps": 3}']),
      cli(["queues", "put", "q", "[]"]),
    ]);
    expect(queue).toMatchObject({ code: 2, stderr: expect.stringContaining("nowhere") });
    expect(option).toMatchObject({ code: 2, stderr: expect.stringContaining('did you mean "maxAttempts"?') });
    expect(list).toMatchObject({ code: 2, stderr: expect.stringContaining("not a JSON object") });
  });
});

describe("jobs", () => {
  const queue = "looked-at";
  let failed = "";
  let waiting = "";

  beforeAll(async () => {
    await db.engine.queuePut(queue);
    failed = (
      await db.engine.enqueue({ type: "resize", queue, input: { key: "a.png" }, tenant: "acme", maxAttempts: 1 })
    ).id;
    await db.engine.retryLater(await claimOne(db, queue, { worker: "press-1" }), {
      message: "not\nan image",
      stack: "Error: not an image\n    at somewhere",
    });
    waiting = (await db.engine.enqueue({ type: "mail", queue })).id;
  });

  it("lists with filters", async () => {
    const [all, ofState, ofTenant, before, nothing, wrong] = await Promise.all([
      cli(["jobs", "--queue", queue]),
      cli(["jobs", "--queue", queue, "--state", "failed", "--json"]),
      cli(["jobs", "--tenant", "acme", "--type", "resize", "--limit", "1", "--json"]),
      cli(["jobs", "--queue", queue, "--before", waiting, "--json"]),
      cli(["jobs", "--type", "nobody-makes-these"]),
      cli(["jobs", "--state", "fialed"]),
    ]);
    const [titles, first, second] = all.stdout.trimEnd().split("\n");
    expect(titles).toMatch(/^ID +STATE +TYPE +QUEUE +PRIORITY +ATTEMPTS +CREATED/);
    expect(first).toMatch(new RegExp(`^${waiting} +ready +mail`));
    expect(second).toMatch(new RegExp(`^${failed} +failed +resize .* 1/1 .*exhausted: not an image$`));
    for (const list of [ofState, ofTenant, before])
      expect((json(list) as JobRecord[]).map(({ id }) => id)).toEqual([failed]);
    expect(nothing).toMatchObject({ code: 0, stdout: "no jobs\n" });
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('did you mean "failed"?') });
  });

  it("shows one with its attempts", async () => {
    const [text, asJson, none, wrong] = await Promise.all([
      cli(["jobs", "show", failed]),
      cli(["jobs", "show", failed, "--json"]),
      cli(["jobs", "show", "1"]),
      cli(["jobs", "show", "x"]),
    ]);
    expect(text).toMatchObject({ code: 0, stdout: expect.stringMatching(/^state +failed \(exhausted\)$/m) });
    expect(text.stdout).toMatch(/^input +\{"key":"a.png"\}$/m);
    expect(text.stdout).toMatch(/^ +1 +failed .* press-1 +not an image$/m);
    expect(json(asJson)).toMatchObject({
      job: { id: failed, maxAttempts: 1 },
      attempts: [{ attempt: 1, outcome: "failed" }],
    });
    expect(none).toMatchObject({ code: 1, stdout: "there is no job 1, or no longer\n" });
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('"x" is not a job id') });
  });

  it("retries and cancels, and says when some could not be", async () => {
    expect(await cli(["jobs", "retry", failed, waiting])).toMatchObject({
      code: 1,
      stdout: "1 job will be tried again, 1 left alone\n",
    });
    expect(await stateOf(db, failed)).toBe("ready");
    expect(json(await cli(["jobs", "cancel", failed, waiting, "--because", "no longer needed", "--json"]))).toEqual({
      cancelled: 2,
      ended: 0,
    });
    expect((await jobOf(db, waiting)).lastError).toMatchObject({ message: "no longer needed" });
    const [again, none] = await Promise.all([cli(["jobs", "cancel", waiting]), cli(["jobs", "cancel", "1"])]);
    expect(again).toMatchObject({ code: 1, stdout: "0 jobs cancelled, 1 had ended already\n" });
    expect(none.code).toBe(2);
  });

  it("lists those that wait for a decision, and discards them, once [#176]", async () => {
    await db.engine.queuePut("decided");
    const { id } = await db.engine.enqueue({ type: "press", queue: "decided" });
    await db.engine.fail(await claimOne(db, "decided"), { message: "no" });
    const listed = async () =>
      (json(await cli(["jobs", "--queue", "decided", "--undecided", "--json"])) as JobRecord[]).map((job) => job.id);
    expect(await listed()).toEqual([id]);
    const discard = ["jobs", "discard", id, "--by", "ann", "--because", "too late"];
    expect(await cli(discard)).toMatchObject({ code: 0, stdout: "1 job discarded\n" });
    expect(await cli(discard)).toMatchObject({ code: 1, stdout: "0 jobs discarded, 1 left alone\n" });
    expect(await listed()).toEqual([]);
    expect(await db.engine.decisions(id)).toMatchObject([{ action: "discard", by: "ann", because: "too late" }]);
    expect(await cli(["jobs", "show", id])).toMatchObject({ stdout: expect.stringMatching(/^discarded +\d/m) });
  });
});

it("jobs run-now lets delayed jobs run, and leaves others alone", async () => {
  await db.engine.queuePut("hurried");
  const { id } = await db.engine.enqueue({ type: "press", queue: "hurried", delaySeconds: 7200 });
  expect(await cli(["jobs", "run-now", id])).toMatchObject({ code: 0, stdout: "1 job is due now\n" });
  const job = await claimOne(db, "hurried");
  expect(job.id).toBe(id);
  await db.engine.complete(job);
  expect(await cli(["jobs", "run-now", id])).toMatchObject({ code: 1, stdout: "0 jobs are due now, 1 left alone\n" });
});

it("jobs log prints what a job has logged, and follows it until its run ends", async () => {
  await db.engine.queuePut("logged");
  const { id } = await db.engine.enqueue({ type: "press", queue: "logged" });
  expect(await cli(["jobs", "log", id])).toMatchObject({ code: 0, stdout: "no log\n" });
  const job = await claimOne(db, "logged");
  await db.engine.logPut([{ ...job, lines: ["1 began"] }]);
  const following = new Running(["jobs", "log", id, "--follow"], { url: db.url });
  await following.until("1 began");
  await db.engine.logPut([{ ...job, lines: ["1 began", "2 on its way"] }]);
  await following.until("2 on its way");
  await db.engine.settle([
    { token: job.token, jobs: [id], outcome: "succeeded", logs: [["1 began", "2 on its way", "3 done"]] },
  ]);
  expect(await following.ended).toMatchObject({ code: 0, stdout: "1 began\n2 on its way\n3 done\n" });
});

describe("by a filter", () => {
  it("finds by input and text, tells how many it would be, and does it with --yes", async () => {
    await db.engine.queuePut("filtered");
    const inputs = [{ to: "Ann" }, { to: "Bob" }, { to: "Ann" }];
    const ids = (await db.engine.enqueueMany("sell", inputs, { queue: "filtered" })).map(({ id }) => id);
    const match = ["--queue", "filtered", "--input", '{"to": "Ann"}'];
    const found = json(await cli(["jobs", ...match, "--json"])) as JobRecord[];
    expect(found.map(({ id }) => id)).toEqual([ids[2], ids[0]]);
    expect(await cli(["jobs", "cancel", ...match])).toMatchObject({
      code: 1,
      stdout: "2 jobs would be cancelled; repeat with --yes\n",
    });
    expect(await cli(["jobs", "cancel", ...match, "--yes", "--by", "ann"])).toMatchObject({
      code: 0,
      stdout: "2 jobs cancelled\n",
    });
    expect(await cli(["jobs", "cancel", ...match, "--yes"])).toMatchObject({ code: 1, stdout: "0 jobs cancelled\n" });
    await db.engine.fail(await claimOne(db, "filtered"), { message: "no such customer" });
    const failed = ["--queue", "filtered", "--text", "NO SUCH"];
    expect(await cli(["jobs", "retry", ...failed, "--yes", "--per-second", "1"])).toMatchObject({
      code: 0,
      stdout: "1 job given more attempts\n",
    });
    expect(await stateOf(db, ids[1]!)).toBe("ready");
    const [neither, both, when] = await Promise.all([
      cli(["jobs", "discard"]),
      cli(["jobs", "discard", ids[0]!, "--type", "sell"]),
      cli(["jobs", "retry", "--since", "noon"]),
    ]);
    for (const { code, stderr } of [neither, both])
      expect([code, stderr]).toEqual([2, expect.stringContaining("which jobs is not clear")]);
    expect(when.stderr).toContain('--since cannot be "noon"');
  });
});

describe("top", () => {
  it("prints one frame when nobody watches", async () => {
    await db.engine.queuePut("busy");
    await db.engine.enqueueMany("press", [1, 2, 3], { queue: "busy" });
    const job = await claimOne(db, "busy", { worker: "press-1" });
    await db.engine.progressPut(job, { page: 2 });
    const [text, asJson] = await Promise.all([cli(["top"]), cli(["top", "--json"])]);
    expect(text).toMatchObject({ code: 0, stdout: expect.stringMatching(/^busy +active +2 +0 +0 +0 +1 +0 +0$/m) });
    expect(text.stdout).toMatch(new RegExp(`^${job.id} +press +busy +1 +.* press-1 +\\{"page":2\\}$`, "m"));
    expect(json(asJson)).toMatchObject({
      queues: expect.arrayContaining([
        {
          name: "busy",
          state: "active",
          waiting: 2,
          ready: 2,
          blocked: 0,
          delayed: 0,
          suspended: 0,
          running: 1,
          inPerSecond: 0,
          outPerSecond: 0,
        },
      ]),
      running: [{ id: job.id, worker: "press-1", attempt: 1 }],
    });
  });
});
