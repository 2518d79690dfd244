import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { disorder, mostAtOnce, runsIn } from "../cells/attempts.js";
import { type Ask, FingerprintWatch } from "../cells/fingerprints.js";
import { client, queueIn } from "../cells/ways.js";
import type { Child } from "../processes.js";
import type { Scenario } from "../scenario.js";
import { idsIn } from "../verdict.js";
import type { Production, World } from "../world.js";
import { killAtRandom } from "./limits.js";

const cli = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
const limit = 4;

/** Nothing is lost or done twice, and what a queue promises holds over both cells together. */
export const queueMoved: Scenario = {
  name: "queues moved between cells while workers are killed",
  cells: ["a", "b"],
  isCrowded: true,
  async run(world) {
    const mill = client(world, world.cells!, 10_000);
    const plain = await queueIn(mill, "a", "plain");
    const ordered = await queueIn(mill, "a", "ordered", { ordered: true });
    const limited = await queueIn(mill, "a", "limited", { maxRunning: limit });
    const prints = await queueIn(mill, "a", "prints");
    const queues = [plain, ordered, limited, prints];
    const newWorker = (): Child => world.worker({ concurrency: 6, queues });
    const workers = [newWorker(), newWorker(), newWorker()];
    const watch = new FingerprintWatch(asking(world, "a"), asking(world, "b"), prints);
    // more than the order and the limit let through, so that there is a backlog when they move
    const slow = { sleepMs: 300 };
    const productions: Production[] = [
      { jobs: 5000, perSecond: 40, options: { queue: plain }, input: { sleepMs: 10 }, lingerMs: 300 },
      { jobs: 5000, perSecond: 15, types: ["plain"], options: { queue: ordered }, groups: 4, input: slow },
      { jobs: 5000, perSecond: 15, options: { queue: limited }, input: slow },
      { jobs: 5000, perSecond: 30, options: { queue: prints }, fingerprints: 8, input: { sleepMs: 60 } },
    ];
    const producers = productions.map((production) => world.producer(production));
    await world.until("all queues have run", async () => (await world.executions()) > 200);
    const killing = killAtRandom(world, workers, world.isLong ? 60_000 : 12_000, newWorker);
    const moved = Promise.all(queues.map((queue) => move(world, queue)));
    await world.until("new jobs go to the new cell", async () => (await movedTo(world)) === queues.length);
    // fingerprints of jobs whose worker was killed live in the old cell until their leases end
    await world.until("all queues run in the new cell", async () =>
      (await Promise.all(queues.map((queue) => runsOf(world, queue)))).every(([, next]) => next!.length > 0),
    );
    for (const producer of producers) producer.kill("SIGTERM");
    const kills = await moved;
    await Promise.all([killing, ...producers.map(({ exit }) => exit)]);
    await world.drained();
    await watch.stop();

    await nothingIsThereTwice(world, producers);
    for (const queue of queues) await ranInBoth(world, queue);
    const inOrder = disorder(await runsOf(world, ordered));
    if (inOrder.overlaps + inOrder.early > 0)
      throw new Error(`in ordered groups ${inOrder.overlaps} runs overlapped, and ${inOrder.early} came too early`);
    const most = mostAtOnce((await runsOf(world, limited)).flat());
    if (most > limit) throw new Error(`${most} jobs ran at once, of ${limit} that may`);
    if (watch.twice.size > 0) throw new Error(`${watch.twice.size} fingerprints lived in both cells at once`);
    const told = producers.reduce((sum, producer) => sum + producer.of("error").length, 0);
    world.remarks.push(
      `${kills.reduce((sum, n) => sum + n, 0)} moves broken off, ${told} transactions sent to the new cell, at most ${most} of ${limit} at once, ${watch.looks} looks at fingerprints`,
    );
  },
};

/** How many queues have left the old cell. */
async function movedTo(world: World): Promise<number> {
  const [row] = await world.sql<{ n: number }>("select count(*)::int as n from millrace.queue_move where is_leaving");
  return row?.n ?? 0;
}

/** By the command that users have. It is killed twice in the middle of its work, and given again. */
async function move(world: World, queue: string): Promise<number> {
  const env = {
    ...process.env,
    MILLRACE_CELLS: Object.entries(world.cells!)
      .map(([name, url]) => `${name}=${url}`)
      .join(" "),
  };
  for (let kills = 0; ; kills += 1) {
    const child = spawn(process.execPath, [cli, "cells", "move", queue, "b"], {
      stdio: ["ignore", "ignore", "pipe"],
      env,
    });
    const said = text(child.stderr);
    // first when the new cell is ready, or soon after, then when the old one has said where its queue is
    if (kills < 2) child.stderr.once("data", () => setTimeout(() => child.kill("SIGKILL"), Math.random() * 20));
    const [code, signal] = (await once(child, "close")) as [number | null, string | null];
    if (code === 0) return kills;
    if (signal !== "SIGKILL") throw new Error(`the move of ${queue} ended with ${code}: ${await said}`);
  }
}

/** No server was hurt, so each job is one that was confirmed: a call that was sent on has written nothing before. */
async function nothingIsThereTwice(world: World, producers: readonly Child[]): Promise<void> {
  const errors = producers.flatMap((producer) => producer.of("error"));
  const other = errors.find(({ message }) => !/has moved|is not one of cell/.test(message ?? ""));
  if (other) throw new Error(`an enqueue failed: ${other.message}`);
  for (const site of world.sites) {
    const rows = await site.sql<{ id: string }>("select id::text from millrace.jobs where id <> all ($1::bigint[])", [
      idsIn(site, world.acknowledged),
    ]);
    if (rows.length > 0) throw new Error(`${rows.length} jobs of cell ${site.name} were confirmed to nobody`);
  }
}

const asking =
  (world: World, cell: string): Ask =>
  (sql, values) =>
    world.site(cell).sqlInTheEnd(sql, values);

const runsOf = (world: World, queue: string) => Promise.all(world.sites.map((site) => runsIn(site, queue)));

async function ranInBoth(world: World, queue: string): Promise<void> {
  const [old, next] = await runsOf(world, queue);
  if (old!.length === 0 || next!.length === 0)
    throw new Error(`${queue} ran ${old!.length} and ${next!.length} times: nothing was moved`);
}
