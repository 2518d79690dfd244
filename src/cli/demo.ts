import pg from "pg";
import { Engine } from "../db/engine.js";
import { migrate } from "../db/migrate.js";
import { startEmbeddedServer } from "../embedded/server.js";

const jobs = 5000;
const batch = 500;

/** The main job, for a person to watch: enqueue, claim and finish a few thousand jobs on a PostgreSQL of our own. */
export async function demo(): Promise<number> {
  const since = stopwatch();
  const server = await startEmbeddedServer();
  const pool = new pg.Pool({ connectionString: server.url, max: 4 });
  try {
    const [{ version }] = (await pool.query("select split_part(version(), ' ', 2) as version")).rows as [{ version: string }];
    say(`PostgreSQL ${version} runs on port ${server.port}`, since());
    await migrate(pool);
    say("schema installed", since());

    const engine = new Engine({ pool });
    for (let i = 0; i < jobs; i += batch) {
      await engine.enqueueMany(
        "resize",
        Array.from({ length: batch }, (_, n) => ({ key: `image-${i + n}.png` })),
      );
    }
    say(`${count(jobs)} jobs enqueued`, since());
    await engine.enqueue({ type: "report", input: { month: "2026-11" }, priority: 0 });
    await engine.enqueue({ type: "resize", input: { key: "broken.png" }, maxAttempts: 2, retry: 0 });

    const finished = { succeeded: 0, retried: 0 };
    for (;;) {
      const claimed = await engine.claim({ limit: batch, worker: "demo" });
      if (claimed.length === 0) break;
      if (claimed[0]?.type === "report") say("the urgent report came first, before everything older", since());
      const broken = claimed.filter((job) => (job.input as { key?: string }).key === "broken.png");
      for (const job of broken) await engine.retry(job, { message: "not an image" });
      finished.retried += broken.length;
      const good = claimed.filter((job) => !broken.includes(job));
      for (const token of new Set(good.map((job) => job.token))) {
        await engine.completeMany(
          token,
          good.filter((job) => job.token === token).map((job) => job.id),
        );
      }
      finished.succeeded += good.length;
    }
    say(`${count(finished.succeeded)} jobs finished, ${finished.retried} attempts failed`, since());

    const [failed] = await engine.list({ state: "failed" });
    say(`one job failed after ${failed?.attempts} attempts: ${failed?.lastError?.message} (${failed?.reason})`);
    const depth = await engine.depth();
    say(`waiting now: ${depth.ready} ready, ${depth.delayed} delayed, ${depth.running} running`);
    return depth.ready + depth.delayed + depth.running === 0 ? 0 : 1;
  } finally {
    await pool.end();
    await server.stop();
  }
}

function stopwatch(): () => number {
  let last = performance.now();
  return () => {
    const now = performance.now();
    const passed = now - last;
    last = now;
    return passed;
  };
}

const count = (n: number): string => n.toLocaleString("en");

function say(what: string, ms?: number): void {
  console.log(`${ms === undefined ? "       " : `${ms.toFixed(0).padStart(4)} ms`}  ${what}`);
}
