import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { type MoveProgress, moveQueue, planMove } from "../../src/cells/move.js";
import type { Engine } from "../../src/db/engine.js";
import { FingerprintElsewhereError, MoveRefusedError, QueueMovedError } from "../../src/db/errors.js";
import type { ClaimedJob } from "../../src/db/types.js";
import { millrace } from "../cli/cli.js";
import { useCells } from "../support/cells.js";
import { broken, failingFrom } from "../support/failing-cells.js";
import { enqueueFollowing, followMoves } from "../support/follow-moves.js";
import { until } from "../support/wait.js";

const cells = useCells("a", "b", "c");
const engines = (): Map<string, Engine> => new Map([...cells].map(([name, { engine }]) => [name, engine]));
const engine = (name: string): Engine => cells.get(name)!.engine;
const cellOf = (name: string): Engine | undefined => cells.get(name)?.engine;
const sql = async (cell: string, text: string, values?: unknown[]): Promise<Record<string, any>[]> =>
  (await cells.get(cell)!.pool.query(text, values)).rows as Record<string, any>[];
const times = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

/** Workers that ask some cells in turn, until they are stopped and nothing is left. */
class Workers {
  readonly done: unknown[] = [];
  #stopping = false;
  readonly #loops: Promise<void>[];

  constructor(
    readonly queue: string,
    readonly names: readonly string[],
    readonly work: (job: ClaimedJob, cell: string) => Promise<void> = async () => {},
    n = 2,
  ) {
    this.#loops = names.flatMap((name) => times(n).map(() => this.#loop(name)));
  }

  async #loop(name: string): Promise<void> {
    while (!this.#stopping) {
      const here = await engine(name).moves.queue(this.queue);
      const jobs = here ? await engine(name).claim({ queues: [this.queue], limit: 20 }) : [];
      if (jobs.length === 0) await sleep(5);
      await Promise.all(
        jobs.map(async (job) => {
          await this.work(job, name);
          await engine(name).complete(job);
          this.done.push(job.input);
        }),
      );
    }
  }

  async stop(): Promise<unknown[]> {
    for (const name of this.names)
      await until(
        `nothing is left in ${name}`,
        async () => ((await engine(name).moves.queue(this.queue))?.live ?? 0) === 0,
      );
    this.#stopping = true;
    await Promise.all(this.#loops);
    return this.done;
  }
}

it("migrate --cells brings all to the release, names those it cannot reach, and can be repeated [#221]", async () => {
  const known = [...cells.values()].map(({ name, url }) => `${name}=${url}`).join(" ");
  const run = (text: string) => millrace(["migrate", "--cells", "--json"], { env: { MILLRACE_CELLS: text } });
  await sql("c", "drop schema millrace cascade");
  const broken = await run(`${known} gone=postgres://postgres@127.0.0.1:1/postgres`);
  expect(broken.code).toBe(1);
  const told = JSON.parse(broken.stdout) as { cells: { cell: string; state: string; error?: string }[] };
  expect(told.cells.map(({ cell, state }) => `${cell} ${state}`)).toEqual([
    "a current",
    "b current",
    "c current",
    "gone failed",
  ]);
  expect(told.cells[3]!.error).toMatch(/not available/);
  for (const again of [1, 2]) expect((await run(known)).code, `time ${again}`).toBe(0);
  await engine("c").check();
  expect(await run("a=nonsense")).toMatchObject({ code: 2 });
});

