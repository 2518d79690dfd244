import { describe, expect, it } from "vitest";
import { TokenRefusedError, type TokenRefusal } from "../../src/db/errors.js";
import { defineJob } from "../../src/job/define-job.js";
import type { JobId } from "../../src/db/types.js";
import { claimOne, enqueue, stateOf } from "../support/jobs.js";
import { useMill } from "../support/mill.js";
import { suspend } from "../support/runs.js";
import { isBlocked } from "../support/sessions.js";
import { until } from "../support/wait.js";

const test = useMill();
const approval = defineJob("approval");
const patience = { timeout: "30s" } as const;

interface WithToken {
  readonly id: JobId;
  readonly token: string;
}

/** A job that has given out a token, and waits for its answer. */
async function waiting(options: { readonly expires?: number; readonly name?: string } = {}): Promise<WithToken> {
  const { expires = 3600, name = "approved" } = options;
  const queue = await test.queue();
  const id = await enqueue(test.db, queue);
  const { token: holder } = await claimOne(test.db, queue);
  const token = await test.db.engine.stepToken({ id, token: holder }, `#token ${name}`, name, expires);
  await suspend(test.db, { id, token: holder }, [{ key: name, signals: [name] }]);
  return { id, token };
}

const refused = (reason: TokenRefusal) => ({
  name: "TokenRefusedError",
  code: "MR020",
  reason,
  remedy: expect.any(String),
});

