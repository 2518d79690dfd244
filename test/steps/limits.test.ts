import { afterEach, describe, expect, it } from "vitest";
import { bounds } from "../../src/db/limits.js";
import type { JobId } from "../../src/db/types.js";
import { defineJob } from "../../src/job/define-job.js";
import { PermanentError } from "../../src/job/permanent-error.js";
import { Journal } from "../../src/steps/journal.js";
import { claimOne, enqueue, jobOf, stateOf } from "../support/jobs.js";
import { useMill } from "../support/mill.js";
import { until } from "../support/wait.js";

const test = useMill();
const patience = { timeout: "30s" } as const;
const work = defineJob("work", { retryDelay: 0 });
const tooMany = { name: "RunLimitError", code: "MR019" };
const { signal } = new AbortController();

type Told = readonly [name: string, cause?: string];
const told = (error: Error): Told =>
  error.cause === undefined ? [error.name] : [error.name, (error.cause as { code: string }).code];

/** As if a run had written so many steps, or been sent so many signals, with values of so many characters. */
async function past(id: JobId, count: number, characters: number, kind = "done"): Promise<void> {
  await test.db.sql(
    `insert into step (job_id, slot, key, kind, n, at, value)
     select $1, job_slot($1), 'old#' || i, $4::step_kind, 0, clock_now(), to_json(repeat('x', $3))
       from generate_series(2, $2 + 1) i`,
    [id, count, characters, kind],
  );
}

const recordsOf = async (id: JobId): Promise<number> =>
  Number((await test.db.sql("select count(*) from step where job_id = $1", [id]))[0]!["count"]);

describe("a run that has written as many steps as it may", () => {
  it("begins nothing new, whatever it is, and gets what it has done", async () => {
    const queue = await test.queue();
    const { id } = await test.mill.enqueue(work, null, { queue });
    await past(id, bounds.runSteps - 1, 1);
    let worked = 0;
    const worker = test.worker(queue).handle(work, async (_job, { step }) => {
      await step.run("old", () => "once"); // the last that fits
      const count = (): number => (worked += 1);
      const new_ = [
        step.run("run", count),
        step.transaction("transaction", test.db.pool, count),
        step.sleep("sleep", "1h"),
        step.sleepUntil("sleepUntil", new Date(8e12)),
        step.waitFor("waitFor", { timeout: "1h" }),
        step.waitFor("for ever"),
        step.token("token"),
        step.call("call", work, null),
        step.map("map", work, [null]),
        step.start("start", work, null),
      ] as readonly Promise<unknown>[];
      const refused = await Promise.all(new_.map((one) => one.then(() => "no error", told)));
      return { refused, known: await step.run("old", count), worked };
    });
    await worker.start();
    expect(await test.mill.result(id, patience)).toEqual({
      refused: Array.from({ length: 10 }, () => ["RunLimitError"]),
      known: "x",
      worked: 0,
    });
    expect(await recordsOf(id)).toBe(bounds.runSteps);
    expect(await test.mill.jobs.list({ queue })).toHaveLength(1);
  });

  it("undoes what it has done all the same", async () => {
    const queue = await test.queue();
    const { id } = await test.mill.enqueue(work, null, { queue });
    await past(id, bounds.runSteps - 1, 1);
    const undone: unknown[] = [];
    const worker = test.worker(queue).handle(work, async (_job, { step }) => {
      await step.run("last", () => 1, { undo: (value) => void undone.push(value) });
      await step
        .run("more", () => 2)
        .catch((error: Error) => {
          throw new PermanentError("full", { cause: error });
        });
    });
    await worker.start();
    await until("it has failed", async () => (await stateOf(test.db, id)) === "failed");
    expect(undone).toEqual([1]);
    expect((await jobOf(test.db, id)).lastError).toMatchObject({ message: "full", cause: { code: "MR019" } });
  });
});

describe("a run that remembers as many bytes as it may", () => {
  it("also by what others have sent, is refused a value that does not fit, and takes one that does, in all calls alike", async () => {
    const queue = await test.queue();
    const { id } = await test.mill.enqueue(work, null, { queue });
    await past(id, 63, 1_048_000, "signal");
    const calls: string[] = [];
    const worker = test.worker(queue).handle(work, async (_job, { step }) => {
      const give = (name: string, length: number) =>
        step.run(name, () => (calls.push(name), "x".repeat(length))).then((value: string) => value.length, told);
      const given = [await give("large", 1_000_000), await give("too large", 200_000), await give("small", 10)];
      await step.sleep("between", "1ms");
      return given;
    });
    await worker.start();
    expect(await test.mill.result(id, patience)).toEqual([1_000_000, ["StepFailedError", "MR019"], 10]);
    expect(calls).toEqual(["large", "too large", "small"]);
  });
});