it("a queue moves under load: nothing is lost or done twice, stale clients find it, transactions are honoured or fail [#236]", async () => {
  const queue = "load";
  await engine("a").queuePut(queue, { maxAttempts: 3 });
  const enqueued: number[] = [];
  let retries = 0;
  let refusals = 0;
  let next = 0;
  let stopping = false;
  // their view of the world is the oldest there can be: they begin in the old cell each time
  const producers = times(3).map(async () => {
    while (!stopping) {
      const input = (next += 1);
      let calls = 0;
      const { cell } = await followMoves("a", cellOf, (to) => ((calls += 1), to.enqueue({ type: "t", queue, input })));
      expect(calls).toBe(cell === "a" ? 1 : 2);
      retries += calls - 1;
      enqueued.push(input);
      await sleep(3);
    }
  });
  const transactions = times(2).map(async (n) => {
    while (!stopping) {
      const input = (next += 1);
      const client = await cells.get("a")!.pool.connect();
      try {
        await client.query("begin");
        await engine("a").enqueue({ type: "t", queue, input }, { tx: client });
        await sleep(n * 15);
        await client.query(input % 5 === 0 ? "rollback" : "commit");
        if (input % 5 !== 0) enqueued.push(input);
      } catch (error) {
        await client.query("rollback");
        expect(error).toBeInstanceOf(QueueMovedError);
        expect(error).toMatchObject({ code: "MR030", queue, cell: "b" });
        refusals += 1;
        await sleep(5);
      } finally {
        client.release();
      }
      await sleep(3);
    }
  });
  const workers = new Workers(queue, ["a", "b"], async (job) => {
    if (job.attempt === 1 && Number(job.input) % 7 === 0) await sleep(3);
  });
  await until("there is load", () => workers.done.length > 50);

  // one that has enqueued before the move, and commits after it
  const straddling = await cells.get("a")!.pool.connect();
  await straddling.query("begin");
  await engine("a").enqueue({ type: "t", queue, input: -1 }, { tx: straddling });
  const steps: MoveProgress[] = [];
  const moved = moveQueue(engines(), queue, "b", { by: "ann", onProgress: (progress) => steps.push(progress) });
  await until("the queue has left", () => steps.some(({ step }) => step === "draining"));
  await until("stale clients were sent on", () => retries > 20 && refusals > 5);
  expect(steps.at(-1)?.step).toBe("draining"); // an open transaction may have more
  await expect(engine("a").enqueue({ type: "t", queue, input: -2 }, { tx: straddling })).rejects.toThrow(/has moved/);
  await straddling.query("rollback"); // the failed statement took the first with it
  straddling.release();
  expect(await moved).toEqual({ queue, from: "a", to: "b", untold: [] });
  stopping = true;
  await Promise.all([...producers, ...transactions]);
  const done = await workers.stop();
  expect(done.toSorted(byNumber)).toEqual(enqueued.toSorted(byNumber));
  expect(steps.map(({ step }) => step).filter((step, i, all) => step !== all[i - 1])).toEqual([
    "ready",
    "left",
    "draining",
    "done",
  ]);

  for (const name of ["a", "b", "c"])
    expect(await engine(name).moves.routes()).toContainEqual({ key: queue, cell: "b", version: 1 });
  expect(await sql("a", "select state, moved_to from queues where name = $1", [queue])).toEqual([
    { state: "moved", moved_to: "b" },
  ]);
  expect(await sql("b", "select state, options from queues where name = $1", [queue])).toEqual([
    { state: "active", options: { maxAttempts: 3 } },
  ]);
  const events = (await engine("a").queueEvents()).events.filter((event) => event.queue === queue);
  expect(events.map(({ event }) => event)).toEqual(["moved", "drained"]);
  await expect(engine("a").queueOpen(queue)).rejects.toThrow(QueueMovedError);
  // and back again, to where it was
  expect(await moveQueue(engines(), queue, "a")).toMatchObject({ from: "b", to: "a" });
  await engine("a").enqueue({ type: "t", queue, input: 1 });
  expect(await engine("a").claim({ queues: [queue] })).toHaveLength(1);
});

it("a transaction that enqueued before the move, and commits after it, is honoured where it began [#236]", async () => {
  const queue = "straddled";
  await engine("a").queuePut(queue);
  const client = await cells.get("a")!.pool.connect();
  await client.query("begin");
  const { id } = await engine("a").enqueue({ type: "t", queue, input: 1 }, { tx: client });
  let step = "";
  const moved = moveQueue(engines(), queue, "b", { onProgress: (progress) => (step = progress.step) });
  await until("the queue has left", () => step === "draining");
  await client.query("commit");
  client.release();
  const [job] = await claimUntil("a", queue);
  expect(job!.id).toBe(id);
  // retries stay where their job is
  await engine("a").retryLater(job!, { message: "again" }, 0);
  const [again] = await claimUntil("a", queue);
  expect(again).toMatchObject({ id, attempt: 2 });
  expect(step).toBe("draining");
  await engine("a").complete(again!);
  await moved;
});

