import type { Model, Step } from "./explorer.js";
import {
  type Cursor,
  type Handout,
  type Log,
  type Position,
  type Reading,
  type Rules,
  type Snapshot,
  advance,
  cursorFault,
  discover,
  handOut,
  hasEnded,
  ofOneDay,
  purge,
  readChild,
  readLate,
} from "./track.js";

/**
 * One thing a process does inside a transaction: append a ticket of `write` jobs, claim up to `claim` jobs, or purge
 * the queue.
 */
export type Op = { readonly write: number } | { readonly claim: number } | { readonly purge: true };

export interface Scenario {
  /** A process is a list of transactions, each a list of things done in it, in order. */
  readonly processes: Readonly<Record<string, readonly (readonly Op[])[]>>;
  /** Processes whose transactions may also roll back. Default all. */
  readonly mayRollBack?: readonly string[];
  /** Transactions per ring child. Default more than there are. */
  readonly width?: number;
  /** The lane has no cursor yet; the first claimer makes it. Default false: a cursor before the first transaction. */
  readonly undiscovered?: boolean;
  /**
   * A claim may take fewer jobs than it read, because the other track, a byte limit or a lone job comes first. Default
   * false.
   */
  readonly takesFewer?: boolean;
  /** Midnight passes, at any time: jobs written later are in another ring child. Default false: all are of one day. */
  readonly midnight?: boolean;
  /** Batch sizes of the final drain. Default 1 and 3. */
  readonly drains?: readonly number[];
  readonly rules?: Rules;
}

/** Sets of jobs are bits of a number: at most 31 jobs in a scenario. */
type Jobs = number;

interface Process {
  /** Transactions ended so far, and steps done in the current one. */
  readonly tx: number;
  readonly op: number;
  readonly xid: number;
  readonly written: Jobs;
  /** What its transaction has changed and nobody else sees yet. */
  readonly cursor: Cursor | null;
  readonly taken: Jobs;
  readonly purged: Purge | null;
  /** Between the statements of a claim: what it has read so far. */
  readonly reading: Reading | null;
  readonly key: string;
}

interface Purge extends Snapshot {
  /** Jobs of the purging transaction that existed then. */
  readonly ownJobs: Jobs;
}

interface State {
  /** One letter per transaction number, from 1: r(unning), c(ommitted), a(borted). */
  readonly fates: string;
  /** Tickets by transaction number - 1, each a list of jobs. */
  readonly log: readonly (readonly (readonly number[])[])[];
  readonly logKey: string;
  /** Jobs written after midnight; none before it. */
  readonly nextDay: Jobs;
  readonly cursor: Cursor | null;
  readonly cursorKey: string;
  /** Who holds the lane's lock; -1 when nobody does. */
  readonly lock: number;
  readonly committed: Jobs;
  readonly handedOut: Jobs;
  /** The last purge: its snapshot decides whose jobs are shown as cancelled. */
  readonly purged: Purge | null;
  readonly processes: readonly Process[];
  readonly fault: string | undefined;
}

const idle: Omit<Process, "key"> = {
  tx: 0,
  op: 0,
  xid: 0,
  written: 0,
  cursor: null,
  taken: 0,
  purged: null,
  reading: null,
};
const unlimited = 1 << 20;

/**
 * All interleavings of the scenario's processes. A claim is a lock, then one step per statement that takes a snapshot,
 * then the move of the cursor.
 */
