import { readFileSync } from "node:fs";
import { Absurd } from "absurd-sdk";
import pg from "pg";
import { type Bodies, type Input, type System, eachOf } from "./system.ts";

/**
 * Absurd, https://earendil-works.github.io/absurd: `concurrency`, which is also the batch of its claims, and a pool of
 * 20 connections. `pollInterval: 0.02` instead of 0.25 s, but where it is measured what waiting costs. Children must be
 * in another queue than who waits for them, so they have one, with a worker of its own. Its npm package has no schema:
 * that is absurd.sql of its repository, whose path ABSURD_SQL names.
 */
const [queue, childQueue] = ["main", "children"];
const log = { log() {}, info() {}, warn() {}, error: (...texts: unknown[]) => console.error("absurd:", ...texts) };

export const absurd: System = {
  async setup(url) {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query(readFileSync(process.env["ABSURD_SQL"]!, "utf8"));
    for (const name of [queue, childQueue]) await client.query("select absurd.create_queue($1)", [name]);
    await client.end();
  },

  async work(url, { bodies, concurrency, idle }) {
    const pool = new pg.Pool({ connectionString: url, max: 20 });
    pool.on("error", () => {});
    const app = new Absurd({ db: pool, queueName: queue, log });
    const children = new Absurd({ db: pool, queueName: childQueue, log });
    for (const name of Object.keys(bodies) as (keyof Bodies)[])
      (name === "child" ? children : app).registerTask<Input, number>({ name }, (input, context) =>
        bodies[name](
          {
            run: (step, work) => context.step(step, work),
            signal: ({ n }) => context.awaitEvent(eventOf(n)),
            async children(inputs) {
              const ids = await context.step("start", async () => {
                const started: string[] = [];
                await eachOf(inputs, 100, async (one, index) => {
                  started[index] = (await children.spawn("child", one)).taskID;
                });
                return started;
              });
              return Promise.all(ids.map((id) => context.awaitTaskResult(id, { queue: childQueue })));
            },
          },
          input,
        ),
      );
    const pollInterval = idle ? 0.25 : 0.02;
    for (const one of [app, children])
      await one.startWorker({ concurrency, pollInterval, fatalOnLeaseTimeout: false, claimTimeout: 600 });
    const count = async (text: string): Promise<number> => ((await pool.query(text)).rows as { n: number }[])[0]!.n;
    return {
      async start(workflow, inputs) {
        await eachOf(inputs, 100, (input) => (workflow === "child" ? children : app).spawn(workflow, input));
        return inputs.map(({ n }) => eventOf(n));
      },
      open: async () =>
        (await count(
          "select count(*)::int as n from absurd.t_main where state not in ('completed', 'failed', 'cancelled')",
        )) +
        (await count(
          "select count(*)::int as n from absurd.t_children where state not in ('completed', 'failed', 'cancelled')",
        )),
      parked: () => count("select count(*)::int as n from absurd.t_main where state = 'sleeping'"),
      tell: (runs) => eachOf(runs, 100, (event) => app.emitEvent(event, 1)),
      async stop() {
        await app.close();
        await children.close();
        await pool.end();
      },
    };
  },
};

const eventOf = (n: number): string => `go-${n}`;