it("an ordered group stays in order, and limits hold in sum [#237]", async () => {
  const queue = "ordered";
  await engine("a").queuePut(queue, { ordered: true, maxRunning: 3, rate: { perSecond: 400, burst: 100 } });
  await engine("a").groupPut(queue, "g1", { weight: 3 });
  let running = 0;
  let highest = 0;
  const inGroup = new Map<string, number>();
  const seen = new Map<string, number[]>();
  const workers = new Workers(
    queue,
    ["a", "b"],
    async (job) => {
      const group = job.group!;
      highest = Math.max(highest, (running += 1));
      expect(inGroup.get(group) ?? 0).toBe(0);
      inGroup.set(group, 1);
      await sleep(1);
      if (Number(job.input) % 10 === 0 && job.attempt === 1) await sleep(20);
      seen.set(group, [...(seen.get(group) ?? []), Number(job.input)]);
      inGroup.set(group, 0);
      running -= 1;
    },
    2,
  );
  const put = async (i: number): Promise<void> => {
    for (const group of ["g1", "g2", "g3", "g4"])
      await followMoves("a", cellOf, (to) => to.enqueue({ type: "t", queue, group, input: i }));
  };
  for (const i of times(20)) await put(i);
  const plan = await planMove(engines(), queue, "b");
  expect(plan).toMatchObject({ from: "a", to: "b", begun: false, held: true, against: [] });
  let step = "";
  const moved = moveQueue(engines(), queue, "b", { onProgress: (progress) => (step = progress.step) });
  for (const i of times(40)) await put(20 + i);
  await until("it has left", () => step !== "" && step !== "ready");
  await put(60);
  await moved;
  await put(61);
  const done = await workers.stop();
  expect(done).toHaveLength(4 * 62);
  for (const group of ["g1", "g2", "g3", "g4"]) expect(seen.get(group)).toEqual(times(62));
  expect(highest).toBeLessThanOrEqual(3);
  expect(await sql("b", "select weight from group_setting where group_key = 'g1'")).toEqual([{ weight: 3 }]);
});

it("a queue that is held cannot be resumed before all has ended, and a job that is left can be seen [#237]", async () => {
  const queue = "held";
  await engine("a").queuePut(queue, { maxRunning: 1 });
  await engine("a").enqueue({ type: "t", queue, input: 1 });
  await moveQueue(engines(), queue, "b", { detach: true });
  await engine("b").enqueue({ type: "t", queue, input: 2 });
  expect(await engine("b").claim({ queues: [queue] })).toEqual([]);
  await expect(engine("b").queueResume(queue)).rejects.toThrow(/is not paused/);
  expect(await engine("b").claim({ queues: [queue] })).toEqual([]);
  expect(await planMove(engines(), queue, "b")).toMatchObject({ begun: true, held: true, live: 1 });
  await expect(moveQueue(engines(), queue, "c")).rejects.toMatchObject({ code: "MR032", reason: "moving" });
  expect(await engine("c").moves.queue(queue)).toBeUndefined();
  await engine("a").complete((await engine("a").claim({ queues: [queue] }))[0]!);
  await moveQueue(engines(), queue, "b");
  expect((await engine("b").claim({ queues: [queue] })).map(({ input }) => input)).toEqual([2]);
});

