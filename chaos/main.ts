import { parseArgs } from "node:util";
import type { Scenario } from "./scenario.js";
import { scenarios } from "./scenarios/index.js";
import { type Verdict, judge } from "./verdict.js";
import { World } from "./world.js";

const usage = `npm run chaos -- [options]

  --long            twelve times as many jobs and blows; about an hour
  --only a,b        only scenarios whose names contain one of these
  --at-once N       scenarios beside each other (default 2)
  --list            say what there is
  --json            one JSON object as the last line
`;

interface Report {
  readonly name: string;
  readonly outcome: "passed" | "failed" | "impossible";
  readonly verdict?: Verdict;
  readonly seconds: number;
  readonly remark: string;
}

const { values } = parseArgs({
  options: {
    long: { type: "boolean", default: false },
    only: { type: "string" },
    "at-once": { type: "string", default: "2" },
    list: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
const wanted = values.only?.split(",");
const chosen = scenarios.filter(({ name }) => wanted === undefined || wanted.some((part) => name.includes(part)));
if (values.help || values.list || chosen.length === 0) {
  console.log(
    values.help
      ? usage
      : chosen.length === 0
        ? `no scenario is called that: npm run chaos -- --list`
        : chosen.map(({ name }) => name).join("\n"),
  );
  process.exit(chosen.length === 0 ? 2 : 0);
}

const startedAt = performance.now();
const reports: Report[] = [];
const isAlone = (scenario: Scenario): boolean => values.long && scenario.isCrowded === true;
await runAll(
  chosen.filter((scenario) => !isAlone(scenario)),
  Math.max(1, Number(values["at-once"]) || 1),
);
await runAll(chosen.filter(isAlone), 1);

const count = (outcome: Report["outcome"]): number => reports.filter((report) => report.outcome === outcome).length;
if (count("impossible") > 0) console.log(`\n${count("impossible")} could not run on this machine`);
console.log(`\n${Math.round((performance.now() - startedAt) / 1000)} s in all`);
console.log(`${count("passed")} passed, ${count("failed")} failed`);
if (values.json) console.log(JSON.stringify({ passed: count("passed"), failed: count("failed"), scenarios: reports }));
process.exit(count("failed") === 0 ? 0 : 1);

async function runAll(some: readonly Scenario[], atOnce: number): Promise<void> {
  const queue = [...some];
  const one = async (): Promise<void> => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      const report = await run(next, values.long);
      reports.push(report);
      console.log(`${line(report)}${report.remark === "" ? "" : `\n    ${report.remark}`}`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, one));
}

async function run(scenario: Scenario, isLong: boolean): Promise<Report> {
  const { name } = scenario;
  const begun = performance.now();
  const seconds = (): number => (performance.now() - begun) / 1000;
  const obstacle = await scenario.isImpossible?.();
  if (obstacle !== undefined) return { name, outcome: "impossible", seconds: seconds(), remark: obstacle };
  try {
    const folder = await scenario.folder?.();
    await using world = await World.create({
      isLong,
      ...(scenario.cells ? { cells: scenario.cells } : {}),
      ...(scenario.settings ? { settings: scenario.settings } : {}),
      ...(folder === undefined ? {} : { folder }),
    });
    await scenario.run(world);
    const verdict = await judge(world);
    const isGood = (scenario.isGood ?? isClean)(verdict);
    return {
      name,
      outcome: isGood ? "passed" : "failed",
      verdict,
      seconds: seconds(),
      remark: world.remarks.join("; "),
    };
  } catch (error) {
    return {
      name,
      outcome: "failed",
      seconds: seconds(),
      remark: error instanceof Error ? (error.stack ?? error.message) : String(error),
    };
  }
}

function isClean({ lost, twice, jobs }: Verdict): boolean {
  return lost === 0 && twice === 0 && jobs > 0;
}

function line({ name, outcome, verdict, seconds }: Report): string {
  const mark = { passed: "ok  ", failed: "FAIL", impossible: "--  " }[outcome];
  const books = verdict
    ? `${verdict.jobs.toLocaleString("en")} jobs, lost ${verdict.lost}, completed twice ${verdict.twice}, run again ${verdict.repeated}, longest pause ${verdict.recoverySeconds.toFixed(1)} s`
    : outcome;
  return `${mark} ${name.padEnd(58)} ${books} (${Math.round(seconds)} s)`;
}