export function cursorModel(scenario: Scenario): Model<State> {
  const rules = scenario.rules ?? {};
  const width = scenario.width ?? unlimited;
  const names = Object.keys(scenario.processes);
  const scripts = Object.values(scenario.processes);
  const rollsBack = names.map((name) => scenario.mayRollBack?.includes(name) ?? true);
  const jobsOf = numberJobs(scripts);
  const start: Cursor | null = scenario.undiscovered ? null : { head: { xid: 1, ticket: 0, offset: 0 }, late: [] };

  const initial: State = {
    fates: "",
    log: [],
    logKey: "",
    nextDay: 0,
    cursor: start,
    cursorKey: cursorKey(start),
    lock: -1,
    committed: 0,
    handedOut: 0,
    purged: null,
    processes: names.map(() => withKey(idle)),
    fault: undefined,
  };

  function steps(state: State): readonly Step<State>[] {
    if (state.fault !== undefined) return [];
    const next: Step<State>[] = [];
    state.processes.forEach((process, who) => {
      const ops = scripts[who]![process.tx];
      if (!ops) return;
      const op = ops[process.op];
      const name = names[who]!;
      if (!op) {
        next.push({ name: `${name} commits`, next: end(state, who, true) });
        if (rollsBack[who]) next.push({ name: `${name} rolls back`, next: end(state, who, false) });
      } else if ("write" in op) {
        next.push(...enqueue(state, who, jobsOf.get(op)!));
      } else if (state.lock < 0) {
        next.push({ name: `${name} locks the lane`, next: lock(state, who) });
      } else if (state.lock === who) {
        if ("purge" in op) next.push({ name: `${name} purges`, next: runPurge(state, who) });
        else next.push(...claim(state, who, op.claim));
      }
    });
    return next;
  }

  /** Only who writes looks at the clock: midnight passes just before one of the jobs is written, or later. */
  function enqueue(state: State, who: number, jobs: readonly number[]): Step<State>[] {
    const all = jobs.length;
    const today = !scenario.midnight ? [all] : state.nextDay === 0 ? [...jobs.keys(), all] : [0];
    return today.map((count) => {
      const when = count === all ? "" : count === 0 ? ", after midnight" : `, ${count} before midnight`;
      return { name: `${names[who]!} enqueues ${all} in one ticket${when}`, next: write(state, who, jobs, count) };
    });
  }

  function write(state: State, who: number, jobs: readonly number[], today: number): State {
    const begun = withXid(state, who);
    const process = begun.processes[who]!;
    const log = begun.log.map((tickets, i) => (i === process.xid - 1 ? [...tickets, jobs] : tickets));
    return {
      ...replace(begun, who, { ...process, op: process.op + 1, written: process.written | setOf(jobs) }),
      log,
      logKey: logKey(log),
      nextDay: state.nextDay | setOf(jobs.slice(today)),
    };
  }

  /**
   * Locking a row gives a transaction its number, if it has none. A lane nobody has found yet is locked by making it.
   */
  function lock(state: State, who: number): State {
    return { ...withXid(state, who), lock: who };
  }

  function claim(state: State, who: number, wanted: number): Step<State>[] {
    const process = state.processes[who]!;
    const name = names[who]!;
    const cursor = process.cursor ?? state.cursor;
    const { reading } = process;
    if (reading && !reading.at) {
      const used = rules.runningFromLaterSnapshot
        ? { ...reading, running: takeSnapshot(state, process.xid).running }
        : reading;
      const most = ofOneDay(used.jobs, rules);
      const choices = scenario.takesFewer ? Array.from({ length: most + 1 }, (_, i) => i) : [most];
      return choices.map((taken) => ({
        name: `${name} takes ${taken} and moves the cursor`,
        next: move(state, who, used, taken),
      }));
    }
    const snapshot = takeSnapshot(state, process.xid);
    const log = readLog(state);
    if (!cursor)
      return [
        {
          name: `${name} discovers the lane`,
          next: replace(state, who, { ...process, cursor: discover(snapshot, log) }),
        },
      ];
    if (!reading && cursor.late.length > 0) {
      return [
        {
          name: `${name} reads late transactions`,
          next: replace(state, who, { ...process, reading: readLate(cursor, wanted, snapshot, log, rules) }),
        },
      ];
    }
    const read = readChild(reading ?? readLate(cursor, wanted, null, log, rules), snapshot, log, width, rules);
    return [{ name: `${name} reads after the head`, next: replace(state, who, { ...process, reading: read }) }];
  }

  function move(state: State, who: number, reading: Reading, taken: number): State {
    const process = state.processes[who]!;
    const cursor = advance(reading, taken, process.xid, rules);
    let fault = cursorFault(reading.cursor, cursor);
    let jobs = process.taken;
    for (const { job } of handOut(reading.jobs.slice(0, taken))) {
      if ((jobs | state.handedOut) & (1 << job)) fault = `job ${job} is handed out twice`;
      jobs |= 1 << job;
    }
    return { ...replace(state, who, { ...process, op: process.op + 1, cursor, taken: jobs, reading: null }), fault };
  }

  function runPurge(state: State, who: number): State {
    const process = state.processes[who]!;
    const snapshot = takeSnapshot(state, process.xid);
    const cursor = process.cursor ?? state.cursor;
    if (!cursor) return replace(state, who, { ...process, cursor: discover(snapshot, readLog(state)) });
    return replace(state, who, {
      ...process,
      op: process.op + 1,
      cursor: purge(snapshot, readLog(state)),
      purged: { ...snapshot, ownJobs: process.written },
    });
  }

  function end(state: State, who: number, commits: boolean): State {
    const process = state.processes[who]!;
    const ended = replace(state, who, { ...idle, tx: process.tx + 1 });
    const fates =
      process.xid === 0
        ? state.fates
        : state.fates.slice(0, process.xid - 1) + (commits ? "c" : "a") + state.fates.slice(process.xid);
    const lockLeft = state.lock === who ? -1 : state.lock;
    if (!commits) return { ...ended, fates, lock: lockLeft };
    const cursor = process.cursor ?? state.cursor;
    return {
      ...ended,
      fates,
      lock: lockLeft,
      cursor,
      cursorKey: process.cursor ? cursorKey(cursor) : state.cursorKey,
      committed: state.committed | process.written,
      handedOut: state.handedOut | process.taken,
      purged: process.purged ?? state.purged,
    };
  }

  /** With nobody left, one more claimer takes all there is; then the books must balance. */
  function check(state: State, isEnd: boolean): string | undefined {
    if (state.fault !== undefined || !isEnd) return state.fault;
    const shownAsPurged = purgedJobs(state, rules);
    for (const batch of scenario.drains ?? [1, 3]) {
      const { handedOut, fault } = drain(state, batch, width, rules);
      if (fault !== undefined) return `${fault}, in the drain with batches of ${batch}`;
      const invented = handedOut & ~state.committed;
      if (invented) return `${describeSet(invented)} handed out, but never committed`;
      const lost = state.committed & ~handedOut & ~shownAsPurged;
      if (lost) return `${describeSet(lost)} lost: committed, never handed out`;
      const revived = handedOut & shownAsPurged & ~state.handedOut;
      if (revived) return `${describeSet(revived)} handed out after being purged`;
    }
    return undefined;
  }

  return { initial: [initial], steps, key, check, show };
}