it("a fingerprint lives in one cell at a time [#237]", async () => {
  const queue = "prints";
  await engine("a").queuePut(queue);
  const put = (fingerprint: string, more: object = {}) =>
    enqueueFollowing("a", cellOf, { type: "t", queue, fingerprint, input: fingerprint, ...more });
  const lives = await put("lives");
  const runs = await put("runs");
  const window = await put("window", { fingerprintMode: "window", fingerprintSeconds: 3600 });
  const claimed = await engine("a").claim({ queues: [queue], limit: 3 });
  await engine("a").release(claimed[0]!);
  await engine("a").complete(claimed[2]!);
  // in an open transaction while the queue moves
  const client = await cells.get("a")!.pool.connect();
  await client.query("begin");
  await engine("a").enqueue({ type: "t", queue, fingerprint: "open" }, { tx: client });
  await moveQueue(engines(), queue, "b", { detach: true });

  // what lives in the old cell is decided on there
  expect(await put("lives")).toEqual({ cell: "a", value: { id: lives.value.id, duplicate: true } });
  expect(await put("window", { fingerprintMode: "window", fingerprintSeconds: 3600 })).toEqual({
    cell: "a",
    value: { id: window.value.id, duplicate: true },
  });
  const follow = await put("runs", { fingerprintMode: "followUp", input: "after" });
  expect(follow).toMatchObject({ cell: "a", value: { duplicate: false } });
  expect(await put("runs", { fingerprintMode: "followUp" })).toMatchObject({ value: { duplicate: true } });
  // what nobody has is given up there for good, also to those who have not seen the move
  const fresh = await put("fresh");
  expect(fresh).toMatchObject({ cell: "b", value: { duplicate: false } });
  expect(await put("fresh")).toEqual({ cell: "b", value: { id: fresh.value.id, duplicate: true } });
  const open = put("open");
  await client.query("commit");
  client.release();
  expect(await open).toMatchObject({ cell: "a", value: { duplicate: true } });
  // without a client that knows both cells, or in a transaction, it is refused
  await expect(engine("b").enqueue({ type: "t", queue, fingerprint: "lives" })).rejects.toThrow(
    FingerprintElsewhereError,
  );
  await expect(
    followMoves("a", cellOf, (to) =>
      to.enqueueEach(["x", "lives"].map((fingerprint) => ({ type: "t", queue, fingerprint }))),
    ),
  ).rejects.toMatchObject({ code: "MR031", cell: "a", fingerprints: ["lives", "x"] });
  const many = await followMoves("a", cellOf, (to) =>
    to.enqueueEach(["x", "y"].map((fingerprint) => ({ type: "t", queue, fingerprint }))),
  );
  expect(many.cell).toBe("b");

  const moved = moveQueue(engines(), queue, "b");
  await engine("a").complete(claimed[1]!);
  const left: string[] = [];
  while (left.length < 3)
    for (const job of await claimUntil("a", queue)) {
      await engine("a").complete(job);
      left.push(JSON.stringify(job.input));
    }
  await moved;
  expect(left.toSorted()).toEqual([`"after"`, `"lives"`, "null"].toSorted());
  expect(await put("lives")).toMatchObject({ cell: "b", value: { duplicate: false } });
  // one that outlives its job is known here by the handle of that job, also when the queue moves on
  const known = { value: { id: `a:${window.value.id}`, duplicate: true } };
  const again = { fingerprintMode: "window", fingerprintSeconds: 3600 };
  expect(await put("window", again)).toMatchObject({ cell: "b", ...known });
  const [one, two] = await engine("b").enqueueEach(
    ["new", "window"].map((fingerprint) => ({ type: "t", queue, fingerprint, ...again })) as never,
  );
  expect(one).toMatchObject({ duplicate: false });
  expect(two).toEqual(known.value);
  for (let n = 0; n < 20; n += 1) await engine("b").maintain(); // stale ones are looked for by chance
  const workers = new Workers(queue, ["b"]);
  await moveQueue(engines(), queue, "c");
  await workers.stop();
  expect(await put("window", again)).toMatchObject({ cell: "c", ...known });
  expect((await put("new", again)).value).toEqual({ id: `b:${one!.id}`, duplicate: true });
  await sql("c", "update fingerprint set until = clock_now() - interval '1 second' where cell is not null");
  expect(await put("window", again)).toMatchObject({ cell: "c", value: { duplicate: false } });
  await engine("c").complete((await claimUntil("c", queue))[0]!);
  expect(runs.cell).toBe("a");
});

