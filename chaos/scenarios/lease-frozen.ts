import { setTimeout as sleep } from "node:timers/promises";
import { Ways, client, queueIn } from "../cells/ways.js";
import type { Child } from "../processes.js";
import type { Scenario } from "../scenario.js";
import type { Site } from "../site.js";
import type { World } from "../world.js";

/** A lease of a cell is 10 s; whoever looks for cells without one does so every 2.5 s. */
const takeoverMs = 15_000;

/** Of more than four cells a worker serves some alone: another takes over when it is frozen, and then it is back. */
export const leaseFrozen: Scenario = {
  name: "workers that hold a cell frozen, cut off and killed",
  cells: ["a", "b", "c", "d", "e"],
  isCrowded: true,
  settings: { shared_buffers: "32MB" },
  async run(world) {
    const ways = await Ways.open(world);
    const mill = client(world, world.cells!, 10_000);
    const queues: string[] = [];
    for (const { name } of world.sites) queues.push(await queueIn(mill, name, "work"));
    const producers = queues.map((queue) =>
      world.producer({ jobs: 1500, perSecond: 20, options: { queue }, input: { sleepMs: 100 } }),
    );
    const victim = world.worker({ queues }, { cells: ways.cells });
    await world.until("one serves all", async () => (await alone(world, victim)).length === world.sites.length);
    const other = world.worker({ queues });
    const taken: number[] = [];
    const strike = async (hurt: () => void): Promise<void> => {
      const [cell] = await heldAlone(world, victim);
      await world.until("it runs jobs there", async () => (await ranSince(cell!, victim, Date.now() - 1000)) > 0);
      hurt();
      const since = Date.now();
      await world.until(
        `cell ${cell!.name} is taken over`,
        async () => (await ranSince(cell!, other, since)) > 0,
        takeoverMs,
      );
      taken.push(Date.now() - since);
      await sleep(1000); // the new one has claims of its own when the old one is back
    };
    const isBack = async (heal: () => void): Promise<void> => {
      const told = (): number => victim.of("lost").length + victim.of("refused").length;
      const before = told();
      heal();
      const since = Date.now();
      await world.until(
        "the one that was frozen works again",
        async () => (await ranAnywhere(world, victim, since)) > 0,
      );
      await world.until("it is told what it has lost", () => told() > before);
    };
    for (let done = 0; done < world.many(1); done += 1) {
      await strike(() => victim.kill("SIGSTOP"));
      await isBack(() => victim.kill("SIGCONT"));
      await strike(() => ways.freeze());
      await isBack(() => ways.thaw());
    }
    await strike(() => victim.kill("SIGKILL"));
    await Promise.all(producers.map(({ exit }) => exit));
    await world.drained();
    const seconds = taken.map((ms) => (ms / 1000).toFixed(1)).join(", ");
    world.remarks.push(`taken over after ${seconds} s; ${victim.of("lost").length} jobs told to be lost`);
  },
};

/** Cells that only this worker holds, when there are any: leases come to rest within some rounds. */
async function heldAlone(world: World, worker: Child): Promise<Site[]> {
  let cells: Site[] = [];
  await world.until("it is alone in a cell", async () => {
    cells = await alone(world, worker);
    return cells.length > 0 && cells.length < world.sites.length;
  });
  return cells;
}

async function alone(world: World, { pid }: Child): Promise<Site[]> {
  const held = await Promise.all(
    world.sites.map(async (site) => {
      const rows = await site.sql<{ pid: string }>(
        "select split_part(holder, ':', 2) as pid from millrace.cell_lease where until > clock_timestamp()",
      );
      return rows.length === 1 && rows[0]!.pid === String(pid);
    }),
  );
  return world.sites.filter((_site, i) => held[i]);
}

async function ranSince(site: Site, { pid }: Child, since: number): Promise<number> {
  const [row] = await site.sql<{ n: number }>(
    "select count(*)::int as n from chaos.effect where pid = $1 and at > to_timestamp($2::float8 / 1000)",
    [pid, since],
  );
  return row?.n ?? 0;
}

async function ranAnywhere(world: World, worker: Child, since: number): Promise<number> {
  const counts = await Promise.all(world.sites.map((site) => ranSince(site, worker, since)));
  return counts.reduce((sum, n) => sum + n, 0);
}
