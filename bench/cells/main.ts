// What several cells cost: `npm run bench:cells`. Everything is compared by turns, in one run.
import { parseArgs } from "node:util";
import { Millrace } from "../../src/client/with-workers.js";
import { migrate } from "../../src/db/migrate.js";
import { type EmbeddedServer, startEmbeddedServer } from "../../src/embedded/server.js";
import { median, payloads } from "../engine/measure.js";
import { moveUnderLoad } from "./moved.js";
import { type Side, openSide, passCost } from "./one-cell.js";
import { Spread } from "./servers.js";

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    base: { type: "string" },
  },
});
const size = values.quick
  ? { rounds: 3, passes: 15, jobs: 16_000, passJobs: 3000, moved: 2000 }
  : { rounds: 7, passes: 41, jobs: 50_000, passJobs: 5000, moved: 10_000 };
const results: Record<string, number> = {};
const inputs = payloads(1000);

const servers: EmbeddedServer[] = [];
try {
  for (let n = 0; n < 3; n += 1) servers.push(await startEmbeddedServer({ settings: { max_connections: "60" } }));
  const urls = servers.map(({ url }) => url);
  await oneCell(urls[0]!);
  await linear();
  await moves(urls);
} finally {
  for (const server of servers) await server.stop("immediate");
}
if (values.json) console.log(JSON.stringify(results));

function report(key: string, value: number, remark: string): void {
  results[key] = Number(value.toPrecision(4));
  console.log(`${key.padEnd(24)} ${value.toFixed(3).padStart(12)}  ${remark}`);
}

/** Enqueue, claim and completion through a client, in batches of a hundred: processor time of its one backend. */
async function oneCell(url: string): Promise<void> {
  const own = { Millrace, migrate };
  const sides: Side[] = [
    await openSide(url, own, (connection) => ({ connection })),
    await openSide(url, own, (pool) => ({ cells: { a: pool } })),
  ];
  if (values.base !== undefined) {
    const built = (await import(`${values.base}/dist/index.js`)) as typeof own;
    sides.push(await openSide(url, built, (connection) => ({ connection })));
  }
  const costs = new Map(sides.map((side) => [side, [] as number[]]));
  const batch = inputs.slice(0, 100);
  for (const side of sides) await passCost(side, batch, size.passJobs); // prepares statements, and warms up
  for (let round = 0; round < size.passes; round += 1) {
    // each begins as often as the others
    const turn = sides.map((_, i) => sides[(i + round) % sides.length]!);
    for (const side of turn) costs.get(side)!.push(await passCost(side, batch, size.passJobs));
  }
  const [plain, cell, base] = sides.map((side) => median(costs.get(side)!));
  report("one_cell_cost", cell! / plain!, `${cell!.toFixed(1)} against ${plain!.toFixed(1)} µs of the server per job`);
  if (base !== undefined)
    report("one_cell_cost_vs_base", cell! / base, `${base.toFixed(1)} µs with the code of ${values.base}`);
  for (const side of sides) await side.close();
}

/** The same number of jobs for each server, on one, two and three. */
async function linear(): Promise<void> {
  const counts = [1, 2, 3];
  const taken = new Map(counts.map((n) => [n, { cpu: [] as number[], speed: [] as number[] }]));
  const spreads: Spread[] = [];
  for (const n of counts) spreads.push(await Spread.open(servers.slice(0, n)));
  for (const spread of spreads) await spread.run(size.jobs, inputs); // warms up
  for (let round = 0; round < size.rounds; round += 1) {
    for (const spread of spreads.map((_, i) => spreads[(i + round) % 3]!)) {
      const { cpuMicros, perSecond } = await spread.run(size.jobs, inputs);
      const { cpu, speed } = taken.get(spread.servers.length)!;
      cpu.push(cpuMicros);
      speed.push(perSecond);
    }
  }
  for (const spread of spreads) await spread.close();
  for (const n of counts) {
    const { cpu, speed } = taken.get(n)!;
    report(`cpu_us_${n}`, median(cpu), `µs of the servers per job, on ${n}`);
    report(`jobs_per_second_${n}`, median(speed), `on ${n}, all on the processors of this machine`);
  }
  for (const n of [2, 3])
    report(
      `cpu_ratio_${n}_vs_1`,
      median(taken.get(n)!.cpu.map((cpu, round) => cpu / taken.get(1)!.cpu[round]!)),
      "wanted at most 1.1: the median of what each round says",
    );
}

async function moves(urls: readonly string[]): Promise<void> {
  const { jobs, lost, twice, seconds } = await moveUnderLoad(urls.slice(0, 2), size.moved);
  report("moved_lost", lost, `of ${jobs} jobs, while their queue moved for ${seconds.toFixed(1)} s`);
  report("moved_twice", twice, "wanted 0, as with those that are lost");
}
