import type { ClaimedJob, Depth, JobId, JobState } from "../../src/db/types.js";
import { type JobRow, type LaneBook, imbalance } from "./books.js";
import { type Combination, verbsOf } from "./combination.js";
import type { Faults } from "./faults.js";
import { type Scene, type State, states } from "./scenes.js";
import type { Outcome } from "./transactions.js";

/** A job that was handed out, by the how-manieth claim. */
export interface HandOut {
  readonly job: ClaimedJob;
  readonly claim: number;
}

const finalStates: ReadonlySet<JobState> = new Set(["succeeded", "failed", "expired", "cancelled"]);
export const isFinal = (state: JobState): boolean => finalStates.has(state);
const stateOf = ({ state }: Combination): State => states[state];
function groupBy<T>(values: readonly T[], key: (value: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const value of values) groups.set(key(value), [...(groups.get(key(value)) ?? []), value]);
  return groups;
}
/** Jobs that are handed out in order: those of one group of a lane. */
const chainOf = ({ lane, group }: Pick<JobRow, "lane" | "group">): string | undefined =>
  group === null ? undefined : `${lane} ${group}`;

/** Nothing was thrown but what the verb may refuse; and an enqueue waits for nobody. */
export function checkOutcomes(
  combination: Combination,
  outcomes: readonly Outcome[],
  jobs: readonly JobRow[],
  faults: Faults,
): void {
  for (const [i, { verb, error, waited }] of outcomes.entries()) {
    if (error) {
      const { code } = error as { code?: string };
      const isolated = combination.tx === "repeatable read" && i === 0 ? ["MR007", "40001"] : [];
      const isGone = code === "MR002" && !jobs.some(({ id }) => error.message.includes(id)); // its retention has passed
      if (!isGone && ![...(verb.refuses?.(combination) ?? []), ...isolated].includes(code ?? ""))
        faults.add(`${verb.name} threw ${code}`, error.message);
    }
    if (
      waited &&
      verb.neverWaits &&
      !verbsOf(combination).some((other) => other.locksTables) &&
      !["rotated", "ring"].includes(combination.time)
    ) {
      faults.add("an enqueue waited");
    }
  }
}

/** What must hold of every job, whenever nobody is in the middle of something. */
export function checkJobs(combination: Combination, jobs: readonly JobRow[], faults: Faults): void {
  const live = new Map<string, number>();
  for (const { id, queue, state, state_alone, claims, ends, fingerprint, is_follow_up } of jobs) {
    const job = faults.name(id);
    if (state_alone !== undefined && state_alone !== state)
      faults.add("the view and job_state differ", `${job}: ${state} and ${state_alone}`);
    if (claims > 1) faults.add("a job is in two live claims", job);
    if (ends > 1) faults.add("a job has two final outcomes", `${job}: ${ends}`);
    if (fingerprint !== null && !is_follow_up && !isFinal(state))
      live.set(`${queue} ${fingerprint}`, (live.get(`${queue} ${fingerprint}`) ?? 0) + 1);
  }
  for (const [fingerprint, n] of live)
    if (n > 1) faults.add("several live jobs have one fingerprint", `${fingerprint.split(" ")[1]}: ${n}`);
  checkRunning(
    combination,
    jobs.filter(({ state }) => state === "running"),
    faults,
  );
}

/**
 * Limits, and that of an ordered group one job runs. (In batches there may be several: those that come back may run
 * beside younger ones.)
 */
export function checkRunning(combination: Combination, running: readonly JobRow[], faults: Faults): void {
  const { most, groupMost, ordered } = stateOf(combination);
  const mine = running.filter((row) => !row.queue.endsWith("-dead"));
  if (most !== undefined && mine.length > most) faults.add("more jobs run than maxRunning allows", String(mine.length));
  for (const [group, jobs] of groupBy(mine, (row) => row.group ?? "")) {
    if (group === "") continue;
    if (groupMost !== undefined && jobs.length > groupMost)
      faults.add("more jobs of a group run than groupMaxRunning allows", `${jobs.length}`);
    if (ordered === "jobs" && jobs.length > 1)
      faults.add("several jobs of an ordered group run", jobs.map((row) => faults.name(row.id)).join(", "));
  }
}

/** The counts of each lane are what its logs say. */
export function checkBooks(books: readonly LaneBook[], when: string, faults: Faults): void {
  for (const book of books) {
    const wrong = imbalance(book);
    if (wrong) faults.add(`the books do not balance ${when}`, `${book.type}: ${wrong}`);
    if (book.running > 0) faults.add("a job stands in line and runs", book.type);
    if (when !== "at once" && book.passed_over > 0)
      faults.add("an expired job is not recorded", `${book.type}: ${book.passed_over}`);
    for (const count of [book.ready, book.delayed, book.staged])
      if (count < 0) faults.add(`a count is below zero ${when}`);
  }
}

