import type { Model, Step } from "./explorer.js";

/**
 * The jobs of one ordered group, of which one runs at a time, and those who drop what waits of it. Everybody runs
 * transactions, each a list of operations; one operation of one process at a time. What a transaction writes is seen
 * when it has committed. Everybody goes on until there is nothing left to do, with every delay over, so that what waits
 * in an end state waits for ever.
 */
export interface OrderScenario {
  /** Jobs that wait from the start, numbered from 1. */
  readonly jobs: number;
  /** Jobs that a producer adds, in transactions that commit at any time, one after another. Their numbers go on. */
  readonly later?: number;
  /** How often a job may come back: retried later, or released. */
  readonly comebacks: number;
  /** Those who drop all that waits. */
  readonly purges?: number;
  /** Those who drop what waits and has a lower number than this one. */
  readonly sheds?: readonly number[];
  readonly rules?: OrderRules;
}

/** Ways to get it wrong, each of which the model must notice. */
export interface OrderRules {
  /** A job that was dropped holds up its group for as long as it is in the agenda. */
  readonly droppedHoldsUp?: boolean;
  /** A shedding does not put the group in line again whose job it took out of the agenda. */
  readonly shedsSilently?: boolean;
  /** The end of a claim does not put the group in line again. */
  readonly endsSilently?: boolean;
  /** A promotion does not put the group in line again. */
  readonly promotesSilently?: boolean;
  /** A report notes the time before it waits for the lane's entry. */
  readonly notesTimeBeforeEntry?: boolean;
  /** A report puts its job back without the lane's entry. */
  readonly reportsWithoutEntry?: boolean;
  /** A promotion does not take the lane's entry. */
  readonly promotesWithoutEntry?: boolean;
  /** A purge takes its snapshot, and waits for the lane's entry afterwards. */
  readonly dropsBeforeEntry?: boolean;
  /** A claim looks who runs before it reads the line. */
  readonly looksBeforeLine?: boolean;
  /** A claim looks who waits in the agenda before it looks who runs. */
  readonly looksAtAgendaFirst?: boolean;
  /** A job that is claimable again gets behind the others. */
  readonly comesBackLast?: boolean;
}

type Operation =
  | "lock the lane"
  | "read the line"
  | "look who runs"
  | "look at the agenda"
  | "take a job"
  | "enter"
  | "note the time"
  | "take due jobs"
  | "lock the entry"
  | "drop";

type Verb = "claim" | "retry" | "release" | "promote" | "drop";

/** Where a job waits: a ticket or a row of the agenda, and when the transaction that wrote it committed. */
interface Place {
  readonly job: number;
  readonly since: number;
}

/** A row of lane_purge: when its snapshot was taken, and the number below which jobs are dropped. */
interface Drop {
  readonly at: number;
  readonly below: number;
}

interface Job {
  /** When its transaction committed; null before that. */
  readonly since: number | null;
  /** The time noted when it came back last (amendment.revived_at, attempt.finished_at); -1 for none. */
  readonly noted: number;
  readonly hasSucceeded: boolean;
  /** Somebody could read that it is cancelled. */
  readonly wasTold: boolean;
}

/** A transaction: what it does, how many of its operations are done, and what it has read and noted. */
interface Open {
  readonly verb: Verb;
  readonly done: number;
  /** Entries of the line that a claim has read. */
  readonly entries: number;
  /** A claim has found a job running, or the one that was handed out last in the agenda. */
  readonly hasToWait: boolean;
  /** The job that a claim takes, or that a report is about; 0 for none. */
  readonly job: number;
  /** There was another behind the one that a claim takes. */
  readonly hasMore: boolean;
  /** The time noted by a report, or that of a purge's snapshot. */
  readonly time: number;
  /** What a promotion takes out of the agenda, and puts into the lane. */
  readonly due: readonly number[];
  readonly kept: readonly number[];
}

interface State {
  /**
   * How many purges and sheddings have taken their snapshot: times are compared with theirs only, and each sees what
   * committed before it.
   */
  readonly now: number;
  readonly jobs: readonly Job[];
  /** In the order in which they are handed out. */
  readonly tickets: readonly Place[];
  readonly agenda: readonly Place[];
  /** How many entries the group has in line. A visit reads all of them. */
  readonly line: number;
  /** lane_cursor.held: the job that was handed out last. */
  readonly held: number;
  /** Jobs that run. */
  readonly claims: readonly number[];
  readonly drops: readonly Drop[];
  /** How often jobs may still come back. */
  readonly comebacks: number;
  /** Those who have a transaction open. */
  readonly open: Readonly<Record<string, Open>>;
  /** Purges and sheddings that have committed. */
  readonly ended: readonly string[];
}

