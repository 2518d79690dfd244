import type { Model, Step } from "./explorer.js";

/**
 * Some jobs of one lane, those who hold them to decide on them, and those who claim them meanwhile. Everybody runs
 * transactions, each a list of operations; one operation of one process at a time. Locks are PostgreSQL's: whoever
 * cannot have one waits in its queue.
 */
export interface HoldScenario {
  readonly jobs: number;
  /** For each holder (job_cancel of a few jobs) the jobs it cancels. */
  readonly holders: readonly (readonly number[])[];
  /** Bulk holders (job_cancel of many jobs): they take the lane as a whole and cancel all that waits. */
  readonly seizers?: number;
  readonly claimers: number;
  /** Claims each claimer may begin. */
  readonly claims: number;
  /** Jobs a claim takes at most. */
  readonly batch: number;
  /** Runs of postponed_return by a process that does nothing else. Each claim begins with one anyway. */
  readonly returns?: number;
  /** A worker may put its job back into the lane instead of completing it. */
  readonly mayRelease?: boolean;
  readonly rules?: HoldRules;
}

export interface HoldRules {
  /** A holder does not wait for the claims that may have missed its marks. */
  readonly skipsBarrier?: boolean;
  /** A holder looks at its jobs first, and then marks them. */
  readonly looksBeforeMark?: boolean;
  /** A claim that could not get the flag takes held jobs all the same. */
  readonly ignoresMarks?: boolean;
  /** A claim does not try the flag, and takes it for granted that nothing is held. */
  readonly ignoresFlag?: boolean;
  /** A claim looks for void tickets first, and then for marks. */
  readonly looksForVoidsBeforeMarks?: boolean;
  /** A claim passes by held jobs without putting them aside. */
  readonly dropsHeld?: boolean;
  /** Jobs put aside come back although somebody holds them. */
  readonly returnsHeld?: boolean;
  /** Two can return the same job at once. */
  readonly returnsUnlocked?: boolean;
  /** A claim does not take the lane's lock. */
  readonly claimsUnlocked?: boolean;
  /** A ticket is claimed although its job was cancelled. */
  readonly claimsVoids?: boolean;
  /** A bulk holder takes the lane's lock, but not its flag. */
  readonly seizesWithoutFlag?: boolean;
  /** A bulk holder takes the lane's lock before its flag. */
  readonly seizesLaneFirst?: boolean;
  /** A holder of several jobs marks them in the order they were given. */
  readonly marksInAnyOrder?: boolean;
}

type Operation =
  | "return"
  | "lock lane"
  | "try flag"
  | "read tickets"
  | "read voids"
  | "read marks"
  | "take"
  | `mark ${number}`
  | "share flag"
  | "await lane"
  | "give lane back"
  | "seize flag"
  | "seize lane"
  | "look";

/** Somebody's place at a lock: granted, or in the queue behind those before it. */
interface Lock {
  readonly on: string;
  readonly by: string;
  readonly isShared: boolean;
  readonly isGranted: boolean;
}

/** A job that claims went round, and the transaction that is returning it. */
interface Postponed {
  readonly job: number;
  readonly lockedBy: string;
}

/** What a transaction will have done when it commits. */
interface Effects {
  /** Jobs put aside before, back in the lane as new tickets. */
  readonly returns: readonly number[];
  /** Tickets the cursor passes. */
  readonly passes: readonly number[];
  readonly claims: readonly number[];
  readonly postpones: readonly number[];
  readonly cancels: readonly number[];
}

interface Process {
  /** Transactions it may still begin. */
  readonly budget: number;
  /** How many of its operations are done; null outside of a transaction. */
  readonly at: number | null;
  readonly effects: Effects;
  /** What a claim has read and not yet acted on. */
  readonly isFlagged: boolean;
  readonly tickets: readonly number[];
  readonly voids: readonly number[] | null;
  readonly held: readonly number[];
}

interface State {
  readonly tickets: readonly number[];
  readonly postponed: readonly Postponed[];
  readonly claims: readonly { readonly job: number; readonly by: string }[];
  readonly completed: readonly number[];
  /** Each stands for a caller that was told so. */
  readonly cancelled: readonly number[];
  readonly locks: readonly Lock[];
  readonly processes: Readonly<Record<string, Process>>;
}

