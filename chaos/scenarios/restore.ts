import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { SchemaRestoredError, migrate } from "millrace";
import type { Scenario } from "../scenario.js";
import { ChaosServer } from "../server.js";
import { books } from "../site.js";
import type { World } from "../world.js";
import { survived } from "./server.js";

/** The other server has counted fewer transactions: unrepaired, its cursors would hide new jobs. */
export const restoredDump: Scenario = {
  name: "a dump restored into another server, then repaired",
  async run(world) {
    let from = world.server;
    for (let move = 0; move < (world.isLong ? 3 : 1); move += 1) {
      const to = new ChaosServer();
      world.onClose(() => to.remove());
      await Promise.all([workHalfWay(world), prepare(to)]);
      await copy(from.port, to.port);
      await from.stop();
      world.network.target = to.port;
      await repaired(world);
      from = to;
    }
    await world.drained();
  },
};

async function prepare(server: ChaosServer): Promise<void> {
  await server.start();
  const pool = poolOf(server.port);
  await migrate(pool);
  await pool.query(books);
  await pool.end();
}

/** Leave jobs that wait, that are not due yet, and that a dead worker holds. */
async function workHalfWay(world: World): Promise<void> {
  const producers = [
    world.producer({ jobs: 1200, perSecond: 1200, input: { sleepMs: 30 } }),
    world.producer({ jobs: 200, perSecond: 1200, options: { delay: "12s" } }),
  ];
  const before = await world.executions();
  const [stopped, killed] = [world.worker(), world.worker()];
  await Promise.all(producers.map((producer) => producer.exit));
  await world.until("some have run", async () => (await world.executions()) > before + 300);
  killed.kill("SIGKILL");
  stopped.kill("SIGTERM");
  await Promise.all([killed.exit, stopped.exit]);
}

/** Nobody works on it before it is repaired, and then all of it is done. */
async function repaired(world: World): Promise<void> {
  const before = await world.executions();
  const worker = world.worker();
  await world.until(
    "a worker says what is wrong",
    () => worker.of("error").some(({ message = "" }) => message.includes("millrace repair")),
    10_000,
  );
  const refusal = await world.engine.enqueue({ type: "plain" }).catch((error: unknown) => error);
  if (!(refusal instanceof SchemaRestoredError))
    throw new Error(`a job was taken before the repair: ${String(refusal)}`);
  await sleep(500);
  if (worker.of("ready").length > 0 || (await world.executions()) > before)
    throw new Error("a worker began before the repair");
  const ready = await world.engine.cellRepair();
  world.remarks.push(`${ready} jobs ready after the repair`);
  await world.producer({ jobs: 600, perSecond: 400 }).exit;
  await world.drained();
  survived([worker]);
  worker.kill("SIGTERM");
  await worker.exit;
}

const contents = `select format('%I.%I', n.nspname, c.relname) as name, c.relkind = 'S' as "isSequence"
  from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname in ('millrace', 'chaos') and c.relkind in ('r', 'S') order by 1`;

/**
 * What pg_dump and pg_restore do with the data. The machine has them for one version of the server at best; the
 * migration makes the tables.
 */
async function copy(fromPort: number, toPort: number): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), "millrace-chaos-dump-"));
  chmodSync(folder, 0o777); // the servers may run as somebody else
  const [from, to] = [poolOf(fromPort), poolOf(toPort)];
  try {
    const { rows } = await from.query<{ name: string; isSequence: boolean }>(contents);
    const tables = rows.filter(({ isSequence }) => !isSequence).map(({ name }) => name);
    const sequences = rows.filter(({ isSequence }) => isSequence).map(({ name }) => name);
    await from.query(
      [
        "begin isolation level repeatable read",
        ...tables.map((name) => `copy ${name} to '${folder}/${name}'`),
        "commit",
      ].join(";"),
    );
    const positions = await Promise.all(
      sequences.map(async (name) => {
        const { rows } = await from.query<{ text: string }>(
          `select format('select setval(%L, %s, %L)', '${name}', last_value, is_called) as text from ${name}`,
        );
        return rows[0]!.text;
      }),
    );
    const load = tables.map((name) => `copy ${name} from '${folder}/${name}'`);
    await to.query(
      [
        "begin",
        "set local session_replication_role = replica",
        `truncate ${tables.join(", ")}`,
        ...load,
        ...positions,
        "commit",
      ].join(";"),
    );
  } finally {
    await Promise.all([from.end(), to.end()]);
    rmSync(folder, { recursive: true });
  }
}

function poolOf(port: number): pg.Pool {
  return new pg.Pool({ host: "127.0.0.1", port, user: "postgres", database: "postgres", max: 1 });
}
