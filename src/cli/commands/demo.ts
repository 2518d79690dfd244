import pg from "pg";
import { Engine } from "../../db/engine.js";
import { migrate } from "../../db/migrate.js";
import { provideBinaries } from "../../embedded/fetch.js";
import { startEmbeddedServer } from "../../embedded/server.js";
import type { Command, ExitCode } from "../command.js";
import { count } from "../format.js";
import type { Output } from "../output.js";

const jobs = 5000;
const batch = 500;

export const demoCommand: Command = {
  name: "demo",
  summary: "enqueue, claim and finish a few thousand jobs on an embedded PostgreSQL",
  details: ["Takes seconds, needs nothing but npm, and leaves nothing behind. To stay and play, see `millrace dev`."],
  arguments: [],
  options: {},
  examples: ["millrace demo"],
  async run({ out }) {
    await provideBinaries((line) => out.note(line));
    const say = teller(out);
    const server = await startEmbeddedServer();
    const pool = new pg.Pool({ connectionString: server.url, max: 4 });
    pool.on("error", () => {}); // a connection may hear of the server's end before its own
    try {
      const [{ version }] = (await pool.query("select split_part(version(), ' ', 2) as version")).rows as [
        { version: string },
      ];
      say("server", `PostgreSQL ${version} runs on port ${server.port}`);
      await migrate(pool);
      say("migrated", "schema installed");
      return await play(new Engine({ pool }), say);
    } finally {
      await pool.end();
      await server.stop();
    }
  },
};

async function play(engine: Engine, say: ReturnType<typeof teller>): Promise<ExitCode> {
  for (let i = 0; i < jobs; i += batch) {
    await engine.enqueueMany(
      "resize",
      Array.from({ length: batch }, (_, n) => ({ key: `image-${i + n}.png` })),
    );
  }
  say("enqueued", `${count(jobs)} jobs enqueued`);
  await engine.enqueue({ type: "report", input: { month: "2026-11" }, priority: 0 });
  await engine.enqueue({ type: "resize", input: { key: "broken.png" }, maxAttempts: 2, retry: 0 });

  const finished = { succeeded: 0, retried: 0 };
  for (;;) {
    const claimed = await engine.claim({ limit: batch, worker: "demo" });
    if (claimed.length === 0) break;
    if (claimed[0]?.type === "report") say("urgent", "the urgent report came first, before everything older");
    const broken = claimed.filter((job) => (job.input as { key?: string }).key === "broken.png");
    for (const job of broken) await engine.retryLater(job, { message: "not an image" });
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
  say("finished", `${count(finished.succeeded)} jobs finished, ${finished.retried} attempts failed`);

  const [failed] = await engine.list({ state: "failed" });
  say("failed", `one job failed after ${failed?.attempts} attempts: ${failed?.lastError?.message} (${failed?.reason})`);
  const depth = await engine.queueDepth();
  say("depth", `waiting now: ${depth.ready} ready, ${depth.delayed} delayed, ${depth.running} running`);
  return depth.ready + depth.delayed + depth.running === 0 ? 0 : 1;
}

/** Says each step with the time it took. */
function teller(out: Output): (event: string, text: string) => void {
  let last = performance.now();
  return (event, text) => {
    const now = performance.now();
    out.event(event, { text, ms: Math.round(now - last) }, `${(now - last).toFixed(0).padStart(4)} ms  ${text}`);
    last = now;
  };
}
