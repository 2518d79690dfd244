import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import { defineJob } from "../../src/job/define-job.js";
import { useMill } from "../support/mill.js";
import { until } from "../support/wait.js";

const test = useMill();

it.each(["before", "after"])(
  "a pool of the user's that loses all its connections does not end the process (connected %s)",
  async (when) => {
    const name = `of the user, ${when}`;
    const pool = new pg.Pool({ connectionString: test.db.url, max: 8, application_name: name });
    onTestFinished(() => pool.end());
    const unheard: unknown[] = [];
    const onUnheard = (error: unknown): void => void unheard.push(error);
    process.on("uncaughtException", onUnheard); // what would have ended the process
    onTestFinished(() => void process.off("uncaughtException", onUnheard));
    if (when === "before") await Promise.all([pool.query("select 1"), pool.query("select 1")]);
    const lines: string[] = [];
    const told = (_fields: object, message: string): void => void lines.push(message);
    const mill = test.open({ connection: pool, logger: { warn: told, error: told } });
    const queue = await test.queue();
    const worker = test.worker(queue, {}, mill).handle(defineJob("t"), () => "done");
    await worker.start();
    const held = await pool.connect(); // in the hands of the application, between two statements
    await Promise.all([pool.query("select 1"), pool.query("select 1")]); // and some that are idle
    const end = "select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1";
    await until("that is told", async () => {
      await test.db.sql(end, [name]); // again where the worker had all others in hands: then its statements are told
      return lines.some((line) => line.startsWith("the pool has lost a connection"));
    });
    await expect(held.query("select 1")).rejects.toThrow();
    held.release(true);
    const job = await test.mill.enqueue("t", null, { queue });
    expect(await test.mill.result(job, { timeout: "20s" })).toBe("done");
    expect(unheard).toEqual([]);
    await mill.close();
    expect(["error", "connect", "acquire"].map((event) => pool.listenerCount(event as "error"))).toEqual([0, 0, 0]);
  },
);