function drain(
  from: State,
  wanted: number,
  width: number,
  rules: Rules,
): { readonly handedOut: Jobs; readonly fault: string | undefined } {
  let { fates, handedOut } = from;
  let cursor = from.cursor;
  for (let quiet = 0; quiet < 2;) {
    fates += "r";
    const state = {
      ...from,
      fates,
      log: [...from.log, ...Array.from({ length: fates.length - from.log.length }, () => [])],
    };
    const snapshot = takeSnapshot(state, fates.length);
    const log = readLog(state);
    cursor ??= discover(snapshot, log);
    let reading = readLate(cursor, wanted, cursor.late.length > 0 ? snapshot : null, log, rules);
    while (reading.at) reading = readChild(reading, snapshot, log, width, rules);
    const taken = ofOneDay(reading.jobs, rules);
    const next = advance(reading, taken, fates.length, rules);
    const fault = cursorFault(cursor, next);
    if (fault !== undefined) return { handedOut, fault };
    for (const { job } of handOut(reading.jobs.slice(0, taken))) {
      if (handedOut & (1 << job)) return { handedOut, fault: `job ${job} is handed out twice` };
      handedOut |= 1 << job;
    }
    quiet = reading.jobs.length === 0 ? quiet + 1 : 0;
    cursor = next;
    fates = `${fates.slice(0, -1)}c`;
  }
  return { handedOut, fault: undefined };
}

/**
 * Jobs the views show as cancelled: visible in the purge's snapshot, as pg_visible_in_snapshot sees it, and not handed
 * out.
 */
function purgedJobs({ purged, log, committed, handedOut }: State, rules: Rules): Jobs {
  if (!purged) return 0;
  let jobs = 0;
  log.forEach((tickets, i) => {
    const isOwn = !rules.purgeForgetsOwn && i + 1 === purged.own;
    if (isOwn) jobs |= purged.ownJobs;
    else if (hasEnded(i + 1, purged)) for (const job of tickets.flat()) jobs |= 1 << job;
  });
  return jobs & committed & ~handedOut;
}

function takeSnapshot(state: Pick<State, "fates">, own: number): Snapshot {
  const { fates } = state;
  const xmax = Math.max(fates.lastIndexOf("c"), fates.lastIndexOf("a")) + 2;
  const running: number[] = [];
  for (let xid = 1; xid < xmax; xid += 1) if (fates[xid - 1] === "r" && xid !== own) running.push(xid);
  return { own, xmax, xmin: Math.min(xmax, running[0] ?? xmax, own === 0 ? xmax : own), running };
}

function readLog(state: Pick<State, "fates" | "log" | "nextDay">): Log {
  const dayOf = (job: number): number => (state.nextDay >> job) & 1;
  return (snapshot, from, to) => {
    const found: Handout[] = [];
    for (let xid = Math.max(from, 1); xid < Math.min(to, state.log.length + 1); xid += 1) {
      const isVisible = xid === snapshot.own || (state.fates[xid - 1] === "c" && hasEnded(xid, snapshot));
      if (isVisible)
        state.log[xid - 1]!.forEach((jobs, i) =>
          jobs.forEach((job, k) => found.push({ xid, ticket: i + 1, offset: k + 1, job, day: dayOf(job) })),
        );
    }
    return found;
  };
}