describe("a callback token", () => {
  it("ends one wait, once, and is the same in each call of the handler [#202]", async () => {
    const queue = await test.queue();
    const tokens: string[] = [];
    const worker = test.worker(queue).handle(approval, async (job, { step }) => {
      const token = await step.token("approved");
      tokens.push(token);
      await step.sleep("nap", "5ms");
      if (job.attempt === 1) throw new Error("again");
      const first = await step.waitFor("approved");
      const second = await step.token("approved");
      tokens.push(second);
      return { first, second: await step.waitFor("approved", { timeout: "1h" }) };
    });
    await worker.start();
    const { id } = await test.mill.enqueue(approval, null, { queue, retryDelay: "10ms" });
    await until("it waits", async () => (await test.mill.jobs.get(id))!.job.waits?.signals?.[0] === "approved");
    const [token] = tokens as [string];
    expect(token).toMatch(new RegExp(`^mrt_${id}_\\d+_[0-9a-f]{64}$`));
    expect(new Set(tokens)).toEqual(new Set([token]));
    expect(tokens.length).toBeGreaterThan(2);
    expect(await test.mill.answer(token, { by: "ann" })).toEqual({ job: id, name: "approved" });
    await expect(test.mill.answer(token, { by: "eve" })).rejects.toMatchObject(refused("used"));
    await until("it has given out another one", () => Promise.resolve(new Set(tokens).size === 2));
    await test.mill.answer(tokens.at(-1)!, { by: "bob" });
    expect(await test.mill.result(id, patience)).toEqual({ first: { by: "ann" }, second: { by: "bob" } });
    for (const used of new Set(tokens)) await expect(test.mill.answer(used)).rejects.toMatchObject(refused("used"));
  });

  it("may be answered before anybody waits, and commits with the transaction [#202] [#197]", async () => {
    const queue = await test.queue();
    const id = await enqueue(test.db, queue);
    const held = await claimOne(test.db, queue);
    const token = await test.db.engine.stepToken(held, "#token go", "go", 60);
    const client = await test.db.connect();
    await client.query("begin");
    await test.mill.answer(token, "never", { tx: client });
    const second = test.mill.answer(token, "counts");
    expect(await isBlocked(test.db, second, client)).toBe(true);
    await client.query("rollback");
    expect(await second).toEqual({ job: id, name: "go" });
    await suspend(test.db, held, [{ key: "go", signals: ["go"] }]);
    await test.db.engine.noticesDeliver();
    expect(await stateOf(test.db, id)).toBe("ready");
    expect((await test.db.engine.steps(id, { key: "go" })).map(({ kind, value }) => [kind, value])).toEqual([
      ["signal", "counts"],
      ["got", "counts"],
    ]);
  });

  it("of 100 answers at once one counts [#202]", async () => {
    const { id, token } = await waiting();
    const answers = await Promise.allSettled(Array.from({ length: 100 }, (_, n) => test.mill.answer(token, { n })));
    expect(answers.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const answer of answers)
      if (answer.status === "rejected") expect(answer.reason).toMatchObject(refused("used"));
    const won = answers.findIndex(({ status }) => status === "fulfilled");
    await test.db.engine.noticesDeliver();
    expect(await test.db.engine.steps(id, { key: "approved" })).toMatchObject([
      { kind: "signal", value: { n: won } },
      { kind: "got", value: { n: won } },
    ]);
  });

  it("is refused when it was forged, cut off, bent or is no text, and tells nothing of any job [#202]", async () => {
    const { id, token } = await waiting();
    const other = await waiting();
    const mac = token.slice(-64);
    const turned = (digit: string): string => (digit === "0" ? "1" : "0");
    const forged = [
      token.slice(0, -1),
      `${token}0`,
      `${token}\n`,
      ` ${token}`,
      token.toUpperCase(),
      token.slice(0, -1) + turned(token.at(-1)!),
      token.slice(0, -64) + turned(mac[0]!) + mac.slice(1),
      other.token.slice(0, -64) + mac,
      `mrt_0${token.slice(4)}`,
      `mrt_1_1_${mac}`,
      "",
      "mrt___",
      "x".repeat(1_000_000),
      `${token}${"0".repeat(10_000)}`,
      "' or true --",
      "\0",
    ];
    const told = new Set<string>();
    for (const one of forged) {
      const error = await test.mill.answer(one).catch((thrown: unknown) => thrown);
      expect(error, one.slice(0, 200)).toMatchObject(refused("unknown"));
      told.add((error as Error).message);
      const bySql = one.includes("\0") ? undefined : await test.db.sql("select job_answer($1)", [one]).catch((e) => e);
      if (bySql) expect(bySql).toMatchObject({ code: "MR020", detail: '{"reason" : "unknown"}' });
    }
    expect([...told]).toEqual(["nobody was given this token (use it exactly as it was given out)"]);
    for (const one of [null, undefined, 7, {}, [token]])
      await expect(test.mill.answer(one as never)).rejects.toBeInstanceOf(TokenRefusedError);
    expect(await stateOf(test.db, id)).toBe("suspended");
    await test.mill.answer(token);
  });

  it("is refused when it has expired, or its job has ended, was purged or is gone [#202]", async () => {
    const [late, cancelled, purged, gone] = await Promise.all([
      waiting({ expires: 5 }),
      waiting(),
      waiting(),
      waiting(),
    ]);
    await test.db.engine.cancel([cancelled.id]);
    await test.db.engine.queuePurge((await test.mill.jobs.get(purged.id))!.job.queue);
    await test.db.sql("delete from step where job_id = $1", [gone.id]); // as after its retention
    await test.db.moveClock(5);
    await expect(test.mill.answer(cancelled.token)).rejects.toMatchObject(refused("ended"));
    await expect(test.mill.answer(purged.token)).rejects.toMatchObject(refused("ended"));
    await expect(test.mill.answer(gone.token)).rejects.toMatchObject(refused("ended"));
    await expect(test.mill.answer(late.token)).rejects.toMatchObject(refused("expired"));
    expect(await stateOf(test.db, late.id)).toBe("suspended");
  });

  it("is void when its run was rewound to before it, and stays when it was rewound to later [#202] [#214]", async () => {
    const queue = await test.queue();
    const tokens: string[] = [];
    const worker = test.worker(queue).handle(approval, async (_job, { step }) => {
      await step.run("begin", () => 1);
      tokens.push(await step.token("approved"));
      await step.run("mail", () => 2);
      return step.waitFor("approved");
    });
    await worker.start();
    const { id } = await test.mill.enqueue(approval, null, { queue });
    const waits = (calls: number) =>
      until(`call ${calls} waits`, async () => tokens.length >= calls && (await stateOf(test.db, id)) === "suspended");
    await waits(1);
    await test.mill.jobs.rewind(id, { to: "mail" });
    await waits(2);
    expect(tokens[1]).toBe(tokens[0]);
    await test.mill.jobs.rewind(id, { to: "begin" });
    await waits(3);
    expect(tokens[2]).not.toBe(tokens[0]);
    await expect(test.mill.answer(tokens[0]!)).rejects.toMatchObject(refused("void"));
    await test.mill.answer(tokens[2]!, "yes");
    expect(await test.mill.result(id, patience)).toBe("yes");
  });

  it("is given by nobody who has lost the job, and stands in no table [#202] [#184]", async () => {
    const queue = await test.queue();
    const id = await enqueue(test.db, queue);
    const held = await claimOne(test.db, queue);
    const token = await test.db.engine.stepToken(held, "#token go", "go", 60);
    const mac = token.slice(-64);
    const seen = await test.db.sql("select s::text from step s where job_id = $1", [id]);
    expect(JSON.stringify([seen, await test.db.engine.steps(id)])).not.toContain(mac);
    await test.db.engine.release(held);
    await expect(test.db.engine.stepToken(held, "#token go", "go", 60)).rejects.toMatchObject({
      name: "LeaseLostError",
    });
    const [again] = await test.db.engine.claim({ queues: [queue] });
    expect(await test.db.engine.stepToken(again!, "#token go", "go", 9)).toBe(token);
  });

  it("needs a name, an end, and options that there are [#202]", async () => {
    const queue = await test.queue();
    const wrong: readonly unknown[][] = [
      [""],
      ["a#b"],
      ["go", { expires: "0s" }],
      ["go", { expires: "40y" }],
      ["go", { expires: "soon" }],
      ["go", { timeout: "1d" }],
    ];
    const worker = test.worker(queue).handle(approval, async (_job, { step }) => {
      const codes: unknown[] = [];
      for (const args of wrong)
        codes.push(
          await step.token(...(args as Parameters<typeof step.token>)).catch((error: { code: string }) => error.code),
        );
      return codes;
    });
    await worker.start();
    const { id } = await test.mill.enqueue(approval, null, { queue });
    expect(await test.mill.result(id, patience)).toEqual(wrong.map(() => "MR001"));
  });
});
