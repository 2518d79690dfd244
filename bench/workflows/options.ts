import { parseArgs } from "node:util";
import { systems } from "./systems/index.ts";

/** How much of everything. */
export interface Sizes {
  readonly rounds: number;
  readonly runs: number;
  readonly sequentialSteps: number;
  readonly parked: number;
  /** The same for peers: some end a hundred per second, and fewer are in their favour. */
  readonly parkedPeers: number;
  readonly parkedRounds: number;
  /** How long the server is watched while nothing happens, with and without runs that wait. */
  readonly idleSeconds: number;
  readonly children: number;
  readonly dependants: number;
  readonly chain: number;
  /** Jobs without steps, and rounds of them. */
  readonly plainJobs: number;
  readonly plainRounds: number;
  /** No new round of a scenario is begun after this time. */
  readonly scenarioSeconds: number;
  /** Whatever takes longer than this is given up. */
  readonly callSeconds: number;
}

const full: Sizes = {
  rounds: 5,
  runs: 1000,
  sequentialSteps: 1000,
  parked: 100_000,
  parkedPeers: 10_000,
  parkedRounds: 1,
  idleSeconds: 30,
  children: 10_000,
  dependants: 10_000,
  chain: 1000,
  plainJobs: 5000,
  plainRounds: 101,
  scenarioSeconds: 1800,
  callSeconds: 900,
};

const quick: Sizes = {
  ...full,
  rounds: 3,
  parked: 10_000,
  parkedPeers: 2000,
  idleSeconds: 5,
  children: 2000,
  dependants: 2000,
  chain: 100,
  plainJobs: 3000,
  plainRounds: 41,
  scenarioSeconds: 75,
  callSeconds: 120,
};

export const keys = ["steps", "sequential", "parked", "fan_in", "graph", "plain_cost"] as const;
export type Key = (typeof keys)[number];

export interface Options {
  readonly quick: boolean;
  readonly json: boolean;
  readonly only: readonly Key[];
  readonly systems: readonly string[];
  /** A built checkout to compare with, for plain_cost. */
  readonly base: string | undefined;
  readonly sizes: Sizes;
}

const all = systems.map(({ name }) => name);

export const usage = `npm run bench:workflows -- [options]

  --quick            everything smaller; about twelve minutes
  --only a,b         only these: ${keys.join(", ")}
  --systems a,b      only these systems: ${all.join(", ")}
  --rounds N         rounds of each measurement
  --base FOLDER      a built checkout of Millrace, with which plain_cost compares this one; without it, that is left out
  --json             one JSON object as the last line
`;

export function readOptions(argv: readonly string[]): Options | undefined {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      quick: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
      only: { type: "string" },
      systems: { type: "string" },
      rounds: { type: "string" },
      base: { type: "string" },
    },
  });
  if (values.help) return undefined;
  const rounds = values.rounds === undefined ? undefined : Number(values.rounds);
  if (rounds !== undefined && !(Number.isInteger(rounds) && rounds > 0))
    throw new Error(`--rounds takes a whole number, not ${values.rounds}`);
  const base = values.quick ? quick : full;
  return {
    quick: values.quick,
    json: values.json,
    only: chosen("measurement", values.only, keys),
    systems: chosen("system", values.systems, all),
    base: values.base,
    sizes: rounds === undefined ? base : { ...base, rounds, parkedRounds: rounds },
  };
}

function chosen<T extends string>(what: string, list: string | undefined, known: readonly T[]): readonly T[] {
  const names = list?.split(",").map((name) => name.trim()) ?? known;
  for (const name of names)
    if (!(known as readonly string[]).includes(name))
      throw new Error(`there is no ${what} "${name}": take ${known.join(", ")}`);
  return names as readonly T[];
}
