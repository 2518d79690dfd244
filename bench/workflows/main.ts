// Durable work beside other systems: npm run bench:workflows, or node bench/run.mjs workflows. See bench/README.md.
import { readFileSync } from "node:fs";
import { cpus } from "node:os";
import { Postgres } from "../compare/servers.ts";
import { Bench } from "./bench.ts";
import { type Key, type Options, readOptions, usage } from "./options.ts";
import { plainCost } from "./plain.ts";
import { Results } from "./results.ts";
import { fanIn, graph, parked, sequential, steps } from "./runs.ts";
import { systems } from "./systems/index.ts";

const options = chooseOptions();
if (!options) {
  console.log(usage);
  process.exit(0);
}
const { base } = options;
const measurements: Record<Key, (bench: Bench, results: Results) => Promise<void>> = {
  steps,
  sequential,
  parked,
  fan_in: fanIn,
  graph,
  plain_cost: (bench, results) => plainCost(bench, results, base),
};

// Processes of systems end when their channel does; the server is stopped here, whatever happens.
const starting = Postgres.start();
let stopping: Promise<unknown> | undefined;
const stopServer = (): Promise<unknown> => (stopping ??= starting.then((server) => server.stop()).catch(() => {}));
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => void stopServer().finally(() => process.exit(130)));

const startedAt = performance.now();
const summary: Partial<Record<Key, Results>> = {};
try {
  const postgres = await starting;
  console.log(
    `${options.quick ? "quick run" : "full run"} of ${new Date().toISOString().slice(0, 10)}, ${cpus().length} processors, Node.js ${process.version}`,
  );
  console.log(await postgres.describe());
  console.log(options.systems.map(described).join(", "));
  const bench = new Bench(options, postgres);
  for (const key of options.only) {
    if (stopping) break;
    const results = (summary[key] = new Results());
    const keyAt = performance.now();
    console.log(`\n${key}`);
    await measurements[key](bench, results);
    results.print();
    console.log(`  ${((performance.now() - keyAt) / 1000).toFixed(0)} s`);
  }
  console.log(`\n${((performance.now() - startedAt) / 1000).toFixed(0)} s in all`);
} finally {
  await stopServer();
}
if (options.json) console.log(JSON.stringify(summary));
process.exit(Object.values(summary).some(({ hasFailures }) => hasFailures) ? 1 : 0);

function chooseOptions(): Options | undefined {
  try {
    return readOptions(process.argv.slice(2));
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exit(2);
  }
}

/** With its version, or why it is left out. */
function described(system: string): string {
  const { package: from, missing } = systems.find(({ name }) => name === system)!;
  const file = system === "millrace" ? "../../package.json" : `../node_modules/${from}/package.json`;
  const { version } = JSON.parse(readFileSync(new URL(file, import.meta.url), "utf8")) as { version: string };
  const why = missing?.();
  return `${from} ${version}${why === undefined ? "" : ` (left out: ${why})`}`;
}
