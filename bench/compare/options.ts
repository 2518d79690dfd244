import { parseArgs } from "node:util";
import { systems } from "./systems/index.ts";

/** How much of everything. */
export interface Sizes {
  readonly rounds: number;
  readonly jobs: number;
  /** Jobs enqueued one by one. */
  readonly singles: number;
  /** Length of one steady round, after `warmSeconds`. */
  readonly seconds: number;
  readonly warmSeconds: number;
  /** Samples of the latency in each round, and the mean time between them. */
  readonly samples: number;
  readonly sampleGapMs: number;
  /** Backlogs, from shallow to deep. */
  readonly depths: readonly [number, ...number[]];
  /** Jobs taken from a backlog in one round. */
  readonly depthSample: number;
  readonly tenantJobs: number;
  readonly memoryJobs: number;
  readonly megabytes: number;
  readonly idleSeconds: number;
  /** No new round of a scenario is begun after this time. */
  readonly scenarioSeconds: number;
  /** No new scenario is begun after this time. */
  readonly allSeconds: number;
  /** Whatever takes longer than this is given up. */
  readonly callSeconds: number;
}

const full: Sizes = {
  rounds: 5,
  jobs: 200_000,
  singles: 20_000,
  seconds: 60,
  warmSeconds: 5,
  samples: 200,
  sampleGapMs: 50,
  depths: [10_000, 1_000_000, 10_000_000],
  depthSample: 50_000,
  tenantJobs: 1_000_000,
  memoryJobs: 1_000_000,
  megabytes: 100,
  idleSeconds: 60,
  scenarioSeconds: 1200,
  allSeconds: 4 * 3600,
  callSeconds: 1800,
};

const quick: Sizes = {
  rounds: 3,
  jobs: 20_000,
  singles: 2000,
  seconds: 3,
  warmSeconds: 1,
  samples: 100,
  sampleGapMs: 25,
  depths: [10_000, 1_000_000],
  depthSample: 10_000,
  tenantJobs: 200_000,
  memoryJobs: 200_000,
  megabytes: 50,
  idleSeconds: 30,
  scenarioSeconds: 14,
  allSeconds: 250,
  callSeconds: 90,
};

export interface Options {
  readonly quick: boolean;
  readonly json: boolean;
  readonly scenarios: readonly string[];
  readonly systems: readonly string[];
  readonly sizes: Sizes;
}

const all = systems.map(({ name }) => name);
const quickly = systems.filter(({ onlyFull }) => !onlyFull).map(({ name }) => name);

export const usage = `npm run bench -- [options]

  --quick            everything smaller; at most five minutes, only ${quickly.join(", ")} unless --systems says more
  --scenario a,b     only these scenarios
  --systems a,b      only these systems: ${all.join(", ")}
  --jobs N           as many jobs, wherever jobs are counted
  --seconds N        length of steady rounds
  --rounds N         rounds of each measurement
  --json             one JSON object as the last line
`;

export function readOptions(argv: readonly string[], known: readonly string[]): Options | undefined {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      quick: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
      scenario: { type: "string" },
      systems: { type: "string" },
      jobs: { type: "string" },
      seconds: { type: "string" },
      rounds: { type: "string" },
    },
  });
  if (values.help) return undefined;
  const base = values.quick ? quick : full;
  const jobs = positive("jobs", values.jobs);
  const seconds = positive("seconds", values.seconds);
  const rounds = positive("rounds", values.rounds);
  return {
    quick: values.quick,
    json: values.json,
    scenarios: chosen("scenario", values.scenario, known),
    systems: chosen("system", values.systems, all, values.quick ? quickly : all),
    sizes: {
      ...base,
      ...(jobs ? smaller(base, jobs) : {}),
      ...(seconds ? { seconds, idleSeconds: seconds } : {}),
      ...(rounds ? { rounds } : {}),
    },
  };
}

function smaller(base: Sizes, jobs: number): Partial<Sizes> {
  const shallow = Math.min(base.depths[0], jobs);
  return {
    jobs,
    singles: jobs,
    depths: shallow === jobs ? [jobs, jobs * 5] : [shallow, jobs],
    depthSample: shallow,
    tenantJobs: jobs,
    memoryJobs: jobs,
  };
}

function chosen(
  what: string,
  list: string | undefined,
  known: readonly string[],
  byDefault = known,
): readonly string[] {
  const names = list?.split(",").map((name) => name.trim()) ?? byDefault;
  for (const name of names)
    if (!known.includes(name)) throw new Error(`there is no ${what} "${name}": take ${known.join(", ")}`);
  return names;
}

function positive(name: string, value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const number = Number(value.replaceAll("_", ""));
  if (!Number.isInteger(number) || number < 1) throw new Error(`--${name} takes a whole number, not ${value}`);
  return number;
}