const noEffects: Effects = { returns: [], passes: [], claims: [], postpones: [], cancels: [] };
const nothingRead = { isFlagged: false, tickets: [], voids: null, held: [] };

export function holdModel(scenario: HoldScenario): Model<State> {
  const rules = scenario.rules ?? {};
  const jobs = Array.from({ length: scenario.jobs }, (_, i) => i + 1);
  const scripts = scriptsOf(scenario, rules);
  const budgetOf = (name: string): number =>
    isClaimer(name) ? scenario.claims : name === "returner" ? (scenario.returns ?? 0) : 1;
  const initial: State = {
    tickets: jobs,
    postponed: [],
    claims: [],
    completed: [],
    cancelled: [],
    locks: [],
    processes: Object.fromEntries(
      Object.keys(scripts).map((name) => [
        name,
        { budget: budgetOf(name), at: null, effects: noEffects, ...nothingRead },
      ]),
    ),
  };

  function steps(state: State): Step<State>[] {
    return Object.entries(state.processes).flatMap(([name, process]) =>
      process.at === null ? stepsOutside(state, name, process) : stepsInside(state, name, process, process.at),
    );
  }

  function stepsOutside(state: State, name: string, process: Process): Step<State>[] {
    const claim = state.claims.find(({ by }) => by === name);
    if (claim) return report(state, name, claim.job);
    if (process.budget === 0 || !hasWork(state, name)) return [];
    const begun: Process = { ...process, budget: process.budget - 1, at: 0 };
    return [operate(withProcess(state, name, begun), name, begun, 0)];
  }

  /** Transactions without anything to do would change nothing. */
  function hasWork(state: State, name: string): boolean {
    if (isClaimer(name)) return state.tickets.length > 0 || returnable(state, name).length > 0;
    return name !== "returner" || returnable(state, name).length > 0;
  }

  function report(state: State, name: string, job: number): Step<State>[] {
    const claims = state.claims.filter((claim) => claim.job !== job || claim.by !== name);
    const completed = {
      name: `${name} completes job ${job}`,
      next: { ...state, claims, completed: inOrder([...state.completed, job]) },
    };
    if (!scenario.mayRelease) return [completed];
    return [
      completed,
      { name: `${name} releases job ${job}`, next: { ...state, claims, tickets: [...state.tickets, job] } },
    ];
  }

  /** A transaction can be killed at any time, also while it waits for a lock. */
  function stepsInside(state: State, name: string, process: Process, at: number): Step<State>[] {
    const rollback = { name: `${name} rolls back`, next: close(state, name) };
    if (state.locks.some(({ by, isGranted }) => by === name && !isGranted)) return [rollback];
    if (at < scripts[name]!.length) return [operate(state, name, process, at), rollback];
    return [{ name: `${name} commits`, next: commit(state, name, process.effects) }, rollback];
  }

  function operate(state: State, name: string, process: Process, at: number): Step<State> {
    const operation = scripts[name]![at]!;
    if (isIdle(state, name, process, operation)) return operate(state, name, process, at + 1);
    const next = perform(
      withProcess(state, name, { ...process, at: at + 1 }),
      name,
      { ...process, at: at + 1 },
      operation,
    );
    return { name: `${name}: ${operation}`, next };
  }

  /** Operations that are left out when there is no need for them. */
  function isIdle(state: State, name: string, process: Process, operation: Operation): boolean {
    return (
      (operation === "return" && returnable(state, name).length === 0) ||
      (operation === "read marks" && !process.isFlagged)
    );
  }

  function perform(state: State, name: string, process: Process, operation: Operation): State {
    const update = (changes: Partial<Process>): State => withProcess(state, name, { ...process, ...changes });
    switch (operation) {
      case "return":
        return returnPostponed(state, name, process);
      case "lock lane":
        return lockLane(state, name, process);
      case "try flag": {
        const tried = tryLock(state, "flag", name);
        return withProcess(tried ?? state, name, { ...process, isFlagged: !tried });
      }
      case "read tickets":
        return update({
          tickets: ticketsAhead(state, process).slice(0, scenario.batch - process.effects.claims.length),
        });
      case "read voids":
        return update({ voids: state.cancelled });
      case "read marks":
        return update({ held: process.tickets.filter((job) => isHeld(state, name, job)) });
      case "take":
        return take(state, name, process);
      case "share flag":
        return ask(state, "flag", name, true);
      case "await lane":
        return ask(state, "lane", name, true);
      case "give lane back":
        return release(state, (lock) => lock.on === "lane" && lock.by === name);
      case "seize flag":
        return ask(state, "flag", name, false);
      case "seize lane":
        return ask(state, "lane", name, false);
      case "look":
        return update({ effects: { ...noEffects, cancels: jobsOf(name).filter((job) => isWaiting(state, job)) } });
      default:
        return ask(state, operation, name, false);
    }
  }

  function jobsOf(name: string): readonly number[] {
    return scenario.holders[holderNames(scenario).indexOf(name)] ?? jobs;
  }

  function returnable(state: State, name: string): number[] {
    return state.postponed
      .filter(({ job, lockedBy }) => lockedBy === "" && (rules.returnsHeld || !isHeld(state, name, job)))
      .map(({ job }) => job);
  }

  function returnPostponed(state: State, name: string, process: Process): State {
    const returns = returnable(state, name);
    const lockedBy = rules.returnsUnlocked ? "" : name;
    const postponed = state.postponed.map((row) => (returns.includes(row.job) ? { ...row, lockedBy } : row));
    return withProcess({ ...state, postponed }, name, { ...process, effects: { ...process.effects, returns } });
  }

  /** A claim that has written already does not wait for a busy lane. */
  function lockLane(state: State, name: string, process: Process): State {
    if (process.effects.returns.length === 0) return ask(state, "lane", name, false);
    return tryLock(state, "lane", name) ?? withProcess(state, name, { ...process, at: scripts[name]!.length });
  }

  function ticketsAhead(state: State, { effects }: Process): readonly number[] {
    return without([...state.tickets, ...effects.returns], effects.passes);
  }

  /**
   * The end of lane_take: held jobs are put aside, void ones passed by, the others claimed. It goes on while there is
   * room.
   */
  function take(state: State, name: string, process: Process): State {
    const { tickets, held, effects } = process;
    const voids = rules.claimsVoids ? [] : (process.voids ?? state.cancelled);
    const taken: Effects = {
      ...effects,
      passes: [...effects.passes, ...tickets],
      postpones: rules.dropsHeld ? [] : [...effects.postpones, ...held],
      claims: [...effects.claims, ...tickets.filter((job) => !held.includes(job) && !voids.includes(job))],
    };
    const done: Process = { ...process, ...nothingRead, isFlagged: process.isFlagged, effects: taken };
    const goesOn = taken.claims.length < scenario.batch && ticketsAhead(state, done).length > 0;
    return withProcess(state, name, goesOn ? { ...done, at: scripts[name]!.indexOf("read tickets") } : done);
  }

  function check(state: State, isEnd: boolean): string | undefined {
    for (const job of jobs) {
      const fault = faultOf(state, job, isEnd);
      if (fault !== undefined) return fault;
    }
    const stuck = deadlocked(state.locks);
    return stuck.length > 0 ? `${stuck.join(" and ")} wait for each other` : undefined;
  }

  return { initial: [initial], steps, key: keyOf, check, show };
}