/** Whoever was told something finds it so. */
export function checkPromises(
  combination: Combination,
  scene: Scene,
  outcomes: readonly Outcome[],
  jobs: readonly JobRow[],
  faults: Faults,
): void {
  const rows = new Map(jobs.map((row) => [row.id, row]));
  const mayBeGone = combination.time === "retention" || combination.time === "rotated";
  const revives = verbsOf(combination).some((verb) => verb.revives);
  for (const { verb, told, kept } of outcomes) {
    if (!told) continue;
    for (const { id, token } of told.lost ?? []) {
      if (rows.get(id)?.token === token)
        faults.add("a report was refused although its claim lives", `${verb.name}, ${faults.name(id)}`);
    }
    for (const { id, duplicate } of told.enqueued ?? []) {
      const isThere = rows.has(id);
      if (duplicate && kept && !isThere && !mayBeGone)
        faults.add("an enqueue named a job that does not exist", verb.name);
      if (duplicate) continue;
      if (kept && !isThere) faults.add("an enqueued job is missing", verb.name);
      if (!kept && isThere && verb.name !== "claim from a new lane")
        faults.add("an enqueue that was rolled back left a job", verb.name);
    }
    if (!kept || revives) continue;
    for (const { id, state } of told.ended ?? []) {
      const shown = rows.get(id)?.state;
      if (shown !== state && !(shown === undefined && mayBeGone))
        faults.add(`${verb.name} told ${state}, the job is ${shown}`, faults.name(id));
    }
  }
  if (!mayBeGone)
    for (const id of scene.ids) if (!rows.has(id)) faults.add("a job of the scene is missing", faults.name(id));
  if (verbsOf(combination).some((verb) => verb.sheds) || mayBeGone) return;
  const told = outcomes.reduce((sum, { told, kept }) => sum + (kept ? (told?.cancelled ?? 0) : 0), 0);
  const shown = jobs.filter((row) => row.state === "cancelled" && row.queue === scene.queue).length;
  if (told !== shown) faults.add("the cancelled jobs are not those that were told", `told ${told}, shown ${shown}`);
}

/**
 * Nobody is handed out what was paused, and nothing is enqueued into what was closed, by a verb that had ended before.
 */
export function checkStops(
  combination: Combination,
  scene: Scene,
  outcomes: readonly Outcome[],
  jobs: readonly JobRow[],
  faults: Faults,
): void {
  if (verbsOf(combination).some(({ name }) => name.startsWith("resume") || name === "open")) return;
  const rows = new Map(jobs.map((row) => [row.id, row]));
  for (const stop of outcomes.filter(({ kept }) => kept)) {
    for (const { verb, told, kept } of outcomes.filter(({ startedAt }) => startedAt > stop.endedAt)) {
      const { paused } = stop.told ?? {};
      const isPaused = ({ id, type }: ClaimedJob): boolean =>
        paused !== undefined &&
        (paused.type ?? type) === type &&
        (paused.group ?? rows.get(id)?.group) === rows.get(id)?.group &&
        rows.get(id)?.queue === scene.queue;
      if (kept && told?.claimed?.some(isPaused))
        faults.add(`${stop.verb.name}, and ${verb.name} got a job all the same`);
      if (kept && stop.told?.closed && told?.enqueued?.some(({ duplicate }) => !duplicate))
        faults.add(`${stop.verb.name}, and ${verb.name} was accepted all the same`);
    }
  }
}

/**
 * What the public function counts is what the view shows. What was shed of groups is counted until somebody passes it.
 */
export function checkDepth(
  combination: Combination,
  scene: Scene,
  depth: Depth,
  jobs: readonly JobRow[],
  faults: Faults,
): void {
  if (verbsOf(combination).some((verb) => verb.sheds)) return;
  const count = (...shown: readonly JobState[]): number =>
    jobs.filter(({ queue, state }) => queue === scene.queue && shown.includes(state)).length;
  const told = `waiting ${depth.ready + depth.blocked}, delayed ${depth.delayed}, running ${depth.running}`;
  const shown = `waiting ${count("ready", "blocked")}, delayed ${count("delayed", "suspended")}, running ${count("running")}`;
  if (told !== shown) faults.add("the depth is not what the view shows", `${told}; ${shown}`);
}

/** Jobs that are ready, and that nothing holds back, although a worker that asked again and again did not get them. */
export function checkReady(
  combination: Combination,
  handOuts: readonly HandOut[],
  jobs: readonly JobRow[],
  faults: Faults,
): void {
  const { ordered, most, groupMost, rate } = stateOf(combination);
  if (rate !== undefined) return;
  const running = jobs.filter(({ state }) => state === "running");
  const handedOut = new Set(handOuts.map(({ job }) => job.id));
  const isBegun = ({ id, state }: JobRow): boolean =>
    state === "running" || state === "suspended" || (state === "delayed" && handedOut.has(id));
  for (const job of jobs) {
    if (job.state !== "ready") continue;
    const chain = chainOf(job);
    const ofChain = jobs.filter((other) => chain !== undefined && chainOf(other) === chain);
    const isHeldBack =
      (most !== undefined && running.length >= most) ||
      (groupMost !== undefined && running.filter(({ group }) => group === job.group).length >= groupMost) ||
      (ordered === "serial" && jobs.some(isBegun)) ||
      ((ordered === "jobs" || ordered === "batches") &&
        (ofChain.some((other) => other !== job && isBegun(other)) || running.some(({ group }) => group === job.group)));
    if (!isHeldBack) faults.add(`${faults.name(job.id)} is ready and not handed out`);
  }
}