export function orderModel(scenario: OrderScenario): Model<State> {
  const rules = scenario.rules ?? {};
  const scripts = scriptsOf(rules);
  const bounds: Readonly<Record<string, number>> = Object.fromEntries([
    ...Array.from({ length: scenario.purges ?? 0 }, (_, i) => [`purge ${i + 1}`, Infinity] as const),
    ...(scenario.sheds ?? []).map((below, i) => [`shedding ${i + 1}`, below] as const),
  ]);
  const numbers = Array.from({ length: scenario.jobs + (scenario.later ?? 0) }, (_, i) => i + 1);
  const waiting = numbers.slice(0, scenario.jobs);
  const initial: State = {
    now: 0,
    jobs: numbers.map((job) => ({
      since: waiting.includes(job) ? 0 : null,
      noted: -1,
      hasSucceeded: false,
      wasTold: false,
    })),
    tickets: waiting.map((job) => ({ job, since: 0 })),
    agenda: [],
    line: waiting.length,
    held: 0,
    claims: [],
    drops: [],
    comebacks: scenario.comebacks,
    open: {},
    ended: [],
  };

  function steps(state: State): Step<State>[] {
    const next = ["claimer", "promoter", ...Object.keys(bounds), ...state.claims.map((job) => workerOf(job))].flatMap(
      (name) => {
        const open = state.open[name];
        return open ? goOn(state, name, open) : begin(state, name);
      },
    );
    const job = numbers.find((number) => state.jobs[number - 1]!.since === null);
    return job === undefined ? next : [...next, { name: `the producer commits job ${job}`, next: enqueue(state, job) }];
  }

  /**
   * Transactions without anything to do would change nothing. Claims follow each other anyway, so one claimer makes
   * those of all workers.
   */
  function begin(state: State, name: string): Step<State>[] {
    if (name === "claimer") return state.line > 0 ? start(state, name, "claim") : [];
    if (name === "promoter") return state.agenda.length > 0 ? start(state, name, "promote") : [];
    if (name in bounds) return state.ended.includes(name) ? [] : start(state, name, "drop");
    const job = state.claims.find((running) => workerOf(running) === name)!;
    const completes = { name: `${name} completes it`, next: complete(state, job) };
    return state.comebacks === 0
      ? [completes]
      : [completes, ...start(state, name, "retry", job), ...start(state, name, "release", job)];
  }

  function start(state: State, name: string, verb: Verb, job = 0): Step<State>[] {
    return goOn(state, name, {
      verb,
      done: 0,
      entries: 0,
      hasToWait: false,
      job,
      hasMore: false,
      time: 0,
      due: [],
      kept: [],
    });
  }

  /** Nobody rolls back: that would leave nothing behind, so that all would be as if the transaction had not begun. */
  function goOn(state: State, name: string, open: Open): Step<State>[] {
    const operation = scripts[open.verb][open.done];
    if (operation === undefined)
      return [{ name: `${name} commits`, next: told(commit(close(state, name), name, open)) }];
    if (!isFree(state, operation)) return [];
    const after = perform(state, { ...open, done: open.done + 1 }, operation);
    const now = operation === "drop" ? after.time : state.now;
    return [
      { name: `${name}, ${open.verb}: ${operation}`, next: { ...state, now, open: { ...state.open, [name]: after } } },
    ];
  }

  /** Whoever could have a lock may get it first: nobody waits behind others who wait. */
  function isFree(state: State, operation: Operation): boolean {
    const has = (lock: Operation): boolean =>
      Object.values(state.open).some(({ verb, done }) => scripts[verb].slice(0, done).includes(lock));
    if (operation === "lock the lane") return !has("lock the lane");
    if (operation === "enter") return !has("lock the entry");
    return operation !== "lock the entry" || (!has("enter") && !has("lock the entry"));
  }

  function perform(state: State, open: Open, operation: Operation): Open {
    switch (operation) {
      case "read the line":
        return { ...open, entries: state.line };
      case "look who runs":
        return { ...open, hasToWait: open.hasToWait || state.claims.length > 0 };
      case "look at the agenda":
        return {
          ...open,
          hasToWait:
            open.hasToWait ||
            state.agenda.some((row) => row.job === state.held && (rules.droppedHoldsUp || !isDropped(state, row))),
        };
      case "take a job":
        return open.hasToWait ? open : { ...open, job: state.tickets[0]?.job ?? 0, hasMore: state.tickets.length > 1 };
      case "note the time":
        return { ...open, time: state.now };
      case "take due jobs":
        return {
          ...open,
          due: state.agenda.map(({ job }) => job),
          kept: state.agenda.filter((row) => !isDropped(state, row)).map(({ job }) => job),
        };
      case "drop":
        return { ...open, time: state.now + 1 };
      default:
        return open;
    }
  }

  function commit(state: State, name: string, open: Open): State {
    switch (open.verb) {
      case "claim":
        return claim(state, open);
      case "promote":
        return promote(state, open);
      case "drop":
        return drop(state, name, { at: open.time, below: bounds[name]! });
      default:
        return comeBack(state, open);
    }
  }

  /** The group leaves the line, whether a job was taken or not; when there is more, it gets in line again. */
  function claim(state: State, { entries, job, hasMore }: Open): State {
    const visited = { ...state, line: state.line - entries + (hasMore ? 1 : 0) };
    if (job === 0) return visited;
    return { ...visited, held: job, tickets: without(state.tickets, [job]), claims: [...state.claims, job] };
  }

  function complete(state: State, job: number): State {
    return told(withJob(detach(state, job), job, { hasSucceeded: true }));
  }

  function comeBack(state: State, { verb, job, time }: Open): State {
    const back = { ...withJob(detach(state, job), job, { noted: time }), comebacks: state.comebacks - 1 };
    return verb === "retry"
      ? { ...back, agenda: [...back.agenda, { job, since: state.now }] }
      : claimableAgain(back, [job]);
  }

  /** The end of a claim, whichever it is: claim_detach and claim_announce. */
  function detach(state: State, job: number): State {
    return {
      ...state,
      claims: state.claims.filter((running) => running !== job),
      line: state.line + (rules.endsSilently ? 0 : 1),
    };
  }

  /** What a purge has dropped vanishes here. */
  function promote(state: State, { due, kept }: Open): State {
    const announces = kept.length > 0 && !rules.promotesSilently;
    return claimableAgain(
      { ...state, agenda: without(state.agenda, due), line: state.line + (announces ? 1 : 0) },
      kept,
    );
  }

  function claimableAgain(state: State, jobs: readonly number[]): State {
    const again = jobs.map((job) => ({ job, since: state.now }));
    return { ...state, tickets: rules.comesBackLast ? [...state.tickets, ...again] : [...again, ...state.tickets] };
  }

  /** A purge only moves the cursor; a shedding also empties the agenda. Either replaces those that dropped no more. */
  function drop(state: State, name: string, by: Drop): State {
    const purged: State = {
      ...state,
      ended: [...state.ended, name],
      drops: [...state.drops.filter(({ below }) => below > by.below), by],
      tickets: state.tickets.filter((ticket) => !saw(by, ticket)),
    };
    if (by.below === Infinity) return purged;
    const agenda = state.agenda.filter((row) => !saw(by, row));
    const announces = agenda.length < state.agenda.length && !rules.shedsSilently;
    return { ...purged, agenda, line: state.line + (announces ? 1 : 0) };
  }

  function check(state: State, isEnd: boolean): string | undefined {
    if (isEnd && Object.keys(state.open).length > 0) return `${Object.keys(state.open).join(" and ")} wait for ever`;
    if (state.claims.length > 1) return `jobs ${state.claims.join(" and ")} run at once`;
    for (const job of numbers) {
      const fault = faultOf(state, job, isEnd);
      if (fault !== undefined) return fault;
    }
    return undefined;
  }

  return { initial: [initial], steps, key: keyOf, check, show };
}

