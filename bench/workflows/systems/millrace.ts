import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { Millrace, defineJob, migrate } from "../../../dist/index.js";
import { type Bodies, type Input, type Shape, type System, eachOf } from "./system.ts";

/**
 * Millrace from this repository's dist, through the same client and worker that users have. `concurrency: 100` and a
 * pool of 20 connections, of which signals take most; all else is default.
 */
export const millrace: System = {
  async setup(url) {
    const pool = new pg.Pool({ connectionString: url });
    await migrate(pool);
    await pool.end();
  },

  async work(url, { bodies, concurrency }) {
    const mill = new Millrace({ connection: { connectionString: url, max: 20 } });
    const worker = mill.worker({ concurrency });
    for (const workflow of Object.keys(bodies) as (keyof Bodies)[])
      worker.handle(defineJob<Input>(workflow), (job, { step }) =>
        bodies[workflow](
          {
            run: (name, work) => step.run(name, work),
            signal: () => step.waitFor("go"),
            children: (inputs) => step.map("children", "child", inputs),
          },
          job.input,
        ),
      );
    await worker.start();
    return {
      start: async (workflow, inputs) => (await mill.enqueueMany(workflow, inputs)).map(({ id }) => id),
      async open() {
        const { ready, blocked, delayed, running } = await mill.engine.queueDepth();
        return ready + blocked + delayed + running;
      },
      async parked() {
        const { ready, delayed, running } = await mill.engine.queueDepth();
        return ready + running === 0 ? delayed : 0;
      },
      tell: (runs) => eachOf(runs, 100, (run) => mill.tell(run, "go", 1)),
      stop: () => mill.close(),
    };
  },

  async graphs(url) {
    const mill = new Millrace({ connection: url });
    if (!hasFlows(mill)) {
      await mill.close();
      return undefined;
    }
    let ended = 0;
    const worker = mill.worker({ concurrency: 100 });
    worker.handle(defineJob<Input>("node"), () => void (ended += 1));
    await worker.start();
    return {
      async run(shape: Shape, jobs: number) {
        const startedAt = performance.now();
        const flow = mill.flow({ name: `${shape}-${startedAt}` });
        let after = flow.add("node", { n: 0 });
        const first = after;
        ended = 0;
        for (let n = 1; n < jobs; n += 1)
          after = flow.add("node", { n }, { after: [shape === "chain" ? after : first] });
        await flow.enqueue();
        const storeSeconds = (performance.now() - startedAt) / 1000;
        while (ended < jobs) await sleep(1);
        while ((await mill.engine.queueDepth()).running > 0) await sleep(1);
        return { storeSeconds, seconds: (performance.now() - startedAt) / 1000 };
      },
      stop: () => mill.close(),
    };
  },
};

interface Flow {
  add(job: string, input: Input, options?: { readonly after: readonly unknown[] }): unknown;
  enqueue(): Promise<unknown>;
}

function hasFlows(mill: object): mill is { flow(options: { readonly name: string }): Flow } {
  return "flow" in mill && typeof mill.flow === "function";
}
