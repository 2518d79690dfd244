import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineJob } from "../../src/job/define-job.js";
import { millrace } from "../cli/cli.js";
import { useMill } from "../support/mill.js";

const test = useMill();
const jobOf = async (id: string) => (await test.mill.jobs.get(id))!.job;

/** Start a worker that has these definitions, and stop it. */
async function declare(...definitions: ReturnType<typeof defineJob>[]): Promise<string[]> {
  const lines: string[] = [];
  const told = (_fields: object, message: string): void => void lines.push(message);
  const mill = test.open({ release: "r7", logger: { warn: told, error: told } });
  const worker = mill.worker({ queues: [await test.queue()] });
  for (const definition of definitions) worker.handle(definition, () => {});
  await worker.start();
  await worker.stop();
  return lines;
}

describe("the defaults of a definition", () => {
  it("hold for producers that do not have its code: SQL, the library by name, and the command line", async () => {
    const queue = await test.queue();
    await declare(
      defineJob("send-mail", {
        queue,
        maxAttempts: 3,
        retryDelay: ["10s", "1m"],
        priority: 2,
        cost: 4,
        attemptTimeout: "2m",
        ttl: "1h",
        input: z.object({ to: z.string() }),
      }),
    );
    const [row] = await test.db.sql("select job_id::text as id from job_enqueue('send-mail', '{\"to\": \"a\"}')");
    const byName = await test.mill.enqueue("send-mail", { to: "a" });
    const withOptions = await test.mill.enqueue("send-mail", { to: "a" }, { group: "g", maxAttempts: 7 });
    const [many] = await test.mill.enqueueMany("send-mail", [{ to: "a" }], { tenant: "t" });
    const cli = await millrace(["enqueue", "send-mail", '{"to": "a"}'], { url: test.db.url });
    for (const id of [row!["id"] as string, byName.id, withOptions.id, many!.id, cli.stdout.trim()]) {
      expect(await jobOf(id)).toMatchObject({ queue, priority: 2, maxAttempts: id === withOptions.id ? 7 : 3 });
      const [stored] = await test.db.sql("select retry, cost, attempt_timeout_ms, start_by from job where id = $1", [
        id,
      ]);
      expect(stored).toMatchObject({ retry: [10, 60], attempt_timeout_ms: 120_000, start_by: expect.any(Date) });
    }
    const elsewhere = await test.queue();
    const chosen = await test.mill.enqueue("send-mail", { to: "a" }, { queue: elsewhere, priority: 9 });
    expect(await jobOf(chosen.id)).toMatchObject({ queue: elsewhere, priority: 9, maxAttempts: 3 });
    const wrong = await millrace(["enqueue", "send-mail", '{"to": 5}'], { url: test.db.url });
    expect(wrong).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('the input of "send-mail" is not valid: to'),
    });
    expect(await test.mill.engine.definitions("send-mail")).toMatchObject([
      { version: 1, queue, declaredBy: "r7", inputSchema: { type: "object", required: ["to"] } },
    ]);
  });

  it("are those of the higher version while two releases run, else of the one that started last", async () => {
    const [old, young] = [await test.queue(), await test.queue()];
    const release = (version: number, queue: string, maxAttempts: number) =>
      defineJob("rolled", { version, queue, maxAttempts, upcast: { 1: (input) => input } });
    const declared = async () => (await test.mill.engine.definitions("rolled"))[0];
    expect(await declare(release(1, old, 4))).toEqual([]);
    await declare(release(1, old, 5));
    expect(await declared()).toMatchObject({ version: 1, queue: old, defaults: { maxAttempts: 5 } });
    await declare(release(2, young, 6));
    expect(await declare(release(1, old, 5))).toEqual(["newer versions are declared by others: rolled"]);
    expect(await declared()).toMatchObject({ version: 2, queue: young, defaults: { maxAttempts: 6 } });
    const [before] = await test.db.sql("select xmin::text as xmin from job_definition where type = 'rolled'");
    await declare(release(2, young, 6));
    expect(await test.db.sql("select xmin::text as xmin from job_definition where type = 'rolled'")).toEqual([before]);
    // A producer that has the code says what it knows.
    const job = await test.mill.enqueue(release(1, old, 5), null);
    expect(await jobOf(job.id)).toMatchObject({ queue: old, maxAttempts: 5 });
  });

  it("are declared by a role that may, and missed by nobody else", async () => {
    await expect(test.mill.engine.typeDeclare([{ type: "", defaults: {} }])).rejects.toMatchObject({ code: "MR001" });
    await expect(test.mill.engine.typeDeclare([{ type: "t", defaults: { maxAttempts: -1 } }])).rejects.toMatchObject({
      code: "MR001",
    });
    await test.db.sql("alter function type_declare(jsonb, text) rename to type_declare_gone");
    const lines = await declare(defineJob("undeclared"));
    await test.db.sql("alter function type_declare_gone(jsonb, text) rename to type_declare");
    expect(lines).toEqual([expect.stringContaining("type_declare")]);
    expect(await test.mill.engine.definitions("undeclared")).toEqual([]);
  });
});
