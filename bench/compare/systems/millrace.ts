import { createRequire } from "node:module";
import pg from "pg";
import { type Engine, Millrace, defineJob, migrate } from "../../../dist/index.js";
import type { Input, System } from "./system.ts";

const noop = defineJob<Input>("noop");
const built = new URL("../../../dist/index.js", import.meta.url);

/**
 * Millrace from this repository's dist, through the same client and worker that users have.
 *
 * - `concurrency: 100`: as many no-ops at once as one process has any use for. All else is default: a handler per job,
 *   prefetch that   follows the handlers, leases kept from a thread, upkeep by the worker, history of every attempt,
 *   wake-ups after each enqueue.
 */
export const millrace: System = {
  claims: {
    pg: createRequire(built)("pg") as { Client: { prototype: object } },
    // A claim alone, or together with a report; without claims the second argument of that is an empty list.
    isClaim: (text, values) => text.includes("job_claim_json") || (text.includes("job_settle") && values[1] !== "[]"),
  },

  async setup(url, queues) {
    const pool = new pg.Pool({ connectionString: url });
    await migrate(pool);
    const mill = new Millrace({ connection: pool });
    for (const queue of queues) await mill.queues.put(queue);
    await mill.close();
    await pool.end();
  },

  async produce(url, { connections }) {
    const mill = new Millrace({ connection: { connectionString: url, max: connections } });
    return {
      add: (input) => mill.enqueue(noop, input),
      addMany: (inputs, groups) =>
        groups
          ? mill.engine.enqueueEach(inputs.map((input, i) => ({ type: noop.type, input, group: groups[i]! })))
          : mill.enqueueMany(noop, inputs),
      close: () => mill.close(),
    };
  },

  async work(url, { queues = ["default"], onJob }) {
    const mill = new Millrace({ connection: url });
    const worker = mill.worker({ concurrency: 100, queues });
    worker.handle(noop, (job) => onJob(job.input));
    await worker.start();
    return {
      isDrained: () => isDrained(mill.engine),
      stop: () => mill.close(),
    };
  },
};

async function isDrained(engine: Engine): Promise<boolean> {
  const { ready, blocked, delayed, running } = await engine.queueDepth();
  return ready + blocked + delayed + running === 0;
}
