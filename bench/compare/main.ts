// The comparison: npm run bench, or node bench/run.mjs. See bench/README.md.
import { cpus, totalmem } from "node:os";
import { readFileSync } from "node:fs";
import { Bench } from "./bench.ts";
import { type Options, readOptions, usage } from "./options.ts";
import { printScenario, writeResults, writeSummary } from "./report.ts";
import { Results } from "./results.ts";
import { scenarios } from "./scenarios/index.ts";
import { Postgres, RedisServer } from "./servers.ts";
import { findSystem } from "./systems/index.ts";

const names = scenarios.map(({ name }) => name);
const options = chooseOptions();
if (!options) {
  console.log(`${usage}\nScenarios: ${names.join(", ")}`);
  process.exit(0);
}

// Processes of systems end when their channel does; the servers are stopped here, whatever happens.
const servers: { stop(): Promise<void> }[] = [];
let stopping: Promise<unknown> | undefined;
const stopServers = (): Promise<unknown> => (stopping ??= Promise.allSettled(servers.map((server) => server.stop())));
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => void stopServers().finally(() => process.exit(130)));

/** Also when a signal comes while the server is starting. */
function stoppedLater<S extends Postgres | RedisServer | undefined>(starting: Promise<S>): Promise<S> {
  servers.push({ stop: async () => (await starting)?.stop() });
  return starting;
}

const startedAt = performance.now();
const summary: Record<string, Results> = {};
const run = `${options.quick ? "quick run" : "full run"} of ${new Date().toISOString().slice(0, 10)}, ${cpus().length} processors, Node.js ${process.version}`;
try {
  const needsRedis = options.systems.some((name) => findSystem(name).store === "redis");
  const [postgres, redis] = await Promise.all([
    stoppedLater(Postgres.start()),
    needsRedis ? stoppedLater(RedisServer.start()) : undefined,
  ]);

  console.log(`${run}, ${Math.round(totalmem() / 2 ** 30)} GiB of memory (${cpus()[0]?.model.trim()})`);
  console.log(await postgres.describe());
  if (redis) console.log(await redis.describe());
  else if (needsRedis)
    console.log("bullmq is left out: there is no redis-server on this machine (apt-get install redis-server)");
  console.log(options.systems.map(described).join(", "));

  const bench = new Bench(options, postgres, redis);
  for (const scenario of scenarios.filter(({ name }) => options.scenarios.includes(name))) {
    if (stopping) break;
    if (performance.now() - startedAt > options.sizes.allSeconds * 1000) {
      console.log(`\n${scenario.name}: left out, the time is up; run it alone with --scenario ${scenario.name}`);
      continue;
    }
    const results = (summary[scenario.name] = new Results());
    const scenarioAt = performance.now();
    console.log(`\n${scenario.name}: ${scenario.title}`);
    await scenario.run(bench, results);
    printScenario(results);
    writeResults(run, scenario.name, scenario.title, results);
    console.log(`  ${((performance.now() - scenarioAt) / 1000).toFixed(0)} s`);
  }
  if (!stopping) writeSummary(run, summary);
  console.log(
    `\n${((performance.now() - startedAt) / 1000).toFixed(0)} s in all; charts and all rounds are in bench/results`,
  );
} finally {
  await stopServers();
}
if (options.json) console.log(JSON.stringify(summary));
process.exit(Object.values(summary).some(({ hasFailures }) => hasFailures) ? 1 : 0);

function chooseOptions(): Options | undefined {
  try {
    return readOptions(process.argv.slice(2), names);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exit(2);
  }
}

/** With its version, and the package that has it where that has another name. */
function described(system: string): string {
  const from = findSystem(system).package ?? system;
  const file = system === "millrace" ? "../../package.json" : `../node_modules/${from}/package.json`;
  const { version } = JSON.parse(readFileSync(new URL(file, import.meta.url), "utf8")) as { version: string };
  return from === system ? `${system} ${version}` : `${system} (${from} ${version})`;
}