it("a move goes on after a crash at any point, and schedules make each slot once [#236]", async () => {
  let isBroken = true;
  for (let n = 1; isBroken; n += 1) {
    const queue = `crash-${n}`;
    await engine("a").queuePut(queue, { maxRunning: 2 });
    await engine("a").typePut(`type-${n}`, { maxAttempts: 4 });
    await engine("a").resourcePut(`resource-${n}`, { maxRunning: 2 });
    await engine("a").enqueue({ type: `type-${n}`, queue, input: n, resources: { [`resource-${n}`]: 1 } });
    await engine("a").schedules.put(`every-${n}`, {
      rule: { every: "PT1H" },
      job: { type: "t", queue },
      input: { big: 1 },
    });
    await engine("a").complete((await engine("a").claim({ queues: [queue] }))[0]!);
    const result = await moveQueue(failingFrom(n, engines()), queue, "b").catch((error: unknown) => error);
    isBroken = result === broken;
    if (isBroken) await moveQueue(engines(), queue, "b");
    else expect(result).toMatchObject({ from: "a", to: "b" });
    expect(await engine("b").moves.queue(queue), `after ${n}`).toMatchObject({ state: "active" });
    expect(await engine("a").moves.queue(queue)).toMatchObject({ state: "moved", movedTo: "b" });
    expect(await sql("a", "select name from schedule where name = $1", [`every-${n}`])).toEqual([]);
    expect(
      await sql(
        "b",
        "select s.rule, s.input, t.is_paused from schedule s join schedule_state t on t.schedule = s.name where s.name = $1",
        [`every-${n}`],
      ),
    ).toEqual([{ rule: { every: "PT1H" }, input: { big: 1 }, is_paused: false }]);
    expect(await sql("b", "select options from job_type where type = $1", [`type-${n}`])).toEqual([
      { options: { maxAttempts: 4 } },
    ]);
    expect(await sql("b", "select options from resource where name = $1", [`resource-${n}`])).toEqual([
      { options: { maxRunning: 2 } },
    ]);
    expect(n).toBeLessThan(60);
  }
});

it("says what speaks against a move, and what to do, before anything is changed [#236]", async () => {
  const a = engine("a");
  const against = async (queue: string): Promise<string[]> =>
    (await planMove(engines(), queue, "b")).against.map(({ reason }) => reason);
  await a.queuePut("plain");
  expect(await against("plain")).toEqual([]);
  expect(await engine("b").moves.queue("plain")).toBeUndefined();
  await a.queuePut("waits", { waitsFor: ["plain"] });
  expect(await against("waits")).toEqual(["waits"]);
  expect(await against("plain")).toEqual(["waited"]);
  await a.queuePut("staged");
  await a.enqueue({ type: "t", queue: "staged", stage: "later" });
  expect(await against("staged")).toEqual(["staged"]);
  await a.queuePut("paused");
  await a.queuePause("paused", { type: "t" });
  expect(await against("paused")).toEqual(["paused"]);
  await a.queuePut("closed");
  await a.enqueue({ type: "t", queue: "closed" });
  await a.queueClose("closed");
  expect(await against("closed")).toEqual(["closed"]);
  await a.resourcePut("gpu", { maxRunning: 1 });
  await a.typePut("limited", { maxRunning: 1 });
  for (const queue of ["one", "two"]) {
    await a.queuePut(queue);
    await a.enqueue({ type: "limited", queue, resources: { gpu: 1 } });
  }
  expect(await against("one")).toEqual(["resource", "type"]);
  await a.queuePut("there");
  await engine("b").queuePut("there", { priority: 1 });
  expect((await planMove(engines(), "there", "b", { from: "a" })).against.map(({ reason }) => reason)).toEqual([
    "exists",
  ]);
  await engine("b").cellPut({ maxAttempts: 7 });
  await a.queuePut("defaults");
  expect(await against("defaults")).toEqual(["defaults"]);
  await engine("b").cellPut({ maxAttempts: null });
  await expect(moveQueue(engines(), "one", "b")).rejects.toThrow(MoveRefusedError);
  await expect(moveQueue(engines(), "one", "nowhere")).rejects.toMatchObject({ code: "MR032", reason: "cell" });
  await expect(moveQueue(engines(), "nothing", "b")).rejects.toMatchObject({ code: "MR003" });
  expect(await engine("b").moves.queue("one")).toBeUndefined();
});