/** What everybody's transactions do, operation by operation, as the SQL does. */
function scriptsOf(scenario: HoldScenario, rules: HoldRules): Record<string, readonly Operation[]> {
  const names = holderNames(scenario);
  const holders = names.map((name, i) => [name, holderScript(scenario.holders[i]!, rules)] as const);
  const seizers = numbered("seizer", scenario.seizers ?? 0).map((name) => [name, seizerScript(rules)] as const);
  const claimers = numbered("claimer", scenario.claimers).map((name) => [name, claimerScript(rules)] as const);
  return Object.fromEntries<readonly Operation[]>([...holders, ...seizers, ...claimers, ["returner", ["return"]]]);
}

/**
 * job_hold with its barrier, lanes_await; then job_cancel looks and closes what waits. Claims and outcomes cannot
 * change between its looks.
 */
function holderScript(jobs: readonly number[], rules: HoldRules): Operation[] {
  const marked = rules.marksInAnyOrder ? jobs : inOrder(jobs);
  const hold: Operation[] = [...marked.map((job) => markOf(job)), "share flag"];
  if (!rules.skipsBarrier) hold.push("await lane", "give lane back");
  return rules.looksBeforeMark ? ["look", ...hold] : [...hold, "look"];
}

function seizerScript(rules: HoldRules): Operation[] {
  if (rules.seizesWithoutFlag) return ["seize lane", "look"];
  return rules.seizesLaneFirst ? ["seize lane", "seize flag", "look"] : ["seize flag", "seize lane", "look"];
}