/** A transaction gets its number when it first writes or locks a row; numbers are given in order. */
function withXid(state: State, who: number): State {
  const process = state.processes[who]!;
  if (process.xid !== 0) return state;
  const log = [...state.log, []];
  return {
    ...replace(state, who, { ...process, xid: state.fates.length + 1 }),
    fates: `${state.fates}r`,
    log,
    logKey: logKey(log),
  };
}

function replace(state: State, who: number, process: Omit<Process, "key">): State {
  return { ...state, processes: state.processes.map((other, i) => (i === who ? withKey(process) : other)) };
}

function numberJobs(scripts: readonly (readonly (readonly Op[])[])[]): Map<Op, readonly number[]> {
  let count = 0;
  const jobs = new Map<Op, readonly number[]>();
  for (const op of scripts.flat(2)) {
    if ("write" in op)
      jobs.set(
        op,
        Array.from({ length: op.write }, () => count++),
      );
  }
  if (count > 31) throw new Error("a scenario has at most 31 jobs");
  return jobs;
}

// Keys. Each piece is written when it changes, not when it is asked for, with one character per small number: most of
// the time of a search goes into making keys and keeping them.

const digit = (n: number): string => String.fromCharCode(48 + Math.min(n, 70));

function key(state: State): string {
  let text = `${state.fates}|${state.logKey}|${state.cursorKey}|${digit(state.lock + 1)}${state.committed.toString(36)},${state.handedOut.toString(36)}`;
  for (const process of state.processes) text += process.key;
  if (state.nextDay) text += `+${state.nextDay.toString(36)}`;
  if (state.purged) text += purgeKey(state.purged);
  return state.fault === undefined ? text : text + state.fault;
}

function withKey(process: Omit<Process, "key">): Process {
  const { tx, op, xid, written, taken, cursor, reading, purged } = process;
  let text = `|${digit(tx)}${digit(op)}${digit(xid)}`;
  if (written || taken) text += `${written.toString(36)},${taken.toString(36)}`;
  if (cursor) text += `=${cursorKey(cursor)}`;
  if (reading) text += `(${readingKey(reading)}`;
  if (purged) text += `-${purgeKey(purged)}`;
  return { ...process, key: text };
}

function logKey(log: State["log"]): string {
  let text = "";
  for (const tickets of log) {
    for (const jobs of tickets) text += `${digit(jobs[0]!)}${digit(jobs.length)}`;
    text += "/";
  }
  return text;
}

function cursorKey(cursor: Cursor | null): string {
  return cursor ? positionKey(cursor.head) + cursor.late.map(positionKey).join("") : "";
}

function positionKey({ xid, ticket, offset }: Position): string {
  return digit(xid) + digit(ticket) + digit(offset);
}

function purgeKey(purge: Purge): string {
  return `${digit(purge.own)}${purge.ownJobs.toString(36)},${digit(purge.xmax)}${purge.running.map(digit).join("")}`;
}

function readingKey({ lateDone, jobs, running, passedXid, at }: Reading): string {
  return `${lateDone.map(Number).join("")}(${jobs.map(({ job }) => digit(job)).join("")}(${running.map(digit).join("")}(${digit(passedXid)}${digit(at ? at.xid : 0)}`;
}

function show(state: State): string {
  const place = ({ xid, ticket, offset }: Position): string => `${xid}/${ticket}/${offset}`;
  const describe = (cursor: Cursor | null): string =>
    cursor ? `head ${place(cursor.head)} late [${cursor.late.map(place).join(" ")}]` : "no cursor";
  const inside = state.processes.flatMap(({ xid, reading, cursor, taken }) => [
    ...(reading
      ? [
          `transaction ${xid} has read {${reading.jobs.map(({ job }) => job).join()}}, running {${reading.running.join()}}`,
        ]
      : []),
    ...(cursor ? [`transaction ${xid} has ${describe(cursor)}, jobs {${members(taken).join()}}`] : []),
  ]);
  const midnight = state.nextDay ? [`written after midnight {${members(state.nextDay).join()}}`] : [];
  return [
    `transactions ${state.fates}`,
    ...midnight,
    describe(state.cursor),
    `handed out {${members(state.handedOut).join()}}`,
    ...inside,
  ].join(", ");
}

function setOf(jobs: readonly number[]): Jobs {
  return jobs.reduce((all, job) => all | (1 << job), 0);
}

function members(jobs: Jobs): number[] {
  return Array.from({ length: 31 }, (_, job) => job).filter((job) => jobs & (1 << job));
}

function describeSet(jobs: Jobs): string {
  return members(jobs)
    .map((job) => `job ${job}`)
    .join(", ");
}
