import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { type NewerRelease, makeNewerRelease } from "../release.js";
import type { Scenario } from "../scenario.js";
import type { World } from "../world.js";

/**
 * Three processes migrate at once; workers and producers of the release before go on until they are replaced one by
 * one.
 */
export const rollingUpgrade: Scenario = {
  name: "a newer schema migrated to while older workers run",
  async run(world) {
    const newer = makeNewerRelease();
    world.onClose(() => newer.remove());
    const old = [world.worker(), world.worker(), world.worker()];
    const producer = world.producer({ jobs: 1800, perSecond: 150, input: { sleepMs: 20 } });
    await world.until("old ones run", async () => (await world.executions()) > 300);
    await migrateAtOnce(world, newer);
    const migratedAt = await world.executions();
    await world.until("old ones go on", async () => (await world.executions()) > migratedAt + 200);
    await expectRefusal(world);

    const young = [];
    for (const worker of old) {
      const next = world.worker({}, {}, { folder: newer.suite });
      young.push(next);
      await world.until("the new one is ready", () => next.of("ready").length > 0);
      worker.kill("SIGTERM");
      await world.until("the old one has ended", () => worker.hasEnded, 20_000);
    }
    await producer.exit;
    await world.producer({ jobs: 500, perSecond: 250 }, { folder: newer.suite }).exit;
    await world.drained();
    await expectTakenOver(
      world,
      young.map(({ pid }) => pid),
    );
    const complaints = old.flatMap((worker) => worker.of("error").map(({ message }) => message));
    world.remarks.push(
      `old workers met ${complaints.length} errors${complaints.length > 0 ? `, such as ${complaints[0]}` : ""}`,
    );
  },
};

/** As each host of a deploy would do it. */
async function migrateAtOnce(world: World, { cli }: NewerRelease): Promise<void> {
  const begun = performance.now();
  const run = promisify(execFile);
  const migrate = async (): Promise<string> => {
    try {
      return (await run(process.execPath, [cli, "migrate", "--url", world.url])).stdout;
    } catch (error) {
      if (!String(error).includes("deadlock detected")) throw error;
      world.remarks.push("a migration met a deadlock and was run again");
      return migrate();
    }
  };
  const said = await Promise.all([migrate(), migrate(), migrate()]);
  const applied = said.filter((text) => /applied \d{4}_newer/.test(text)).length;
  if (applied !== 1) throw new Error(`the migration was applied ${applied} times:\n${said.join("\n")}`);
  world.remarks.push(`migrated in ${((performance.now() - begun) / 1000).toFixed(1)} s`);
}

/** A worker of the old release that starts now must say what to do, and take nothing. */
async function expectRefusal(world: World): Promise<void> {
  const late = world.worker();
  await world.until("it says something", () => late.said.length > 0);
  await sleep(500);
  const [first] = late.of("error");
  if (late.of("ready").length > 0 || !first?.message?.includes("upgrade millrace"))
    throw new Error(`an old worker said ${JSON.stringify(late.said[0])}`);
  late.kill("SIGKILL");
}

async function expectTakenOver(world: World, pids: readonly number[]): Promise<void> {
  const [row] = await world.sql<{ n: number }>(
    "select count(*)::int as n from chaos.effect where pid = any ($1::int[])",
    [pids],
  );
  if (!row || row.n < 500) throw new Error(`workers of the newer release ran ${row?.n} jobs only`);
  world.remarks.push(`${row.n} executions by new workers`);
}