/** job_claim_json and lane_take. */
function claimerScript(rules: HoldRules): Operation[] {
  const flag: Operation[] = rules.ignoresFlag ? [] : ["try flag"];
  const marks: Operation[] = rules.ignoresMarks
    ? []
    : rules.looksForVoidsBeforeMarks
      ? ["read voids", "read marks"]
      : ["read marks"];
  const lane: Operation[] = rules.claimsUnlocked ? [] : ["lock lane"];
  return ["return", ...lane, ...flag, "read tickets", ...marks, "take"];
}

function numbered(kind: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `${kind} ${i + 1}`);
}

function holderNames(scenario: HoldScenario): string[] {
  return numbered("holder", scenario.holders.length);
}

function isClaimer(name: string): boolean {
  return name.startsWith("claimer");
}

function markOf(job: number): `mark ${number}` {
  return `mark ${job}`;
}

/** jobs_held: somebody else has the job's mark, and does not just wait for it. */
function isHeld(state: State, name: string, job: number): boolean {
  return state.locks.some(({ on, by, isGranted }) => on === markOf(job) && by !== name && isGranted);
}

function isWaiting({ claims, completed, cancelled }: State, job: number): boolean {
  return !completed.includes(job) && !cancelled.includes(job) && !claims.some((claim) => claim.job === job);
}

/**
 * Whoever cannot have the lock at once waits behind all who came before. Across different locks it does not matter who
 * came first.
 */
function ask(state: State, on: string, by: string, isShared: boolean): State {
  const isGranted = state.locks.every((lock) => isCompatible(lock, on, isShared));
  const place = state.locks.filter((lock) => lock.on <= on).length;
  return { ...state, locks: state.locks.toSpliced(place, 0, { on, by, isShared, isGranted }) };
}

/** Undefined when the lock cannot be had at once: somebody has it, or waits for it. */
function tryLock(state: State, on: string, by: string): State | undefined {
  return state.locks.every((lock) => isCompatible(lock, on, false)) ? ask(state, on, by, false) : undefined;
}

function isCompatible(other: Lock, on: string, isShared: boolean): boolean {
  return other.on !== on || (other.isShared && isShared);
}

/** Those who waited get what is free now, in the order they came. */
function release(state: State, isReleased: (lock: Lock) => boolean): State {
  const locks = state.locks.filter((lock) => !isReleased(lock));
  for (const [i, lock] of locks.entries()) {
    if (!lock.isGranted && obstacles(locks, lock).length === 0) locks[i] = { ...lock, isGranted: true };
  }
  return { ...state, locks };
}

/** What a waiting lock waits for: those who have it, and those who asked for it before. */
function obstacles(locks: readonly Lock[], waiting: Lock): Lock[] {
  const place = locks.indexOf(waiting);
  return locks.filter(
    (other, i) => (other.isGranted || i < place) && !isCompatible(other, waiting.on, waiting.isShared),
  );
}

/** Those who wait, directly or not, for one another. Nobody else's end can help them. */
function deadlocked(locks: readonly Lock[]): string[] {
  let stuck = locks.filter(({ isGranted }) => !isGranted);
  for (let before = Infinity; stuck.length < before;) {
    before = stuck.length;
    const names = stuck.map(({ by }) => by);
    stuck = stuck.filter((waiting) => obstacles(locks, waiting).some(({ by }) => names.includes(by)));
  }
  return stuck.map(({ by }) => by);
}

