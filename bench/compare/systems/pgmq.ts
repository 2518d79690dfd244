import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import pg from "pg";
import type { Input, System } from "./system.ts";

/**
 * pgmq is an extension in plain SQL, here at 1.11.1 out of PGlite's copy of it on npm. It runs as a script, which its
 * INSTALLATION.md offers beside `create extension`: what only an extension may do stands there behind a check for one,
 * so nothing has to be taken out.
 *
 * It has queues but no worker. The loop below is the least that an application would write, without retries, errors and
 * upkeep. So this is a bound of what can be had with pgmq, rather than a job queue like the others.
 *
 * - `send_batch` stores a batch in one statement.
 * - `read` takes 2000 messages per statement, and after the handlers `delete` ends them in one. Every `read` passes
 *   what was deleted before it, so   large batches pay: the server spent 45 µs on a message in batches of 100, 39 with
 *   500, 34 with 1000 and 29 with 2000. With 5000   it was a little less, but no more messages got through. `pop` reads
 *   and deletes at once, but then a crash loses messages.
 * - Two such loops, so that one reads while the other deletes. Four were not faster and cost the server a fifth more.
 * - `delete`, not `archive`: there is no history.
 * - Where the worker mostly waits (`latency`, `idle-cost`), the queue has `enable_notify_insert` with a throttle of 0,
 *   so every message wakes the   worker. It listens on one connection for all queues, and looks by itself only every 30
 *   s, the visibility timeout: that a message   has become visible again is not announced.
 * - The trigger behind that runs for every message and updates the same row each time. Where messages keep coming
 *   (`steady`, `held-snapshot`)   it brought 15,000 per second down to 1,800. There the queue has none, and an empty
 *   one is read again every 100 ms. That is what   `read_with_poll` does by default on the server, but it holds a
 *   connection and a snapshot meanwhile.
 */
const archive = fileURLToPath(
  new URL("../../node_modules/@electric-sql/pglite-pgmq/dist/pgmq.tar.gz", import.meta.url),
);
const script = "share/postgresql/extension/pgmq--1.11.1.sql";
const still = "bench";
const waking = "bench_waking";
const batch = 2000;
const loops = 2;
const visibilitySeconds = 30;
const pollMs = 100;

const send = { name: "send", text: "select pgmq.send($1, $2::jsonb)" };
const sendBatch = { name: "send-batch", text: "select count(*) from pgmq.send_batch($1, $2::jsonb[])" };
const read = { name: "read", text: `select msg_id, message from pgmq.read($1, ${visibilitySeconds}, ${batch})` };
const remove = { name: "remove", text: "select count(*) from pgmq.delete($1, $2::bigint[])" };
const queueFor = ({ live, busy = false }: { live: boolean; busy?: boolean }): string =>
  live && !busy ? waking : still;

export const pgmq: System = {
  claims: { pg, isClaim: (text) => text.includes("pgmq.read(") },
  table: `pgmq.q_${still}`,

  async setup(url, queues) {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query(execFileSync("tar", ["-xzOf", archive, script], { encoding: "utf8" }));
    await client.query("select pgmq.create($1)", [still]);
    for (const queue of [waking, ...queues]) {
      await client.query("select pgmq.create($1)", [queue]);
      await client.query("select pgmq.enable_notify_insert($1, 0)", [queue]);
    }
    await client.end();
  },

  async produce(url, options) {
    const pool = new pg.Pool({ connectionString: url, max: options.connections });
    const queue = queueFor(options);
    return {
      add: (input) => pool.query({ ...send, values: [queue, JSON.stringify(input)] }),
      addMany: (inputs) => pool.query({ ...sendBatch, values: [queue, inputs.map((input) => JSON.stringify(input))] }),
      close: () => pool.end(),
    };
  },

  async work(url, options) {
    const { queues = [queueFor(options)], onJob } = options;
    const pool = new pg.Pool({ connectionString: url, max: loops });
    const bells = new Bells(queues);
    const listener = new pg.Client({ connectionString: url });
    await listener.connect();
    listener.on("notification", ({ channel }) => bells.ring(channel.slice("pgmq.q_".length, -".INSERT".length)));
    for (const queue of queues) await listener.query(`listen "pgmq.q_${queue}.INSERT"`);
    const looking = setInterval(() => bells.ringAll(), options.busy ? pollMs : visibilitySeconds * 1000);

    let stopping = false;
    const workOn = async (queue: string): Promise<void> => {
      while (!stopping) {
        const rung = bells.next(queue);
        const messages = (await pool.query({ ...read, values: [queue] })).rows as { msg_id: string; message: Input }[];
        for (const { message } of messages) onJob(message);
        if (messages.length > 0) await pool.query({ ...remove, values: [queue, messages.map(({ msg_id }) => msg_id)] });
        else await rung;
      }
    };
    const working = queues.flatMap((queue) =>
      Array.from({ length: queues.length === 1 ? loops : 1 }, () => workOn(queue)),
    );
    return {
      async isDrained() {
        const { rows } = await listener.query(`select not exists (select from pgmq.q_${still}) as drained`);
        return (rows as { drained: boolean }[])[0]!.drained;
      },
      async stop() {
        stopping = true;
        clearInterval(looking);
        bells.ringAll();
        await Promise.all(working);
        await Promise.all([pool.end(), listener.end()]);
      },
    };
  },
};

/** Something may have come in. Ask for the next ring before looking into the queue, so that none is missed. */
class Bells {
  readonly #bells: Map<string, PromiseWithResolvers<void>>;

  constructor(queues: readonly string[]) {
    this.#bells = new Map(queues.map((queue) => [queue, Promise.withResolvers<void>()]));
  }

  next(queue: string): Promise<void> {
    return this.#bells.get(queue)!.promise;
  }

  ring(queue: string): void {
    this.#bells.get(queue)!.resolve();
    this.#bells.set(queue, Promise.withResolvers<void>());
  }

  ringAll(): void {
    for (const queue of this.#bells.keys()) this.ring(queue);
  }
}
