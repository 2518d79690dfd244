import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { Scenario } from "../scenario.js";
import type { World } from "../world.js";

/** Dead rows stay as long as somebody may look at them; claims must not walk over them. */
export const idleTransaction: Scenario = {
  name: "a transaction idle for long under load",
  settings: { synchronous_commit: "off" }, // claims are measured, not the disk
  async run(world) {
    const idle = await connect(world);
    await idle.query("begin isolation level repeatable read");
    await idle.query("select count(*) from millrace.jobs");
    const backlog = world.producer({ jobs: 6000, perSecond: 100_000, types: ["plain"] });
    await backlog.exit;
    const producer = world.producer({ jobs: 1000, perSecond: 100 });
    world.worker();
    world.worker();
    // As long as there is a backlog, workers always find more, and the rate is theirs.
    await world.until("the backlog is gone", async () => (await world.executions()) >= world.many(6000), 600_000);
    const [first, , last] = await thirds(world);
    world.remarks.push(`${first} jobs/s in the first third, ${last} in the last`);
    if (last < first / 2) throw new Error(`claims became slow: ${world.remarks.join()}`);
    await producer.exit;
    await world.drained();
    const { rows } = await idle.query<{ n: string }>("select count(*) as n from millrace.jobs");
    await idle.query("commit");
    if (rows[0]?.n !== "0") throw new Error(`the idle transaction saw no jobs at first, and ${rows[0]?.n} in the end`);
  },
};

/** Jobs started per second in each third of the time so far, without the first moments, in which workers start. */
async function thirds(world: World): Promise<[first: number, second: number, last: number]> {
  const rows = await world.sql<{ rate: number }>(
    `select round(count(*) / (max(s.seconds) / 3))::int as rate
       from (select min(at) as begun, extract(epoch from max(at) - min(at)) as seconds from (select at from chaos.effect order by at offset 500) x) s,
            lateral (select least(2, floor(extract(epoch from at - s.begun) / s.seconds * 3)) as third from chaos.effect where at >= s.begun) e
      group by third order by third`,
  );
  const [first, second, last] = rows.map(({ rate }) => rate);
  if (first === undefined || second === undefined || last === undefined)
    throw new Error("nothing ran for a third of the time");
  return [first, second, last];
}

/** Somebody always looks at what was, and maintenance goes on around them. */
export const longReaders: Scenario = {
  name: "readers with long snapshots that overlap",
  async run(world) {
    const producer = world.producer({ jobs: 2500, perSecond: 250, input: { sleepMs: 20 } });
    world.worker();
    world.worker();
    let isOver = false;
    const readers = [0, 1, 2, 3].map(async (n) => {
      const client = await connect(world);
      await sleep(n * 1000);
      for (let rounds = 0; ; rounds += 1)
        if (isOver) return rounds;
        else await readTwice(client);
    });
    const upkeep = (async () => {
      let rounds = 0;
      for (; !isOver; rounds += 1) {
        await world.engine.maintain();
        await world.engine.maintainSpace({ compactBound: 100 });
        await sleep(250);
      }
      return rounds;
    })();
    try {
      await Promise.race([producer.exit.then(() => world.drained()), upkeep, ...readers]);
    } finally {
      isOver = true;
    }
    const looks = (await Promise.all(readers)).reduce((sum, rounds) => sum + rounds, 0);
    world.remarks.push(`${looks} snapshots of 3 s, ${await upkeep} rounds of maintenance`);
  },
};

/** What a transaction has seen it must see again, whatever has been given back meanwhile. */
async function readTwice(client: pg.Client): Promise<void> {
  const look =
    "select (select count(*) from millrace.jobs) || ' jobs, ' || (select count(*) from millrace.attempts) || ' attempts' as seen";
  await client.query("begin isolation level repeatable read");
  const first = await client.query<{ seen: string }>(look);
  await client.query("select pg_sleep(3)");
  const second = await client.query<{ seen: string }>(look);
  await client.query("commit");
  const [before, after] = [first.rows[0]?.seen, second.rows[0]?.seen];
  if (before !== after) throw new Error(`a snapshot has changed from ${before} to ${after}`);
}

/** A session of its own, by the plain way. */
async function connect(world: World): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: world.url });
  client.on("error", () => {}); // the next query tells
  world.onClose(() => client.end().catch(() => {}));
  await client.connect();
  return client;
}