/** A transaction's effects become visible, and only then its locks are given back. */
function commit(state: State, name: string, effects: Effects): State {
  const kept = state.postponed.filter(({ job }) => !effects.returns.includes(job));
  return close(
    {
      ...state,
      tickets: without([...state.tickets, ...effects.returns], effects.passes),
      postponed: [...kept, ...effects.postpones.map((job) => ({ job, lockedBy: "" }))],
      claims: [...state.claims, ...effects.claims.map((job) => ({ job, by: name }))],
      cancelled: inOrder([...state.cancelled, ...effects.cancels]),
    },
    name,
  );
}

/** A transaction's end gives back its locks, whichever way it ends. */
function close(state: State, name: string): State {
  const postponed = state.postponed.map((row) => (row.lockedBy === name ? { ...row, lockedBy: "" } : row));
  const ended: Process = { budget: state.processes[name]!.budget, at: null, effects: noEffects, ...nothingRead };
  return release(withProcess({ ...state, postponed }, name, ended), ({ by }) => by === name);
}

function faultOf(state: State, job: number, isEnd: boolean): string | undefined {
  const count = (list: readonly number[]): number => list.filter((other) => other === job).length;
  const claims = count(state.claims.map((claim) => claim.job));
  const completed = count(state.completed);
  const cancelled = count(state.cancelled);
  const waiting = count(state.tickets) + count(state.postponed.map((row) => row.job));
  if (cancelled > 1) return `two callers were told that they cancelled job ${job}`;
  if (cancelled > 0 && claims > 0) return `a caller was told that job ${job} is cancelled, but it is claimed`;
  if (cancelled > 0 && completed > 0) return `a caller was told that job ${job} is cancelled, but it is completed`;
  if (claims > 1) return `job ${job} is in two live claims`;
  if (claims + completed + waiting > 1) return `job ${job} is there twice`;
  if (isEnd && claims + completed + cancelled + waiting === 0) return `job ${job} is lost`;
  return undefined;
}

function inOrder(jobs: readonly number[]): number[] {
  return jobs.toSorted((a, b) => a - b);
}

function without(list: readonly number[], taken: readonly number[]): number[] {
  const rest = [...list];
  for (const job of taken) if (rest.includes(job)) rest.splice(rest.indexOf(job), 1);
  return rest;
}

function withProcess(state: State, name: string, process: Process): State {
  return { ...state, processes: { ...state.processes, [name]: process } };
}

function keyOf({ tickets, postponed, claims, completed, cancelled, locks, processes }: State): string {
  let key = `${keyOfJobs(tickets)};${keyOfJobs(completed)};${keyOfJobs(cancelled)}`;
  for (const { job, lockedBy } of postponed) key += `;${job}${lockedBy}`;
  for (const { job, by } of claims) key += `;${job}=${by}`;
  for (const { on, by, isShared, isGranted } of locks)
    key += `;${on}${isGranted ? "=" : "<"}${by}${isShared ? "+" : ""}`;
  for (const name in processes) key += keyOfProcess(processes[name]!);
  return key;
}

function keyOfProcess({ budget, at, effects, isFlagged, tickets, voids, held }: Process): string {
  if (at === null) return `;${budget}`;
  const { returns, passes, claims, postpones, cancels } = effects;
  let key = `;${budget},${at},${isFlagged ? "flagged" : ""},${voids ? keyOfJobs(voids) : "-"}`;
  for (const jobs of [tickets, held, returns, passes, claims, postpones, cancels]) key += `,${keyOfJobs(jobs)}`;
  return key;
}

/** Jobs have one digit. */
function keyOfJobs(jobs: readonly number[]): string {
  let key = "";
  for (const job of jobs) key += job;
  return key;
}

function show({ tickets, postponed, claims, completed, cancelled, locks }: State): string {
  return [
    `tickets [${tickets.join()}]`,
    `postponed [${postponed.map(({ job }) => job).join()}]`,
    `claims [${claims.map(({ job, by }) => `${job} of ${by}`).join()}]`,
    ...(completed.length > 0 ? [`completed ${completed.join()}`] : []),
    ...(cancelled.length > 0 ? [`cancelled ${cancelled.join()}`] : []),
    `locks [${locks.map(({ on, by, isShared, isGranted }) => `${on}: ${by}${isShared ? " shared" : ""}${isGranted ? "" : " waits"}`).join(", ")}]`,
  ].join(", ");
}