/**
 * In an ordered group, and where one job runs at a time, no job starts before all older ones have ended. Not older in
 * this sense is one that became claimable later: it was delayed or staged, given another life, or written by a
 * transaction that was still open (`late`), or had its number before the other's; such a one may also go before those
 * of its group that were there. But once a job has been handed out, it goes before its successors.
 */
export function checkOrder(
  combination: Combination,
  scene: Scene,
  handOuts: readonly HandOut[],
  jobs: readonly JobRow[],
  late: ReadonlySet<JobId>,
  faults: Faults,
): void {
  const { ordered } = stateOf(combination);
  if (ordered === undefined || verbsOf(combination).some((verb) => verb.setsAside)) return;
  const chain = (row: JobRow): string | undefined => (ordered === "serial" ? row.queue : chainOf(row));
  const rows = new Map(jobs.map((row) => [row.id, row]));
  for (const [i, { job, claim }] of handOuts.entries()) {
    const row = rows.get(job.id);
    const wasHandedOut = (id: JobId): boolean => handOuts.slice(0, i).some((before) => before.job.id === id);
    // where one job of all runs at a time, one that was begun goes before all others, and one that was released for
    // later holds up nobody
    if (!row || chain(row) === undefined || (ordered === "serial" && wasHandedOut(row.id))) continue;
    const at = job.claimedAt.getTime();
    for (const older of jobs) {
      if (chain(older) !== chain(row) || BigInt(older.id) >= BigInt(row.id)) continue;
      const hasJoinedLater =
        late.has(older.id) ||
        late.has(row.id) ||
        older.is_follow_up ||
        older.id === scene.staged ||
        older.was_delayed ||
        BigInt(older.xid) > BigInt(row.xid);
      const isElsewhere = older.is_revived || (wasHandedOut(older.id) ? ordered === "serial" : hasJoinedLater);
      const hasEnded =
        (older.finished_at !== null && older.finished_at <= at + 1) ||
        (older.start_by !== null && older.start_by <= at + 1);
      const isOfBatch =
        ordered === "batches" && handOuts.some((other) => other.job.id === older.id && other.claim === claim);
      if (isElsewhere || hasEnded || isOfBatch) continue;
      faults.add(`${faults.name(row.id)} started before ${faults.name(older.id)} had ended, ordered: ${ordered}`);
    }
  }
}

/** However starts are counted, no more than the burst and what came meanwhile. */
export function checkRates(
  combination: Combination,
  handOuts: readonly HandOut[],
  jobs: readonly JobRow[],
  faults: Faults,
): void {
  const { rate, groupRate } = stateOf(combination);
  const groups = new Map(jobs.map((row) => [row.id, row.group]));
  const check = (
    what: string,
    limit: { perSecond: number; burst: number } | undefined,
    starts: readonly HandOut[],
  ): void => {
    if (!limit) return;
    const times = starts.map(({ job }) => job.claimedAt.getTime() / 1000).sort((x, y) => x - y);
    for (let i = 0; i < times.length; i += 1) {
      for (let j = i; j < times.length; j += 1) {
        const allowed = limit.burst + limit.perSecond * (times[j]! - times[i]! + 0.05);
        if (j - i + 1 > allowed)
          return faults.add(
            `more jobs started than the ${what} allows`,
            `${j - i + 1} in ${(times[j]! - times[i]!).toFixed(1)} s`,
          );
      }
    }
  };
  const mine = handOuts.filter(({ job }) => !job.queue.endsWith("-dead"));
  check("rate", rate, mine);
  for (const [group, starts] of groupBy(mine, ({ job }) => groups.get(job.id) ?? ""))
    if (group !== "") check("groupRate", groupRate, starts);
}

/**
 * A job that succeeded was last handed out with the input it is shown with; and one that got another input while it
 * waited is handed out with that one.
 */
export function checkInputs(
  outcomes: readonly Outcome[],
  handOuts: readonly HandOut[],
  jobs: readonly JobRow[],
  faults: Faults,
): void {
  const claims = outcomes
    .filter(({ kept }) => kept)
    .flatMap(({ startedAt, told }) => (told?.claimed ?? []).map((job) => ({ startedAt, job })));
  for (const { startedAt, told, kept } of outcomes) {
    for (const { id, input } of (kept && told?.replaced) || []) {
      const [first] = claims.filter(({ job }) => job.id === id).sort((x, y) => x.startedAt - y.startedAt);
      if (first && first.startedAt > startedAt && JSON.stringify(first.job.input) !== JSON.stringify(input)) {
        faults.add("a job was handed out with an input that had been replaced", faults.name(id));
      }
    }
  }
  const last = new Map(handOuts.map(({ job }) => [job.id, job.input]));
  for (const { id, state, input } of jobs) {
    if (state === "succeeded" && last.has(id) && JSON.stringify(last.get(id)) !== JSON.stringify(input)) {
      faults.add("a job ran with another input than it is shown with", faults.name(id));
    }
  }
}
