import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { Scenario } from "../scenario.js";
import type { World } from "../world.js";
import { survived } from "./server.js";

/** Its clients, but not the one that asks. The heartbeat's connection is the one that listens. */
const clients = "select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()";
const heartbeats = `${clients} and application_name = 'millrace heartbeat'`;

/** Afterwards each worker must keep a lease and hear a wake-up, as before. */
export const terminatedBackends: Scenario = {
  name: "connections ended by the server at random",
  async run(world) {
    await world.engine.queuePut("quiet");
    const quiet = world.worker({ queues: ["quiet"], pollInterval: "60s" });
    const workers = [world.worker(), world.worker(), quiet];
    await world.until("all are ready", () => workers.every((worker) => worker.of("ready").length > 0));
    const producer = world.producer({ jobs: 2500, perSecond: 250, input: { sleepMs: 30 } });
    const long = world.producer({ jobs: 20, types: ["plain"], input: { sleepMs: 4000 } });
    let hit = 0;
    let beats = 0;
    for (const end = Date.now() + world.many(10_000); Date.now() < end; hit += 1) {
      if (hit % 8 === 0) beats += await terminate(world, heartbeats, 3);
      else await terminate(world, clients, 1);
      await sleep(50 + Math.random() * 50);
    }
    await Promise.all([producer.exit, long.exit]);
    await world.drained();
    survived(workers);
    if (beats < 6) throw new Error(`only ${beats} connections of a heartbeat were ended`);
    world.remarks.push(`${hit} blows, ${beats} connections of heartbeats ended`);
    await hearsWakeUps(world);
    await keepsLeases(world);
  },
};

async function terminate(world: World, which: string, limit: number): Promise<number> {
  const [row] = await world.sqlInTheEnd<{ n: number }>(
    `select count(*) filter (where pg_terminate_backend(pid))::int as n from (${which} order by random() limit ${limit}) x`,
  );
  return row?.n ?? 0;
}

/** Its worker asks once a minute by itself. */
async function hearsWakeUps(world: World): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    const before = await world.executions();
    const one = world.producer({ jobs: 1, types: ["plain"], options: { queue: "quiet" } });
    await world.until("the worker hears of a new job", async () => (await world.executions()) > before, 10_000);
    await one.exit;
  }
}

/** A job three times as long as its lease runs once. */
async function keepsLeases(world: World): Promise<void> {
  const [before] = await world.sql<{ at: Date }>("select clock_timestamp() as at");
  await world.producer({ jobs: 20, types: ["plain"], input: { sleepMs: 6000 } }).exit;
  await world.drained();
  const [row] = await world.sql<{ n: number }>(
    "select count(*)::int as n from chaos.effect where at > $1 and attempt > 1",
    [before?.at],
  );
  if (row?.n !== 0) throw new Error(`${row?.n} leases were not kept after the connections had come back`);
}

/**
 * Round trips and upkeep wait for each other, none for ever, and none for so long that a lease ends: nothing runs
 * twice.
 */
export const smallPools: Scenario = {
  name: "pools of one, two and three connections, all in use",
  async run(world) {
    const producer = world.producer({ jobs: 3000, perSecond: 400, input: { sleepMs: 20 } });
    const workers = [1, 2, 3].map((poolMax) => world.worker({ concurrency: 50, lease: "10s" }, { poolMax }));
    await producer.exit;
    await world.drained();
    survived(workers);
    for (const [i, { pid }] of workers.entries()) {
      const [row] = await world.sql<{ n: number }>("select count(*)::int as n from chaos.effect where pid = $1", [pid]);
      if (!row || row.n < 100) throw new Error(`the worker with ${i + 1} connections ran ${row?.n} jobs`);
    }
  },
  isGood: ({ lost, twice, repeated, jobs }) => lost === 0 && twice === 0 && repeated === 0 && jobs > 0,
};

/** As when another application leaks connections: all there are. Nobody of ours gets one until they are given back. */
export const serverWithoutConnections: Scenario = {
  name: "no connection left on the server, then freed",
  settings: { max_connections: "40" },
  async run(world) {
    const producer = world.producer({ jobs: 2500, perSecond: 250, input: { sleepMs: 20 } });
    const workers = [world.worker(), world.worker()];
    for (let blow = 0; blow < world.many(3); blow += 1) {
      const before = await world.executions();
      await world.until("some more have run", async () => (await world.executions()) > before + 200);
      await using leak = new Leak(world.server.port);
      await leak.takeAll();
      const held = leak.size;
      await leak.pushOut();
      if (leak.size <= held) throw new Error("nobody lost a connection to the leak");
      await sleep(3000);
    }
    await producer.exit;
    await world.drained();
    survived(workers);
    const refused = [producer, ...workers]
      .flatMap((child) => child.of("error"))
      .filter(({ message = "" }) => /too many clients|remaining connection slots/.test(message));
    if (refused.length === 0) throw new Error("nobody was refused a connection");
    world.remarks.push(`${refused.length} times refused`);
  },
};

/** Sessions that do nothing. */
class Leak implements AsyncDisposable {
  readonly #sessions: pg.Client[] = [];

  constructor(readonly port: number) {}

  get size(): number {
    return this.#sessions.length;
  }

  /** Until the server refuses. */
  async takeAll(): Promise<void> {
    while (await this.#takeOne());
  }

  /** End everybody else's sessions, and be faster than they are. */
  async pushOut(): Promise<void> {
    const [first] = this.#sessions;
    for (let round = 0; round < 20; round += 1) {
      await first?.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'client backend' and application_name <> 'leak'",
      );
      await this.takeAll();
    }
  }

  async #takeOne(): Promise<boolean> {
    const session = new pg.Client({
      host: "127.0.0.1",
      port: this.port,
      user: "postgres",
      database: "postgres",
      application_name: "leak",
    });
    session.on("error", () => {});
    try {
      await session.connect();
    } catch (error) {
      if ((error as { code?: string }).code === "53300") return false;
      throw error;
    }
    this.#sessions.push(session);
    return true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#sessions.map((session) => session.end()));
  }
}