describe("where SQL has lower limits", () => {
  const define = async (): Promise<string> =>
    (await test.db.sql("select pg_get_functiondef('bound'::regproc) as text"))[0]!["text"] as string;
  let before: string | undefined;
  async function lower(steps: number, bytes: number): Promise<void> {
    before = await define();
    await test.db.sql(
      before
        .replace(/when 'runSteps' then \d+/, `when 'runSteps' then ${steps}`)
        .replace(/when 'runBytes' then \d+/, `when 'runBytes' then ${bytes}`),
    );
  }
  afterEach(async () => {
    if (before !== undefined) await test.db.sql(before);
    before = undefined;
  });

  it("what remembers four times as much is not read, and ends as failed", async () => {
    const queue = await test.queue();
    const ids = (await test.mill.enqueueMany(work, [1, 2, 3], { queue, maxAttempts: 1 })).map(({ id }) => id);
    await past(ids[1]!, 50, 10_000, "signal");
    await lower(1000, 100_000);
    await expect(test.db.engine.stepsGet([ids[1]!])).rejects.toMatchObject(tooMany);
    const worker = test.worker(queue).handle(work, (_job, { step }) => step.run("one", () => 1));
    await worker.start();
    expect(await test.mill.result(ids[0]!, patience)).toBe(1);
    expect(await test.mill.result(ids[2]!, patience)).toBe(1);
    await until("it has failed", async () => (await stateOf(test.db, ids[1]!)) === "failed");
    expect((await jobOf(test.db, ids[1]!)).lastError).toMatchObject({ code: "MR019" });
  });

  it.each([
    ["steps", 100, 1_000_000, "1"],
    ["bytes", 1_000_000, 20_000, "repeat('x', 100)"],
  ])("callers of steps_put who do not count are refused before long: %s", async (_what, steps, bytes, value) => {
    const queue = await test.queue();
    const id = await enqueue(test.db, queue);
    const { token } = await claimOne(test.db, queue);
    await lower(steps, bytes);
    const put = (calls: number) =>
      test.db.sql(
        `select steps_put(json_build_array(json_build_object('token', $1::text, 'job', $2::text, 'steps',
           json_build_array(json_build_object('key', 's' || i, 'kind', 'done', 'value', ${value})))))
           from generate_series(1, $3) i`,
        [token, id, calls],
      );
    await put(150);
    await expect(put(30_000)).rejects.toMatchObject({ code: "MR019" });
    expect(await recordsOf(id)).toBe(150);
  });
});

describe("what many runs remember", () => {
  it("is read in parts, as many bytes at once as are wanted", async () => {
    const queue = await test.queue();
    const ids: JobId[] = [];
    for (let i = 0; i < 8; i += 1) ids.push(await enqueue(test.db, queue));
    for (const id of ids.slice(1)) await past(id, 2, 500_000);
    const { engine } = test.open();
    const answers: number[] = [];
    const runsGet = engine.runsGet.bind(engine);
    engine.runsGet = async (jobs, maxBytes, call) => {
      const found = await runsGet(jobs, maxBytes, call);
      answers.push([...found.values()].reduce((sum, { bytes }) => sum + bytes, 0));
      return found;
    };
    const journal = new Journal(engine);
    const read = await Promise.all(ids.map((id) => journal.read(id, signal)));
    expect(read.map(({ records }) => records.length)).toEqual([0, ...Array.from({ length: 7 }, () => 2)]);
    expect(read.map(({ bytes }) => Math.round(bytes / 1e6))).toEqual([0, 1, 1, 1, 1, 1, 1, 1]);
    expect(answers).toHaveLength(2);
    expect(Math.max(...answers)).toBeLessThan(4_000_000 + 1_100_000); // one more than what was wanted
  });
});

describe("other limits", () => {
  it("children: more than a step may have are refused, and none is started [#202]", async () => {
    const queue = await test.queue();
    const worker = test.worker(queue).handle(work, async (_job, { step }) => {
      const inputs = Array.from({ length: bounds.children + 1 }, () => null);
      const error = await step.map("many", work, inputs, { queue }).catch((reason: unknown) => reason);
      return { name: (error as Error).name, code: (error as { code: string }).code };
    });
    await worker.start();
    const { id } = await test.mill.enqueue(work, null, { queue });
    expect(await test.mill.result(id, patience)).toEqual(tooMany);
    expect(await test.mill.jobs.list({ queue })).toHaveLength(1);
    await worker.stop();

    await enqueue(test.db, queue);
    const held = await claimOne(test.db, queue);
    const children = "(select json_agg('{}'::json) from generate_series(1, 100001))";
    await expect(
      test.db.sql(`select step_start($1, $2, 'many', ${children}, ${children})`, [held.token, held.id]),
    ).rejects.toMatchObject({ code: "MR019" });
    await expect(
      test.db.sql('select flow_enqueue((select json_agg(\'{"type": "x"}\'::json) from generate_series(1, 100001)))'),
    ).rejects.toMatchObject({ code: "MR019" });
  });

  it("edges: a job of a flow that waits for more than it may is refused, with all of the flow [#208]", async () => {
    const queue = await test.queue();
    const flowOf = (parents: number) => {
      const flow = test.mill.flow();
      const after = Array.from({ length: parents }, () => flow.add(work, null, { queue }));
      flow.add(work, null, { queue, after });
      return flow;
    };
    await expect(flowOf(bounds.edges + 1).enqueue()).rejects.toMatchObject(tooMany);
    expect(await test.mill.jobs.list({ queue })).toEqual([]);
    await flowOf(bounds.edges).enqueue();
    const [stored] = await test.db.sql("select count(*)::int from jobs where queue = $1", [queue]);
    expect(stored).toEqual({ count: bounds.edges + 1 });
  });
});