it("a cell is drained from the command line; one with live jobs cannot be removed [#238]", async () => {
  const env = { MILLRACE_CELLS: [...cells.values()].map(({ name, url }) => `${name}=${url}`).join(" ") };
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await millrace(["cells", ...args, "--json"], { env });
    return { code, told: JSON.parse(stdout || "null"), stderr };
  };
  const c = engine("c");
  await c.queuePut("drained", { priority: 3 });
  const { id } = await c.enqueue({ type: "t", queue: "drained" });
  expect(await run("remove", "c")).toMatchObject({ code: 2, stderr: expect.stringMatching(/still gets new queues/) });

  expect(await run("move", "drained", "b", "--dry-run")).toMatchObject({ code: 0, told: { from: "c", live: 1 } });
  expect(await run("move", "drained", "b", "--detach")).toMatchObject({ code: 0 });
  expect((await run("list")).told).toContainEqual(expect.objectContaining({ name: "c", state: "up", leaving: 1 }));
  expect((await run("doctor")).told).toContainEqual(
    expect.objectContaining({ cell: "b", state: "look", message: expect.stringMatching(/1 jobs are left there/) }),
  );
  expect((await run("drain", "c", "--dry-run")).told).toMatchObject({
    empty: [{ queue: "default" }],
    moves: [
      { queue: "drained", to: "b", begun: true, against: [] },
      { queue: "prints", begun: false, against: [] },
    ],
  });
  const draining = run("drain", "c", "--by", "ann");
  await c.complete((await c.claim({ queues: ["drained"] }))[0]!);
  const { told, ...ended } = await draining;
  expect(ended).toMatchObject({ code: 0, stderr: "" });
  expect(told.moved.map(({ queue }: { queue: string }) => queue).toSorted()).toEqual(["default", "drained", "prints"]);
  expect((await run("list")).told).toContainEqual(expect.objectContaining({ name: "c", list: "out" }));
  expect((await run("remove", "c", "--dry-run")).told).toEqual({ cell: "c", failed: 0, against: [], dryRun: true });
  expect(await run("remove", "c")).toMatchObject({ code: 0, told: { cell: "c", against: [] } });
  expect((await run("list")).told).toContainEqual(expect.objectContaining({ name: "c", list: "removed" }));
  expect(await run("move", "drained", "c")).toMatchObject({ code: 2, stderr: expect.stringMatching(/was removed/) });
  expect(await c.get(id)).toMatchObject({ job: { state: "succeeded" } }); // history stays
  expect(await engine("b").moves.queue("drained")).toMatchObject({ state: "active" });
  expect(await run("add", "nowhere")).toMatchObject({ code: 2, stderr: expect.stringMatching(/no cell/) });
  expect(await run("add", "c")).toMatchObject({ code: 2, stderr: expect.stringMatching(/another name/) });
  expect(await run("move", "drained", "nowhere")).toMatchObject({ code: 2, stderr: expect.stringMatching(/no cell/) });
  expect((await run("doctor", "--fix")).told.filter(({ state }: { state: string }) => state === "wrong")).toEqual([]);
});

const byNumber = (a: unknown, b: unknown): number => Number(a) - Number(b);

async function claimUntil(cell: string, queue: string): Promise<ClaimedJob[]> {
  let jobs: ClaimedJob[] = [];
  await until(`a job of ${queue} in ${cell}`, async () => {
    jobs = await engine(cell).claim({ queues: [queue], limit: 10 });
    return jobs.length > 0;
  });
  return jobs;
}
