import { describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { claimOne, enqueue, jobOf, newQueue, stateOf } from "../support/jobs.js";
import { endChild, waitingRun } from "../support/runs.js";
import { type Ended, type RunOptions, millrace } from "./cli.js";

const db = useDatabase();
const cli = (args: readonly string[], options: RunOptions = {}): Promise<Ended> =>
  millrace(args, { url: db.url, ...options });
const json = ({ stdout }: Ended): any => JSON.parse(stdout);

describe("jobs steps", () => {
  it("shows what a run has done, what it waits for and since when, and its children [#216]", async () => {
    const queue = await newQueue(db);
    const { id, children } = await waitingRun(db, queue);
    const child = await endChild(db, queue);
    const { code, stdout, stderr } = await cli(["jobs", "steps", id]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(
      /^order \d+ is suspended, and waits for a signal "approved" or "rejected", or 2 of 3 children of "pack" \(since /,
    );
    expect(stdout).toMatch(/charge +failed try +1 +120 ms +card refused, next try 2/);
    expect(stdout).toMatch(/charge +done +2 +34 ms +{"paid":true}/);
    expect(stdout).toMatch(/pack +started 3 jobs/);
    expect(stdout).toMatch(new RegExp(`pack +child succeeded +${child}, {"packed":true}`));
    for (const one of children)
      expect(stdout).toMatch(new RegExp(`^${one} +${one === child ? "succeeded" : "ready"} +pack`, "m"));

    const [shown, listed, below] = await Promise.all([
      cli(["jobs", "show", id]),
      cli(["jobs", "--state", "suspended", "--queue", queue]),
      cli(["jobs", "steps", child]),
    ]);
    expect(shown.stdout).toMatch(/^waits for +a signal "approved" or "rejected", or 2 of 3 children/m);
    expect(listed.stdout).toContain('waits for a signal "approved" or "rejected"');
    expect(below.stdout).toMatch(new RegExp(`it was started by ${id}\n\nno steps`));
  });

  it("goes on by pages, and leaves out long values [#216]", async () => {
    const { id } = await waitingRun(db, await newQueue(db));
    const first = json(await cli(["jobs", "steps", id, "--limit", "2", "--bytes", "5", "--json"]));
    expect(first).toMatchObject({
      id,
      state: "suspended",
      waits: { signals: ["approved", "rejected"] },
      steps: [{ kind: "try" }, { kind: "done", value: null, valueBytes: 13 }],
    });
    const rest = json(await cli(["jobs", "steps", id, "--after", first.next, "--json"]));
    expect(rest.steps).toMatchObject([{ kind: "started" }]);
    expect(rest).not.toHaveProperty("next");
    expect(json(await cli(["jobs", "steps", id, "--newest", "--step", "charge", "--json"])).steps).toMatchObject([
      { kind: "done" },
      { kind: "try" },
    ]);
    expect((await cli(["jobs", "steps", id, "--bytes", "5"])).stdout).toContain("a value of 13 B");
    expect(await cli(["jobs", "steps", "1"])).toMatchObject({ code: 1, stdout: expect.stringContaining("no job 1") });
  });
});

describe("tell", () => {
  it("lets a job go on that waits, once with an id [#198] [#216]", async () => {
    const { id } = await waitingRun(db, await newQueue(db));
    const hook = ["tell", id, "later", '{"n": 1}', "--id", "hook-1", "--json"];
    expect(json(await cli(hook))).toEqual({ told: true, isNew: true });
    expect(json(await cli(hook))).toEqual({ told: true, isNew: false });
    expect(await stateOf(db, id)).toBe("suspended");
    const told = await cli(["tell", id, "approved", "-"], { input: '{"by": "ann"}' });
    expect(told).toMatchObject({ code: 0, stderr: "", stdout: `told ${id} "approved"\n` });
    expect((await jobOf(db, id)).state).toBe("ready");
    expect((await db.engine.steps(id, { key: "approved", newest: true }))[0]).toMatchObject({
      kind: "got",
      value: { by: "ann" },
    });
  });

  it("says when a job has ended, or there is none [#201]", async () => {
    const { id } = await waitingRun(db, await newQueue(db));
    await db.engine.cancel([id]);
    expect(await cli(["tell", id, "approved"])).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("cancelled"),
    });
    expect(await cli(["tell", "1", "approved"])).toMatchObject({ code: 1, stdout: expect.stringContaining("1") });
    expect(await cli(["tell", id, "approved", "{not json"])).toMatchObject({ code: 2 });
  });
});

describe("answer", () => {
  it("ends the wait of a callback token, once [#202]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue);
    const token = await db.engine.stepToken(await claimOne(db, queue), "#token go", "go", 60);
    expect(await cli(["answer", token, '{"n": 1}'])).toMatchObject({ code: 0, stdout: `answered "go" of ${id}\n` });
    expect(json(await cli(["answer", token, "--json"]))).toMatchObject({ answered: false, reason: "used" });
    const forged = await cli(["answer", `${token}0`]);
    expect(forged).toMatchObject({ code: 1, stdout: expect.stringContaining("nobody was given this token") });
    expect(forged.stdout + forged.stderr).not.toContain(token);
    expect(await db.engine.steps(id, { key: "go" })).toMatchObject([{ kind: "signal", value: { n: 1 } }]);
  });
});

describe("flow enqueue", () => {
  it("stores jobs that wait for each other, and refuses circles [#208]", async () => {
    const queue = await newQueue(db);
    const flow = {
      name: "import",
      queue,
      jobs: [
        { type: "load", queue, after: ["a"], priority: 1 },
        { name: "a", type: "extract", queue, input: { n: 1 } },
      ],
    };
    const { id, jobs } = json(await cli(["flows", "enqueue", "-", "--json"], { input: JSON.stringify(flow) }));
    expect(await db.engine.flowGet(id)).toMatchObject({ name: "import", total: 2 });
    expect(await jobOf(db, jobs[0])).toMatchObject({ type: "load", state: "suspended", priority: 1 });
    expect(await jobOf(db, jobs[1])).toMatchObject({ type: "extract", state: "ready", input: { n: 1 } });
    const circle = '{"jobs": [{"name": "a", "type": "x", "after": ["a"]}]}';
    expect(json(await cli(["flows", "--json"]))).toMatchObject([{ id, type: "millrace.flow" }]);
    expect((await cli(["flows", "--state", "failed"])).stdout).toContain("no flows");
    expect(await cli(["flows", "enqueue", circle])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("wait for each other"),
    });
    expect(await cli(["flows", "enqueue", '{"job": []}'])).toMatchObject({ code: 2 });
    expect(await cli(["flows", "enqueue", "7"])).toMatchObject({ code: 2 });
  });
});

describe("tell --by-fingerprint", () => {
  it("reaches the live job of a queue [#201]", async () => {
    const queue = await newQueue(db);
    const id = await enqueue(db, queue, { fingerprint: "order-7" });
    const tell = ["tell", "order-7", "paid", "1", "--queue", queue];
    expect(await cli([...tell, "--by-fingerprint"])).toMatchObject({ code: 0, stdout: 'told order-7 "paid"\n' });
    expect(await db.engine.steps(id)).toMatchObject([{ kind: "signal", key: "paid", value: 1 }]);
    expect(await cli(tell)).toMatchObject({ code: 2, stderr: expect.stringContaining("--by-fingerprint") });
    expect(await cli(["tell", "order-8", "paid", "--by-fingerprint", "--queue", queue])).toMatchObject({ code: 1 });
  });
});
