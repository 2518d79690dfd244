import fc from "fast-check";
import { apiAttack, callApi } from "./api-door.js";
import { callLibrary, libraryAttack } from "./library-door.js";
import { type Attack, Fault, Run, type Tally, type Target } from "./run.js";
import { callSql, sqlAttack } from "./sql-door.js";
import { callSqs, sqsAttack } from "./sqs-door.js";
import type { Victim } from "./victim.js";
import { workOn } from "./work.js";

export interface AttackOptions {
  readonly seed: number;
  /** How many runs at most; `seconds` may end it before. Default as many as fit. */
  readonly runs?: number;
  /** After so many seconds no more runs begin. */
  readonly seconds: number;
  /** The doors to try. Default all. */
  readonly doors?: readonly Attack["door"][];
}

/** One call may take so long, on a machine that has much else to do. */
const patienceMs = 30_000;
/** So many runs have one seed, which is the one before plus one: what fails late is found again at once. */
const runsPerSeed = 4;
const attacksPerRun = 40;
/** So long it looks for a smaller counterexample. */
const shrinkMs = 120_000;

/**
 * Send any value through any door, work on what was accepted, and look after the victim, run after run. Throws
 * fast-check's report, with the smallest counterexample that it finds, when anything but a refusal came of it. Returns
 * how many calls each door took and refused.
 */
export async function attack(
  target: Target,
  victim: Victim,
  { seed, runs = Infinity, seconds, doors = ["sql", "library", "api", "sqs"] }: AttackOptions,
): Promise<ReadonlyMap<Attack["door"], Tally>> {
  const tallies = new Map<Attack["door"], Tally>();
  const arbitraries = { sql: sqlAttack, library: libraryAttack, api: await apiAttack(target), sqs: sqsAttack };
  const attacks = fc.array(fc.oneof(...doors.map((door) => arbitraries[door])), {
    minLength: 1,
    maxLength: attacksPerRun,
    size: "max",
  });
  const property = fc.asyncProperty(attacks, (sent) => runOnce(new Run(target, tallies), victim, sent));
  const end = performance.now() + seconds * 1000;
  for (let done = 0; done < runs && (done === 0 || performance.now() < end); done += runsPerSeed) {
    await fc.assert(property, {
      seed: seed + done / runsPerSeed,
      numRuns: Math.min(runsPerSeed, runs - done),
      interruptAfterTimeLimit: shrinkMs,
      markInterruptAsFailure: true,
      includeErrorInReport: true,
    });
  }
  return tallies;
}

async function runOnce(run: Run, victim: Victim, sent: readonly Attack[]): Promise<void> {
  const complaints = run.target.complaints.length;
  await prepare(run);
  for (const one of sent) await inTime(one, call(run, one));
  await workOn(run);
  await tidy(run);
  victim.check();
  if (run.target.complaints.length > complaints)
    throw new Fault(`the server complained: ${run.target.complaints.slice(complaints).join("; ")}`);
}

/** Three queues, two of them known to SQS clients, and a job that is held. */
async function prepare(run: Run): Promise<void> {
  const { engine } = run.target;
  for (const queue of run.queues) await engine.queuePut(queue);
  for (const QueueName of ["@q1", "@q2"]) await callSqs(run, { verb: "CreateQueue", values: { QueueName } });
  await engine.enqueueMany(run.types[0]!, [1, 2, 3], { queue: run.queues[0]! });
  const [job] = await engine.claim({ queues: run.queues, leaseSeconds: 600 });
  if (job) run.held = job;
}

function call(run: Run, one: Attack): Promise<unknown> {
  const doors = { sql: callSql, library: callLibrary, api: callApi, sqs: callSqs };
  return doors[one.door](run, one);
}

async function inTime(one: Attack, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Fault(`${one.door} ${one.verb} took more than ${patienceMs} ms`)), patienceMs);
  });
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Schedules go on for ever, and would slow the runs that follow. */
async function tidy({ target: { engine }, queues }: Run): Promise<void> {
  for (const queue of queues) {
    if ((await engine.schedules.list({ name: queue })).length > 0) await engine.schedules.remove(queue);
  }
}