/**
 * What each transaction does, operation by operation, as the SQL does. Completing a job takes no lock and is one
 * operation.
 */
function scriptsOf(rules: OrderRules): Readonly<Record<Verb, readonly Operation[]>> {
  const report = reportScript(rules);
  return {
    claim: claimScript(rules),
    retry: report,
    release: report,
    promote: rules.promotesWithoutEntry ? ["take due jobs"] : ["enter", "take due jobs"],
    drop: rules.dropsBeforeEntry
      ? ["lock the lane", "drop", "lock the entry"]
      : ["lock the lane", "lock the entry", "drop"],
  };
}

/**
 * turns_take: the line; then turns_call, who runs and who waits; then turns_read. Each statement sees what has
 * committed by then.
 */
function claimScript(rules: OrderRules): Operation[] {
  if (rules.looksBeforeLine)
    return ["lock the lane", "look who runs", "read the line", "look at the agenda", "take a job"];
  if (rules.looksAtAgendaFirst)
    return ["lock the lane", "read the line", "look at the agenda", "look who runs", "take a job"];
  return ["lock the lane", "read the line", "look who runs", "look at the agenda", "take a job"];
}

/** attempts_close and claim_return. */
function reportScript(rules: OrderRules): Operation[] {
  if (rules.reportsWithoutEntry) return ["note the time"];
  return rules.notesTimeBeforeEntry ? ["note the time", "enter"] : ["enter", "note the time"];
}

