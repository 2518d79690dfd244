import { setTimeout as sleep } from "node:timers/promises";
import type { Bench, Place } from "./bench.ts";
import type { Results, Series } from "./results.ts";

const concurrency = 100;
const edge = 100;

/** The same number with a snapshot held open has a name of its own. */
function held(series: Series, isHeld: boolean): Series {
  if (!isHeld) return series;
  return {
    ...series,
    name: series.name === "" ? "held" : `${series.name}_held`,
    label: `${series.label}, a snapshot held`,
  };
}

/** Without and with a snapshot held open, another one first in each round. */
const both = (round: number): boolean[] => (round % 2 === 0 ? [false, true] : [true, false]);

export async function steps(bench: Bench, results: Results): Promise<void> {
  const series: Series = { name: "", label: "steps per second, runs of 4 empty steps, 100 at once", better: "higher" };
  const { runs, rounds } = bench.sizes;
  await bench.rounds(bench.systems("runs"), rounds, results, async (system, round) => {
    for (const isHeld of both(round))
      await bench.in(system, isHeld, async ({ child }) => {
        await child.call("start", { concurrency, idle: false });
        const { seconds } = await child.call("steps", { runs, steps: 4 });
        results.add(system, held(series, isHeld), (runs * 4) / seconds);
      });
  });
}

export async function sequential(bench: Bench, results: Results): Promise<void> {
  const { sequentialSteps, rounds } = bench.sizes;
  const series: Series = { name: "", label: `seconds, one run of ${sequentialSteps} empty steps`, better: "lower" };
  const linear: Series = { name: "linear", label: "its last 100 steps against its first 100", better: "lower" };
  await bench.rounds(bench.systems("runs"), rounds, results, async (system, round) => {
    for (const isHeld of both(round))
      await bench.in(system, isHeld, async ({ child }) => {
        await child.call("start", { concurrency, idle: false });
        const { seconds, firstMs, lastMs } = await child.call("sequential", { steps: sequentialSteps, edge });
        results.add(system, held(series, isHeld), seconds);
        results.add(system, held(linear, isHeld), lastMs / firstMs);
      });
  });
}

/** An idle backend tells of its last transactions ten seconds later: those before the watch are not meant. */
const settleMs = 11_000;

/** What the server does while nothing happens. */
async function idle({ postgres, sizes }: Bench, { database }: Place): Promise<{ transactions: number; cpu: number }> {
  const transactions = async (): Promise<number> =>
    Number(
      (
        await postgres.one<{ n: string }>(
          "select xact_commit + xact_rollback as n from pg_stat_database where datname = $1",
          [database],
        )
      ).n,
    );
  await sleep(settleMs);
  const [from, cpuFrom, startedAt] = [await transactions(), postgres.cpuSeconds(), performance.now()];
  await sleep(sizes.idleSeconds * 1000);
  const seconds = (performance.now() - startedAt) / 1000;
  const [to, cpuTo] = [await transactions(), postgres.cpuSeconds()];
  return { transactions: (to - from) / seconds, cpu: ((cpuTo ?? NaN) - (cpuFrom ?? NaN)) / seconds };
}

export async function parked(bench: Bench, results: Results): Promise<void> {
  const { parked: most, parkedPeers, parkedRounds } = bench.sizes;
  const told: Series = {
    name: "",
    label: `runs per second, ${most.toLocaleString("en")} that wait are told, until all have ended`,
    better: "higher",
  };
  const parkedSeries: Series = { name: "parking", label: "runs per second, started until they wait", better: "higher" };
  const tx: Series = { name: "waiting_transactions", label: "transactions per second while all wait", better: "lower" };
  const txNone: Series = { name: "idle_transactions", label: "the same while none waits", better: "lower" };
  const cpu: Series = { name: "waiting_cpu", label: "processors of the server busy while all wait", better: "lower" };
  const cpuNone: Series = { name: "idle_cpu", label: "the same while none waits", better: "lower" };
  results.notes.push(`peers have ${parkedPeers.toLocaleString("en")} that wait, which is in their favour`);
  await bench.rounds(bench.systems("runs"), parkedRounds, results, async (system, round) => {
    for (const isHeld of both(round))
      await bench.in(system, isHeld, async (place) => {
        const { child } = place;
        const runs = system === "millrace" ? most : parkedPeers;
        await child.call("start", { concurrency, idle: true });
        const none = isHeld ? undefined : await idle(bench, place);
        const { seconds: parking } = await child.call("park", { runs });
        results.add(system, held(parkedSeries, isHeld), runs / parking);
        if (none) {
          const waiting = await idle(bench, place);
          results.add(system, tx, waiting.transactions);
          results.add(system, txNone, none.transactions);
          results.add(system, cpu, waiting.cpu);
          results.add(system, cpuNone, none.cpu);
        }
        const { seconds } = await child.call("tell", {});
        results.add(system, held(told, isHeld), runs / seconds);
      });
  });
}

export async function fanIn(bench: Bench, results: Results): Promise<void> {
  const { children, rounds } = bench.sizes;
  const resume: Series = {
    name: "",
    label: `ms from the end of the last of ${children.toLocaleString("en")} children to the parent's next line`,
    better: "lower",
  };
  const all: Series = { name: "children_per_second", label: "children per second, all in all", better: "higher" };
  await bench.rounds(bench.systems("runs"), rounds, results, async (system, round) => {
    for (const isHeld of both(round))
      await bench.in(system, isHeld, async ({ child }) => {
        await child.call("start", { concurrency, idle: false });
        const answer = await child.call("fanIn", { children });
        if (answer.children < children && round === 0 && !isHeld)
          results.notes.push(`${system} has ${answer.children} children, the most that it allows`);
        results.add(system, held(resume, isHeld), answer.resumeMs);
        results.add(system, held(all, isHeld), answer.children / answer.seconds);
      });
  });
}

export async function graph(bench: Bench, results: Results): Promise<void> {
  const { dependants, chain, rounds } = bench.sizes;
  const fan: Series = {
    name: "",
    label: `jobs per second, one and ${(dependants - 1).toLocaleString("en")} after it, stored and ended`,
    better: "higher",
  };
  const line: Series = {
    name: "chain",
    label: `jobs per second, a chain of ${chain.toLocaleString("en")}, stored and ended`,
    better: "higher",
  };
  await bench.rounds(bench.systems("graphs"), rounds, results, async (system, round) => {
    for (const isHeld of both(round))
      for (const [shape, jobs, series] of [
        ["fan", dependants, fan],
        ["chain", chain, line],
      ] as const)
        await bench.in(system, isHeld, async ({ child }) => {
          const answer = await child.call("graph", { shape, jobs });
          if (answer) results.add(system, held(series, isHeld), jobs / answer.seconds);
          else if (round === 0 && !isHeld && shape === "fan") results.notes.push(`${system} has no graphs`);
        });
  });
}
