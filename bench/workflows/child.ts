// A process of its own for everything a system does: child.ts <system> <url of its database>.
import { setTimeout as sleep } from "node:timers/promises";
import type { Message } from "../compare/child/commands.ts";
import { median } from "../engine/measure.ts";
import type { Handlers, Request } from "./commands.ts";
import { findSystem } from "./systems/index.ts";
import type { Bodies, Input, Running } from "./systems/system.ts";

const [name, url] = process.argv.slice(2) as [string, string];
const system = await findSystem(name).load();
const empty = async (): Promise<number> => 1;
/** What is over sooner is done again, and the median counts: a third of a second says little on a busy machine. */
const atLeastMs = 2000;

/** What the workflows have come to, in this process. */
const seen = { ended: 0, stepsAt: [] as number[], lastChildAt: 0, resumedAt: 0 };
const bodies: Bodies = {
  async steps(steps, { size = 4 }) {
    for (let i = 0; i < size; i += 1) {
      await steps.run(`step-${i}`, empty);
      if (size > 4) seen.stepsAt.push(performance.now());
    }
    return (seen.ended += 1);
  },
  async parked(steps, input) {
    await steps.signal(input);
    return (seen.ended += 1);
  },
  async parent(steps, { size = 0 }) {
    await steps.children(Array.from({ length: size }, (_, n) => ({ n })));
    seen.resumedAt = performance.now();
    return (seen.ended += 1);
  },
  async child() {
    seen.lastChildAt = performance.now();
    return 1;
  },
};

let running: Running | undefined;
let parked: readonly string[] = [];
let startedRuns = 0;

/** Numbers of runs are never used twice: signals are found by them. */
function inputs(count: number, size?: number): Input[] {
  startedRuns += count;
  return Array.from({ length: count }, (_, i) => ({
    n: startedRuns - count + i,
    ...(size === undefined ? {} : { size }),
  }));
}

async function allEnded(expected: number): Promise<void> {
  while (seen.ended < expected) await sleep(1);
  while ((await running!.open()) > 0) await sleep(1);
}

/** Seconds that something takes, until so many runs more have ended, and the store knows. */
async function timed(runs: number, work: () => Promise<unknown>): Promise<number> {
  const expected = seen.ended + runs;
  const startedAt = performance.now();
  await work();
  await allEnded(expected);
  return (performance.now() - startedAt) / 1000;
}

const handlers: Handlers = {
  setup: () => system.setup(url),
  async start({ concurrency, idle }) {
    const started = (running = await system.work!(url, { bodies, concurrency, idle }));
    await timed(200, () => started.start("steps", inputs(200)));
    const warm = await started.start("parked", inputs(20));
    while ((await started.parked()) < 20) await sleep(5);
    await timed(20, () => started.tell(warm));
    await timed(1, () => started.start("parent", [{ n: -1, size: 20 }]));
  },
  async steps({ runs, steps }) {
    const seconds: number[] = [];
    const until = performance.now() + atLeastMs;
    do seconds.push(await timed(runs, () => running!.start("steps", inputs(runs, steps))));
    while (performance.now() < until);
    return { seconds: median(seconds) };
  },
  async sequential({ steps, edge }) {
    seen.stepsAt = [];
    const seconds = await timed(1, () => running!.start("steps", inputs(1, steps)));
    const at = seen.stepsAt;
    return {
      seconds,
      firstMs: at[edge]! - at[0]!,
      lastMs: at.at(-1)! - at.at(-1 - edge)!,
    };
  },
  async park({ runs }) {
    const startedAt = performance.now();
    parked = await running!.start("parked", inputs(runs));
    while ((await running!.parked()) < runs) await sleep(50);
    return { seconds: (performance.now() - startedAt) / 1000 };
  },
  async tell() {
    return { seconds: await timed(parked.length, () => running!.tell(parked)) };
  },
  async fanIn({ children }) {
    const size = Math.min(children, system.maxSteps ?? children);
    const seconds = await timed(1, () => running!.start("parent", [{ n: -1, size }]));
    return { children: size, seconds, resumeMs: seen.resumedAt - seen.lastChildAt };
  },
  async graph({ shape, jobs }) {
    const graphs = await system.graphs!(url);
    if (!graphs) return undefined;
    await graphs.run("chain", 3);
    const answer = await graphs.run(shape, jobs);
    await graphs.stop();
    return answer;
  },
};

// The bench may have hung up already.
const say = (message: Message): void => {
  if (process.connected) process.send?.(message, undefined, undefined, () => {});
};
process.on("message", (request: Request) => {
  handlers[request.command](request.args).then(
    (answer) => say({ id: request.id, answer }),
    (error: unknown) =>
      say({ id: request.id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
  );
});
// Whoever started this is gone, or done with it.
process.on("disconnect", () => process.exit());