function workerOf(job: number): string {
  return `worker of job ${job}`;
}

/** A job and the line's entry for it are written together. */
function enqueue(state: State, job: number): State {
  return {
    ...withJob(state, job, { since: state.now }),
    tickets: [...state.tickets, { job, since: state.now }],
    line: state.line + 1,
  };
}

/** purge_saw: what was written by a transaction that the snapshot saw. */
function saw({ at, below }: Drop, { job, since }: Place): boolean {
  return job < below && since < at;
}

function isDropped({ drops }: State, place: Place): boolean {
  return drops.some((drop) => saw(drop, place));
}

/** job_state, with job_purged_at: a job that came back after a purge outlives it. */
function isCancelled({ jobs, claims, drops }: State, job: number): boolean {
  const { since, noted, hasSucceeded } = jobs[job - 1]!;
  if (since === null || hasSucceeded || claims.includes(job)) return false;
  return drops.some((drop) => saw(drop, { job, since }) && noted < drop.at);
}

/** Anybody may look at any time. */
function told(state: State): State {
  return { ...state, jobs: state.jobs.map((job, i) => (isCancelled(state, i + 1) ? { ...job, wasTold: true } : job)) };
}

function faultOf(state: State, job: number, isEnd: boolean): string | undefined {
  const { since, hasSucceeded, wasTold } = state.jobs[job - 1]!;
  if (since === null) return undefined;
  const isOver = hasSucceeded || isCancelled(state, job);
  if (wasTold && state.claims.includes(job)) return `job ${job} was told as cancelled, and then handed out`;
  if (wasTold && !isCancelled(state, job)) return `job ${job} was told as cancelled, and is not any more`;
  const next = state.claims.find((running) => running > job);
  if (next !== undefined && !isOver) return `job ${next} starts before job ${job} has ended`;
  if (!isEnd || isOver) return undefined;
  const waits = [...state.tickets, ...state.agenda].some((place) => place.job === job);
  return waits
    ? `job ${job} is stuck: it waits, and nobody puts its group in line`
    : `job ${job} is lost: dropped, and not told`;
}

/** A transaction's end gives back its locks. */
function close(state: State, name: string): State {
  const { [name]: _, ...open } = state.open;
  return { ...state, open };
}

function withJob(state: State, number: number, changes: Partial<Job>): State {
  return { ...state, jobs: state.jobs.map((job, i) => (i === number - 1 ? { ...job, ...changes } : job)) };
}

function without(places: readonly Place[], jobs: readonly number[]): Place[] {
  return places.filter(({ job }) => !jobs.includes(job));
}

function keyOf({ now, jobs, tickets, agenda, line, held, claims, drops, comebacks, open, ended }: State): string {
  let key = `${now},${line},${held},${comebacks},${claims.join()},${ended.join()}`;
  for (const { since, noted, hasSucceeded, wasTold } of jobs)
    key += `;${since ?? "-"},${noted}${hasSucceeded ? "s" : ""}${wasTold ? "t" : ""}`;
  key += `|${keyOfPlaces(tickets)}|${keyOfPlaces(agenda)}`;
  for (const { at, below } of drops) key += `;${at}<${below}`;
  for (const name of Object.keys(open).sort()) {
    const { verb, done, entries, hasToWait, job, hasMore, time, due, kept } = open[name]!;
    key += `|${name}:${verb}${done},${entries},${hasToWait ? "w" : ""},${job}${hasMore ? "+" : ""},${time},${due.join("")},${kept.join("")}`;
  }
  return key;
}

function keyOfPlaces(places: readonly Place[]): string {
  let key = "";
  for (const { job, since } of places) key += `${job}@${since} `;
  return key;
}

function show(state: State): string {
  const { now, jobs, tickets, agenda, line, claims, drops } = state;
  const list = (places: readonly Place[]): string => places.map(({ job, since }) => `${job} of ${since}`).join(", ");
  const those = (is: (job: Job) => boolean): string => jobs.flatMap((job, i) => (is(job) ? [i + 1] : [])).join();
  return [
    `time ${now}`,
    `tickets [${list(tickets)}]`,
    `agenda [${list(agenda)}]`,
    `${line} in line`,
    `claims [${claims.join()}]`,
    ...drops.map(({ at, below }) => `dropped at ${at}${below === Infinity ? "" : ` below ${below}`}`),
    `succeeded {${those(({ hasSucceeded }) => hasSucceeded)}}`,
    `told as cancelled {${those(({ wasTold }) => wasTold)}}`,
  ].join(", ");
}
