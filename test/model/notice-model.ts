import type { Model, Step } from "./explorer.js";

/**
 * Jobs that wait for signals, for their children and for each other, those who tell, and those who deliver what was
 * told. Everybody runs transactions, each a list of statements; one statement of one process at a time. A statement
 * sees what has committed by then, and what its own transaction has written.
 */
export interface NoticeScenario {
  readonly jobs: Readonly<Record<JobName, JobSpec>>;
  /** For each signal the job it goes to, and its id. */
  readonly tells?: readonly { readonly job: JobName; readonly id?: string }[];
  /** Jobs that somebody cancels, in a transaction that may roll back. */
  readonly cancels?: readonly JobName[];
  /** Jobs that somebody purges. */
  readonly purges?: readonly JobName[];
  /** Jobs of a flow that a transaction adds, which commits or not: they are absent before. */
  readonly adds?: readonly { readonly flow: JobName; readonly job: JobName }[];
  /** How often a lease may end under a worker. */
  readonly losses?: number;
  readonly deliverers: number;
  /** Reports deliver what they have told in their own transaction. Default false. */
  readonly reportsDeliver?: boolean;
  readonly rules?: NoticeRules;
}

export type JobName = string;

export interface JobSpec {
  readonly place: Place;
  /** What its handler waits for, one after another. Default: nothing. */
  readonly handler?: readonly Wait[];
  /** How it may end. Default: it succeeds. */
  readonly ends?: readonly Ending[];
  /** Of a job of a flow that has not begun: those that it waits for, and whether they were there before. */
  readonly after?: { readonly jobs: readonly JobName[]; readonly when: When; readonly isCheck?: boolean };
  readonly parent?: JobName;
  readonly isFlow?: boolean;
}

type Place = "absent" | "ready" | "running" | "suspended" | "over";
type Ending = "succeeded" | "failed" | "cancelled";
type When = "succeeded" | "failed" | "ended";
/** A signal, one with a timeout, or the end of all children. */
type Wait = "signal" | "signal or time" | "children";

export interface NoticeRules {
  /** Notices of transactions that were running when the cursor passed them are never read. */
  readonly forgetsLate?: boolean;
  /** A run that suspends does not tell of it: what came after its last look is missed. */
  readonly suspendsSilently?: boolean;
  /** A run suspends its job although its lease is lost. */
  readonly suspendsUnfenced?: boolean;
  /** Those who deliver do not lock what they resume. */
  readonly resumesUnlocked?: boolean;
  /** What somebody else has in hands is skipped, and not looked at again. */
  readonly skipsForGood?: boolean;
  /** What is looked at again has its children counted, and not what it waits for in a flow. */
  readonly forgetsEdges?: boolean;
  /** An end that was told already is counted again. */
  readonly countsTwice?: boolean;
  /** Those who report count down by themselves what waits for them. */
  readonly reportersCount?: boolean;
  /** A job that was there before is not held while it is looked at. */
  readonly checksUnheld?: boolean;
  /** A claim that has such a job already is not told that somebody waits for it. */
  readonly checksOnlyAmendment?: boolean;
  /** After a purge nobody looks at jobs that were there before those that wait for them. */
  readonly forgetsOthers?: boolean;
  /** Who begins to wait does not look whether its children were purged. */
  readonly forgetsPurged?: boolean;
  /** The look after purges remembers a purge that had not committed as seen. */
  readonly seesOpenPurges?: boolean;
  /** The end of a flow does not wait for those who add to it. */
  readonly endsFlowUnlocked?: boolean;
  /** Nor does the cancelling of its jobs. */
  readonly cancelsFlowUnlocked?: boolean;
  /** The cursor moves in a transaction before the one that delivers. */
  readonly movesCursorFirst?: boolean;
  /** Of signals with the same id each counts. */
  readonly getsSameId?: boolean;
}

interface Waits {
  /** The wait of the handler, by its place in the list. */
  readonly key: number;
  readonly signal: boolean;
  readonly children: number | null | undefined;
  readonly after: number;
  readonly bad: number;
  readonly check: boolean;
}

interface Job {
  readonly place: Place;
  readonly state: Ending | null;
  /** The claim that has it: a number that no other claim of it had. */
  readonly token: number;
  /** amendment.linked and claim.linked. */
  readonly isLinked: boolean;
  readonly isClaimLinked: boolean;
  /** The row of the agenda: what it waits for, null when it was let go on; whether its time has come. */
  readonly waits: Waits | null;
  readonly isDue: boolean;
  /** How often it was let go on by what it waits for, for each wait. */
  readonly resumes: readonly number[];
  readonly signals: readonly string[];
  readonly got: readonly string[];
  readonly late: readonly number[];
  readonly told: readonly string[];
  readonly children: readonly JobName[];
  /** Waits that the handler has gone past, with what it saw. */
  readonly saw: readonly string[];
}

interface Notice {
  readonly xid: number;
  readonly what: "ended" | "look";
  readonly job: JobName;
}

type Effect =
  | { readonly job: JobName; readonly set: Partial<Job> }
  | {
      readonly job: JobName;
      readonly to: "signals" | "got" | "told" | "late" | "children" | "saw";
      readonly item: string;
    }
  | { readonly notice: Notice["what"]; readonly job: JobName }
  | { readonly read: readonly Notice[] }
  | { readonly looked: readonly string[] };

interface Process {
  readonly script: string;
  /** The next statement; null outside of a transaction. */
  readonly at: number | null;
  readonly budget: number;
  /** The transaction's number; 0 before it has one. */
  readonly xid: number;
  readonly isPassed: boolean;
  readonly effects: readonly Effect[];
  /** What it has read and not yet acted on. */
  readonly memory: Readonly<Record<string, unknown>>;
}

interface State {
  readonly jobs: Readonly<Record<JobName, Job>>;
  readonly log: readonly Notice[];
  /** What the last look after purges saw of them: jobs of committed purges. */
  readonly purged: readonly string[];
  readonly looked: readonly string[];
  readonly locks: readonly { readonly on: string; readonly by: string; readonly isShared: boolean }[];
  readonly processes: Readonly<Record<string, Process>>;
  readonly losses: number;
  /** Something that must never be, and was. */
  readonly fault: string;
}

/** One statement: what comes of it, in one or several ways; none while it has to wait for a lock. */
type Statement = (tx: Tx) => readonly Tx[];

/** A process inside of its transaction. */
interface Tx {
  readonly state: State;
  readonly name: string;
  /** The statement had nothing to do, whatever others do: nobody has to come between it and the next. */
  readonly isIdle?: boolean;
}

const noJob: Job = {
  place: "absent",
  state: null,
  token: 0,
  isLinked: false,
  isClaimLinked: false,
  waits: null,
  isDue: false,
  resumes: [],
  signals: [],
  got: [],
  late: [],
  told: [],
  children: [],
  saw: [],
};
const idle = { at: null, xid: 0, isPassed: false, effects: [], memory: {} } as const;

export function noticeModel(scenario: NoticeScenario): Model<State> {
  const rules = scenario.rules ?? {};
  const names = Object.keys(scenario.jobs);
  const specOf = (job: JobName): JobSpec => scenario.jobs[job]!;
  const waitersOf = (job: JobName): JobName[] => names.filter((name) => specOf(name).after?.jobs.includes(job));

  function firstJob(name: JobName): Job {
    const { place, after, isFlow } = specOf(name);
    const children = names.filter((other) => specOf(other).parent === name && specOf(other).place !== "absent");
    const waits: Waits = {
      key: 0,
      signal: false,
      children: isFlow ? null : undefined,
      after: after?.jobs.length ?? 0,
      bad: 0,
      check: after?.isCheck ?? false,
    };
    return {
      ...noJob,
      place,
      children,
      token: place === "running" ? 1 : 0,
      isLinked: isBornLinked(name),
      isClaimLinked: isBornLinked(name) && place === "running",
      waits: place === "suspended" ? waits : null,
    };
  }

  /** Its end is told from the first on: it has a parent, or children, or others of its flow wait for it. */
  function isBornLinked(name: JobName): boolean {
    const isMember = waitersOf(name).some((waiter) => specOf(waiter).after!.isCheck !== true);
    const isParent = names.some((other) => specOf(other).parent === name);
    return specOf(name).parent !== undefined || specOf(name).isFlow === true || isParent || isMember;
  }

  const firstNotices = names
    .filter((name) => specOf(name).place === "suspended" && (specOf(name).isFlow || specOf(name).after?.isCheck))
    .map((job): Notice => ({ xid: 0, what: "look", job }));

  // ── who there is ────────────────────────────────────────────────────────────────────────────────────────────────

  function scriptsOf(): Record<string, readonly Statement[]> {
    const all: Record<string, readonly Statement[]> = {};
    const more = scenario.reportsDeliver ? [tryNotices, ...delivery().slice(1).map(ifDelivering)] : [];
    for (const name of names) all[`worker of ${name}`] = [readHistory(name), lockClaim(name), settle(name), ...more];
    for (const name of names.filter((job) => mayWait(job))) all[`promoter of ${name}`] = [promote(name)];
    scenario.tells?.forEach((_, n) => (all[`teller ${n + 1}`] = [tell(n)]));
    scenario.cancels?.forEach((name) => (all[`canceller of ${name}`] = [mark(name), lockClaim(name), cancel(name)]));
    scenario.purges?.forEach((name) => (all[`purger of ${name}`] = [purge(name)]));
    if (scenario.purges) all["upkeep"] = [lookAfterPurges];
    scenario.adds?.forEach(({ flow, job }) => (all[`adder of ${job}`] = [lockFlow(flow), add(flow, job)]));
    for (let n = 1; n <= scenario.deliverers; n += 1) all[`deliverer ${n}`] = delivery();
    return all;
  }

  function isRepeated(name: string): boolean {
    return /^(worker|promoter|upkeep|deliverer)/.test(name);
  }

  function mayWait(name: JobName): boolean {
    return specOf(name).handler !== undefined || specOf(name).place === "suspended";
  }

  /** Transactions without anything to do would change nothing. */
  function hasWork(state: State, name: string): boolean {
    const job = name.split(" of ")[1] ?? "";
    if (name.startsWith("worker")) return state.jobs[job]!.place === "running";
    if (name.startsWith("promoter"))
      return (
        state.jobs[job]!.place === "suspended" && state.jobs[job]!.isDue && !isLocked(state, `agenda ${job}`, name)
      );
    if (name === "upkeep") return state.purged.some((other) => !state.looked.includes(other));
    if (name.startsWith("deliverer")) return state.log.length > 0;
    if (name.startsWith("purger")) return state.jobs[job]!.place === "ready";
    return true;
  }

  // ── workers, and what happens by itself ─────────────────────────────────────────────────────────────────────────

  /** What a run finds when it is called, and what it does next. Its claim was made before: it remembers the token. */
  function readHistory(name: JobName): Statement {
    return (tx) => {
      const job = view(tx, name);
      const handler = specOf(name).handler ?? [];
      const saw: string[] = [];
      let next = "end";
      for (const [key, wait] of handler.entries()) {
        const got = job.got.find((item) => item.startsWith(`${key}:`));
        const isOver =
          wait === "children"
            ? job.children.every((child) => job.told.some((item) => item.startsWith(`${child}:`)))
            : got !== undefined || (wait === "signal or time" && job.late.includes(key));
        if (!isOver) {
          next = String(key);
          break;
        }
        saw.push(`${key}:${wait === "children" ? "ended" : (got ?? `${key}:nothing`).slice(2)}`);
      }
      return [remember(tx, { token: job.token, next, saw })];
    };
  }

  function lockClaim(name: JobName): Statement {
    return (tx) => lock(tx, `claim ${name}`);
  }

  /** claim_detach, then job_suspend or job_complete, job_fail: nothing for a token that does not hold the job. */
  function settle(name: JobName): Statement {
    return (tx) => {
      const { token, next, saw } = tx.state.processes[tx.name]!.memory as {
        token: number;
        next: string;
        saw: string[];
      };
      const job = view(tx, name);
      const holds = job.place === "running" && job.token === token;
      if (!holds && !rules.suspendsUnfenced) return [tx];
      if (!holds) return next === "end" ? [tx] : [fault(tx, `${name} is suspended by a run that has lost it`)];
      const seen = saw
        .filter((item) => !job.saw.includes(item))
        .map((item): Effect => ({ job: name, to: "saw", item }));
      if (next === "end") {
        return (specOf(name).ends ?? ["succeeded"]).map((state) => close(write(tx, ...seen), name, state));
      }
      const wait = specOf(name).handler![Number(next)]!;
      const isForChildren = wait === "children";
      const waits = {
        ...noWaits,
        key: Number(next),
        signal: !isForChildren,
        children: isForChildren ? null : undefined,
      };
      const suspended = write(tx, ...seen, { job: name, set: { place: "suspended", waits, isDue: false } });
      return [rules.suspendsSilently ? suspended : write(suspended, { notice: "look", job: name })];
    };
  }

  /** An end of a job, by who has taken it out of its claim, or holds it. Linked ones are told of. */
  function close(tx: Tx, name: JobName, state: Ending): Tx {
    const job = view(tx, name);
    const isTold = job.place === "running" ? job.isClaimLinked : job.isLinked;
    const ended = write(tx, { job: name, set: { place: "over", state, waits: null } });
    if (rules.reportersCount) {
      return waitersOf(name).reduce((at, waiter) => {
        const waits = view(at, waiter).waits;
        return waits
          ? write(at, { job: waiter, set: countDown(at, waiter, { ...waits, after: waits.after - 1 }) })
          : at;
      }, ended);
    }
    return isTold ? write(ended, { notice: "ended", job: name }) : ended;
  }

  function countDown(tx: Tx, waiter: JobName, waits: Waits): Partial<Job> {
    return waits.after > 0 ? { waits } : resumed(view(tx, waiter));
  }

  function resumed({ resumes, waits }: Job): Partial<Job> {
    const counts = [...resumes];
    counts[waits!.key] = (counts[waits!.key] ?? 0) + 1;
    return { waits: null, isDue: true, resumes: Array.from(counts, (count) => count ?? 0) };
  }

  function promote(name: JobName): Statement {
    return (tx) => {
      const job = view(tx, name);
      if (job.place !== "suspended" || !job.isDue || isLocked(tx.state, `agenda ${name}`, tx.name)) return [tx];
      return lock(tx, `agenda ${name}`).map((held) =>
        write(held, ...(job.waits ? [lateOf(name, job.waits.key)] : []), {
          job: name,
          set: { place: "ready", waits: null, isDue: false },
        }),
      );
    };
  }

  function lateOf(job: JobName, key: number): Effect {
    return { job, to: "late", item: String(key) };
  }

  /** What nobody decides: time passes, claims are made, leases end. Claims and reaping are other models' business. */
  function events(state: State): Step<State>[] {
    return names.flatMap((name) => {
      const job = state.jobs[name]!;
      const next: Step<State>[] = [];
      const change = (what: string, set: Partial<Job>, losses = state.losses): void =>
        void next.push({
          name: `${name} ${what}`,
          next: { ...state, losses, jobs: { ...state.jobs, [name]: { ...job, ...set } } },
        });
      const isTimed = job.waits?.signal === true && specOf(name).handler?.[job.waits.key] === "signal or time";
      if (job.place === "suspended" && isTimed && !job.isDue) change("has waited long enough", { isDue: true });
      if (job.place === "ready" && !isHeld(state, name) && !specOf(name).isFlow && !isPurging(state, name))
        change("is claimed", { place: "running", token: job.token + 1, isClaimLinked: job.isLinked });
      if (job.place === "running" && state.losses > 0 && !isLocked(state, `claim ${name}`, ""))
        change("is lost, and claimed again", { token: job.token + 1, isClaimLinked: job.isLinked }, state.losses - 1);
      return next;
    });
  }

  /** job_hold: claims go round a job whose mark somebody has; a claim in flight was waited for. */
  function isHeld(state: State, name: JobName): boolean {
    return isLocked(state, `mark ${name}`, "");
  }

  function isPurging(state: State, name: JobName): boolean {
    return isLocked(state, `lane ${name}`, "");
  }

  // ── who tells, cancels, purges, adds ────────────────────────────────────────────────────────────────────────────

  function tell(n: number): Statement {
    const { job, id } = scenario.tells![n]!;
    return (tx) => {
      const { signals, place } = view(tx, job);
      const isThere = id !== undefined && signals.some((item) => item.endsWith(`/${id}`));
      if (place === "over" || isThere) return [tx];
      return [write(tx, { job, to: "signals", item: `${n}/${id ?? ""}` }, { notice: "look", job })];
    };
  }

  function mark(name: JobName): Statement {
    return (tx) => lock(tx, `mark ${name}`);
  }

  /** cancel_running, cancel_waiting: the row of the agenda is waited for. */
  function cancel(name: JobName): Statement {
    return (tx) => {
      const { place } = view(tx, name);
      if (place === "over" || place === "absent") return [tx];
      if (place !== "suspended") return [close(tx, name, "cancelled")];
      return lock(tx, `agenda ${name}`).map((held) => close(held, name, "cancelled"));
    };
  }

  /** lanes_purge: what waits is dropped, and nothing is written for each. */
  function purge(name: JobName): Statement {
    return (tx) =>
      view(tx, name).place === "ready"
        ? lock(tx, `lane ${name}`).map((held) => write(held, { job: name, set: { place: "over", state: "cancelled" } }))
        : [tx];
  }

  /** children_look: at all who wait, when there was a purge that the last look has not seen. */
  function lookAfterPurges(tx: Tx): readonly Tx[] {
    const open = rules.seesOpenPurges ? openPurges(tx.state) : [];
    const waiting = names.filter((name) => view(tx, name).place === "suspended" && view(tx, name).waits !== null);
    const dropped = waiting.flatMap((name) => [
      ...(view(tx, name).waits!.children === undefined ? [] : droppedOf(tx, name, view(tx, name).children)),
      ...(rules.forgetsOthers || !specOf(name).after?.isCheck ? [] : droppedOf(tx, name, specOf(name).after!.jobs)),
    ]);
    return [
      write(
        tx,
        { looked: [...new Set([...tx.state.purged, ...open])] },
        ...[...new Set(dropped)].map((job): Effect => ({ notice: "ended", job })),
      ),
    ];
  }

  function openPurges({ processes }: State): JobName[] {
    return Object.entries(processes).flatMap(([name, { at }]) =>
      name.startsWith("purger") && at !== null ? [name.split(" of ")[1]!] : [],
    );
  }

  /** children_dropped, others_dropped. */
  function droppedOf(tx: Tx, waiter: JobName, others: readonly JobName[]): JobName[] {
    return others.filter(
      (other) => tx.state.purged.includes(other) && !view(tx, waiter).told.some((item) => item.startsWith(`${other}:`)),
    );
  }

  function lockFlow(flow: JobName): Statement {
    return (tx) => lock(tx, `flow ${flow}`, true);
  }

  function add(flow: JobName, job: JobName): Statement {
    return (tx) => {
      if (view(tx, flow).place === "over") return [tx]; // refused
      return [
        write(
          tx,
          { job, set: { place: "ready" } },
          { job: flow, to: "children", item: job },
          { notice: "look", job: flow },
        ),
      ];
    };
  }

  // ── who delivers ────────────────────────────────────────────────────────────────────────────────────────────────

  /** notices_deliver, statement by statement; edges_deliver stands in it twice. */
  function delivery(): readonly Statement[] {
    const edges = (of: "ended" | "targets"): Statement[] => [
      (tx) => tellWaiters(tx, memory(tx)[of]),
      (tx) => lockRuns(tx, memory(tx).to),
      noteMissed,
      countEdges,
    ];
    return [
      (tx) => lock(tx, "notices"),
      readNotices,
      cancelChildren,
      ...edges("ended"),
      tellParents,
      (tx) => lockRuns(tx, memory(tx).to),
      noteMissed,
      countChildren,
      ...holdTargets(),
      linkTargets,
      linkClaims,
      ...edges("targets"),
      (tx) => lockRuns(tx, memory(tx).looks),
      noteMissed,
      lookForPurged,
      getSignals,
      countAgain,
      resumeAll,
    ];
  }

  /** notices_settle: a report that has told of something delivers, unless somebody does already. */
  function tryNotices(tx: Tx): readonly Tx[] {
    const hasTold = tx.state.processes[tx.name]!.effects.some((effect) => "notice" in effect);
    if (!hasTold) return [idly(tx)];
    return isLocked(tx.state, "notices", tx.name) ? [tx] : [remember(lockAlways(tx, "notices"), { delivers: true })];
  }

  function ifDelivering(statement: Statement): Statement {
    return (tx) => (tx.state.processes[tx.name]!.memory["delivers"] === true ? statement(tx) : [idly(tx)]);
  }

  interface Memory {
    readonly ended: readonly JobName[];
    readonly looks: readonly JobName[];
    /** Who was told of an end. */
    readonly to: readonly JobName[];
    readonly targets: readonly JobName[];
    /** Rows that are locked, of the last that were to be; and those that were not to be had. */
    readonly locked: readonly JobName[];
    readonly missing: readonly JobName[];
    readonly resumed: readonly JobName[];
    /** How much is to be counted down: for each told end, who it was told to. */
    readonly counts: readonly string[];
  }

  function memory(tx: Tx): Memory {
    const none = { ended: [], looks: [], to: [], targets: [], locked: [], missing: [], resumed: [], counts: [] };
    return { ...none, ...tx.state.processes[tx.name]!.memory };
  }

  function readNotices(tx: Tx): readonly Tx[] {
    const { xid, effects } = tx.state.processes[tx.name]!;
    const own = effects.flatMap((effect) =>
      "notice" in effect ? [{ xid, what: effect.notice, job: effect.job }] : [],
    );
    const log: readonly Notice[] = [...tx.state.log, ...own];
    const of = (what: Notice["what"]): JobName[] =>
      [...new Set(log.filter((notice) => notice.what === what).map(({ job }) => job))].sort();
    const begun = remember(write(tx, { read: log }), { ended: of("ended"), looks: of("look") });
    if (!rules.movesCursorFirst) return [begun];
    // the cursor is committed before what it has passed is delivered
    const process = begun.state.processes[tx.name]!;
    return [
      { ...begun, state: withProcess(applyRead(begun.state, log, process.xid), tx.name, { ...process, effects: [] }) },
    ];
  }

  /** children_cancel: of jobs that have ended without success. Where somebody is in the way, the next notices do it. */
  function cancelChildren(tx: Tx): readonly Tx[] {
    const parents = memory(tx).ended.filter((name) => {
      const { state } = view(tx, name);
      return state !== null && state !== "succeeded";
    });
    if (parents.length === 0) return [idly(tx)];
    const busy = rules.cancelsFlowUnlocked ? [] : parents.filter((name) => specOf(name).isFlow && isFlowBusy(tx, name));
    const begun = busy.reduce((at, job) => write(at, { notice: "ended", job }), tx);
    const held = parents
      .filter((name) => specOf(name).isFlow && !busy.includes(name))
      .reduce((at, name) => lockAlways(at, `flow ${name}`), begun);
    const children = parents
      .flatMap((name) => view(tx, name).children)
      .filter((child) => !["over", "absent"].includes(view(tx, child).place));
    const isInTheWay = (child: JobName): boolean =>
      ["mark", "claim", "agenda"].some((what) => isLocked(tx.state, `${what} ${child}`, tx.name));
    if (children.some(isInTheWay)) return [parents.reduce((at, job) => write(at, { notice: "ended", job }), begun)];
    return [
      children.reduce(
        (at, child) => close(lockAlways(lockAlways(at, `mark ${child}`), `agenda ${child}`), child, "cancelled"),
        held,
      ),
    ];
  }

  /** edges_deliver, its first half: who waits for these is told of each once. The key waits for who tells the same. */
  function tellWaiters(tx: Tx, ended: readonly JobName[]): readonly Tx[] {
    return tellEnds(
      tx,
      ended.flatMap((name) => waitersOf(name).map((waiter) => [name, waiter] as const)),
    );
  }

  function tellParents(tx: Tx): readonly Tx[] {
    return tellEnds(
      tx,
      memory(tx).ended.flatMap((name) => {
        const { parent } = specOf(name);
        return parent === undefined ? [] : [[name, parent] as const];
      }),
    );
  }

  function tellEnds(tx: Tx, pairs: readonly (readonly [JobName, JobName])[]): readonly Tx[] {
    if (pairs.length === 0) return [idly(tx, { to: [], counts: [] })];
    const told = pairs.flatMap(([name, to]) => {
      const { state, place } = view(tx, name);
      if (place !== "over" || state === null) return [];
      return [{ to, item: `${name}:${state}`, isKnown: view(tx, to).told.some((item) => item.startsWith(`${name}:`)) }];
    });
    const isTelling = ({ effects }: Process): boolean =>
      effects.some(
        (effect) =>
          "to" in effect &&
          effect.to === "told" &&
          told.some((line) => line.to === effect.job && line.item === effect.item),
      );
    if (Object.entries(tx.state.processes).some(([name, process]) => name !== tx.name && isTelling(process))) return [];
    const fresh = told.filter(({ isKnown }) => !isKnown);
    const counted = rules.countsTwice ? told : fresh;
    const written = write(tx, ...fresh.map(({ to, item }): Effect => ({ job: to, to: "told", item })));
    return [
      remember(written, {
        to: [...new Set(counted.map(({ to }) => to))],
        counts: counted.map(({ to, item }) => `${to}<${item}`),
      }),
    ];
  }

  /** runs_lock: those that are suspended, and in nobody's hands. */
  function lockRuns(tx: Tx, jobs: readonly JobName[]): readonly Tx[] {
    if (jobs.length === 0) return [idly(tx, { locked: [], missing: [] })];
    const locked = jobs.filter((name) => isSuspended(tx, name) && !isLocked(tx.state, `agenda ${name}`, tx.name));
    const held = rules.resumesUnlocked ? tx : locked.reduce((at, name) => lockAlways(at, `agenda ${name}`), tx);
    return [remember(held, { locked, missing: jobs.filter((name) => !locked.includes(name)) })];
  }

  function noteMissed(tx: Tx): readonly Tx[] {
    const { missing } = memory(tx);
    if (rules.skipsForGood || missing.length === 0) return [idly(tx)];
    const missed = missing.filter((name) => isSuspended(tx, name));
    return [write(tx, ...missed.map((job): Effect => ({ notice: "look", job })))];
  }

  function isSuspended(tx: Tx, name: JobName): boolean {
    const { place, waits, isDue } = view(tx, name);
    return place === "suspended" && waits !== null && !isDue;
  }

  function countEdges(tx: Tx): readonly Tx[] {
    const { locked, counts } = memory(tx);
    if (locked.length === 0) return [idly(tx)];
    return [
      locked.reduce((at, name) => {
        const { waits } = view(at, name);
        const told = counts.filter((line) => line.startsWith(`${name}<`));
        const bad = told.filter((line) => !line.endsWith(":succeeded")).length;
        const left = { ...waits!, after: waits!.after - told.length, bad: waits!.bad + bad };
        return decide(write(at, { job: name, set: { waits: left } }), name);
      }, tx),
    ];
  }

  /** waiters_decide, waiters_cancel. */
  function decide(at: Tx, name: JobName): Tx {
    const { waits } = view(at, name);
    const { after } = specOf(name);
    if (!waits || after === undefined) return at;
    const isOver = waits.after <= 0;
    const begins = isOver && (after.when === "ended" || (after.when === "failed" ? waits.bad > 0 : waits.bad === 0));
    const never =
      (after.when === "succeeded" && waits.bad > 0) || (isOver && after.when === "failed" && waits.bad === 0);
    if (begins) return remember(at, { resumed: [...memory(at).resumed, name] });
    if (!never) return at;
    if (isLocked(at.state, `mark ${name}`, at.name)) return write(at, { notice: "look", job: name });
    return close(lockAlways(at, `mark ${name}`), name, "cancelled");
  }

  function countChildren(tx: Tx): readonly Tx[] {
    const { locked, counts } = memory(tx);
    if (locked.length === 0) return [idly(tx)];
    return [
      locked.reduce((at, name) => {
        const { waits } = view(at, name);
        if (waits?.children === undefined || waits.children === null) return at; // counted when it is looked at
        const left = waits.children - counts.filter((line) => line.startsWith(`${name}<`)).length;
        const counted = write(at, { job: name, set: { waits: { ...waits, children: left } } });
        return left <= 0 ? remember(counted, { resumed: [...memory(at).resumed, name] }) : counted;
      }, tx),
    ];
  }

  /** edges_check holds what was there before: it waits for who decides on it. */
  function holdTargets(): readonly Statement[] {
    return names.map((name): Statement => (tx) => {
      if (memory(tx).looks.length === 0 || !waitersOf(name).some((waiter) => specOf(waiter).after!.isCheck))
        return [idly(tx)];
      if (!targetsOf(tx).includes(name) || rules.checksUnheld) return [tx];
      if (!isLocked(tx.state, `mark ${name}`, tx.name)) return [lockAlways(tx, `mark ${name}`)];
      // half a second was not enough: the next notices come back to it
      const waiting = memory(tx).looks.filter((waiter) => view(tx, waiter).waits?.check === true);
      return [remember(write(tx, ...waiting.map((job): Effect => ({ notice: "look", job }))), { gaveUp: true })];
    });
  }

  function targetsOf(tx: Tx): JobName[] {
    if (tx.state.processes[tx.name]!.memory["gaveUp"] === true) return [];
    return memory(tx).looks.flatMap((name) =>
      view(tx, name).place === "suspended" && view(tx, name).waits?.check ? specOf(name).after!.jobs : [],
    );
  }

  function linkTargets(tx: Tx): readonly Tx[] {
    const targets = [...new Set(targetsOf(tx))];
    if (targets.length === 0) return [idly(tx)];
    const waiters = memory(tx).looks.filter((name) => view(tx, name).waits?.check);
    if (waiters.some((name) => isLocked(tx.state, `agenda ${name}`, tx.name))) {
      // as above: the row of a waiter is in somebody's hands
      return [remember(write(tx, ...waiters.map((job): Effect => ({ notice: "look", job }))), { gaveUp: true })];
    }
    const linked = targets.reduce((at, name) => write(at, { job: name, set: { isLinked: true } }), tx);
    const noted = waiters.reduce(
      (at, name) =>
        write(lockAlways(at, `agenda ${name}`), {
          job: name,
          set: { waits: { ...view(at, name).waits!, check: false } },
        }),
      linked,
    );
    return [remember(noted, { targets })];
  }

  function linkClaims(tx: Tx): readonly Tx[] {
    const { targets } = memory(tx);
    if (rules.checksOnlyAmendment || targets.length === 0) return [idly(tx)];
    if (targets.some((name) => isLocked(tx.state, `claim ${name}`, tx.name))) return []; // waits for the report
    return [
      targets
        .filter((name) => view(tx, name).place === "running")
        .reduce((at, name) => write(lockAlways(at, `claim ${name}`), { job: name, set: { isClaimLinked: true } }), tx),
    ];
  }

  function lookForPurged(tx: Tx): readonly Tx[] {
    const waiting = memory(tx).locked.filter((name) => view(tx, name).waits?.children !== undefined);
    if (rules.forgetsPurged || waiting.length === 0 || !scenario.purges) return [idly(tx)];
    const dropped = waiting.flatMap((name) => droppedOf(tx, name, view(tx, name).children));
    return [write(tx, ...dropped.map((job): Effect => ({ notice: "ended", job })))];
  }

  /** signals_get: the first that it has not got; of those with one id one. */
  function getSignals(tx: Tx): readonly Tx[] {
    const waiting = memory(tx).locked.filter((name) => view(tx, name).waits?.signal);
    if (waiting.length === 0) return [idly(tx)];
    return [
      waiting.reduce((at, name) => {
        const { waits, signals, got } = view(at, name);
        if (!waits) return at;
        const isGot = (item: string): boolean => got.some((line) => line.endsWith(`:${item}`));
        const idOf = (item: string): string => item.split("/")[1]!;
        const next = signals
          .filter((item) => !isGot(item))
          .filter(
            (item) =>
              rules.getsSameId ||
              idOf(item) === "" ||
              !signals.some((other) => isGot(other) && idOf(other) === idOf(item)),
          )
          .toSorted()[0];
        if (next === undefined) return at;
        const written = write(at, { job: name, to: "got", item: `${waits.key}:${next}` });
        return remember(written, { resumed: [...memory(at).resumed, name] });
      }, tx),
    ];
  }

  /** The end of waits_look: what is left follows from what was told. */
  function countAgain(tx: Tx): readonly Tx[] {
    if (memory(tx).locked.length === 0) return [idly(tx)];
    return [
      memory(tx).locked.reduce((at, name) => {
        const { waits, told, children } = view(at, name);
        const { after } = specOf(name);
        if (!waits) return at;
        const left = children.filter((child) => !told.some((item) => item.startsWith(`${child}:`))).length;
        const counted: Waits = {
          ...waits,
          ...(waits.children === undefined ? {} : { children: left }),
          ...(after === undefined || rules.forgetsEdges
            ? {}
            : {
                after: after.jobs.length - told.length,
                bad: told.filter((item) => !item.endsWith(":succeeded")).length,
              }),
        };
        const written = decide(write(at, { job: name, set: { waits: counted } }), name);
        return counted.children !== undefined && left <= 0
          ? remember(written, { resumed: [...memory(at).resumed, name] })
          : written;
      }, tx),
    ];
  }

  /** flows_end, runs_resume. */
  function resumeAll(tx: Tx): readonly Tx[] {
    const jobs = [...new Set(memory(tx).resumed)];
    if (jobs.length === 0) return [idly(tx)];
    return [
      jobs.reduce((at, name) => {
        const job = view(at, name);
        if (specOf(name).isFlow) return endFlow(at, name);
        return job.place === "suspended" && job.waits ? write(at, { job: name, set: resumed(job) }) : at;
      }, tx),
    ];
  }

  function endFlow(tx: Tx, name: JobName): Tx {
    if (isFlowBusy(tx, name) && !rules.endsFlowUnlocked) return write(tx, { notice: "look", job: name });
    const { children, told } = view(tx, name);
    if (told.length < children.length) return tx;
    return close(lockAlways(tx, `flow ${name}`), name, "succeeded");
  }

  function isFlowBusy(tx: Tx, name: JobName): boolean {
    return isLocked(tx.state, `flow ${name}`, tx.name);
  }

  // ── transactions ────────────────────────────────────────────────────────────────────────────────────────────────

  function steps(state: State): Step<State>[] {
    if (state.fault !== "") return [];
    const next = events(state);
    for (const [name, process] of Object.entries(state.processes)) {
      if (process.at !== null) next.push(...stepsInside(state, name, process));
      else if (process.budget > 0 && hasWork(state, name)) {
        const begun: Process = { ...process, budget: process.budget - 1, at: 0 };
        next.push(...go({ state: withProcess(state, name, begun), name }, 0));
      }
    }
    return next;
  }

  /** A transaction may be killed at any time, also while it waits. */
  function stepsInside(state: State, name: string, process: Process): Step<State>[] {
    const rollback = { name: `${name} is killed`, next: normal(end(state, name)) };
    if (process.at! < scripts[name]!.length) return [...go({ state, name }, process.at!), rollback];
    return [{ name: `${name} commits`, next: normal(commit(state, name)) }, rollback];
  }

  /** The next statement, with those after it that have nothing to do. */
  function go(tx: Tx, at: number): Step<State>[] {
    const script = scripts[tx.name]!;
    return script[at]!(tx).flatMap((done) => {
      const next = { name: tx.name, state: withMore(done, { at: at + 1 }).state };
      if (done.isIdle && at + 1 < script.length) return go(next, at + 1);
      return [{ name: `${tx.name}: statement ${at + 1}`, next: normal(next.state) }];
    });
  }

  function commit(state: State, name: string): State {
    const process = state.processes[name]!;
    let next = state;
    for (const effect of process.effects) {
      if ("read" in effect) next = applyRead(next, effect.read, process.xid);
      else if ("looked" in effect) next = { ...next, looked: effect.looked };
      else if ("notice" in effect) {
        if (process.isPassed && rules.forgetsLate) continue;
        next = { ...next, log: [...next.log, { xid: process.xid, what: effect.notice, job: effect.job }] };
      } else next = { ...next, jobs: { ...next.jobs, [effect.job]: apply(next.jobs[effect.job]!, effect) } };
    }
    if (name.startsWith("purger") && process.effects.length > 0)
      next = { ...next, purged: [...next.purged, name.split(" of ")[1]!].toSorted() };
    return end(next, name);
  }

  /** track_advance. What was running below the head is remembered as late, or forgotten. */
  function applyRead(state: State, read: readonly Notice[], own: number): State {
    const head = Math.max(0, ...read.map(({ xid }) => xid));
    const log = state.log.filter(
      (notice) =>
        !read.some((other) => isSameNotice(other, notice)) &&
        !(rules.forgetsLate && notice.xid < head && notice.xid !== own),
    );
    const processes = Object.fromEntries(
      Object.entries(state.processes).map(([name, process]) => [
        name,
        process.xid > 0 && process.xid < head ? { ...process, isPassed: true } : process,
      ]),
    );
    return { ...state, log, processes };
  }

  function end(state: State, name: string): State {
    const process = state.processes[name]!;
    const ended: Process = { ...idle, script: process.script, budget: process.budget };
    return { ...withProcess(state, name, ended), locks: state.locks.filter(({ by }) => by !== name) };
  }

  // ── what must hold ──────────────────────────────────────────────────────────────────────────────────────────────

  function check(state: State, isEnd: boolean): string | undefined {
    if (state.fault !== "") return state.fault;
    for (const name of names) {
      const fault = faultOf(state, name) ?? faultAtRest(state, name) ?? (isEnd ? faultAtEnd(state, name) : undefined);
      if (fault !== undefined) return fault;
    }
    const open = Object.entries(state.processes).filter(([, { at }]) => at !== null);
    const isBlocked = ([name, { at }]: [string, Process]): boolean =>
      at! < scripts[name]!.length && go({ state, name }, at!).length === 0;
    return open.length > 1 && open.every(isBlocked)
      ? `${open.map(([name]) => name).join(" and ")} wait for each other`
      : undefined;
  }

  function faultOf({ jobs }: State, name: JobName): string | undefined {
    const job = jobs[name]!;
    const { after, isFlow } = specOf(name);
    if (new Set(job.got.map((item) => item.split(":")[0])).size < job.got.length)
      return `a wait of ${name} got two signals`;
    const signals = job.got.map((item) => item.split(":")[1]!);
    if (new Set(signals.map((item) => (item.endsWith("/") ? item : item.split("/")[1]))).size < signals.length)
      return `${name} got a signal twice`;
    if (job.resumes.some((count) => count > 1)) return `${name} goes on twice for one reason`;
    for (const item of job.saw) {
      const [key, what] = [item[0]!, item.slice(2)];
      const got = job.got.find((line) => line.startsWith(`${key}:`));
      if (what === "nothing" && got !== undefined) return `${name} was told that no signal came, and one is gone`;
    }
    if (after && ["ready", "running"].includes(job.place)) {
      const states = after.jobs.map((other) => jobs[other]!.state);
      if (states.includes(null)) return `${name} begins before all have ended that it waits for`;
      const bad = states.some((state) => state !== "succeeded");
      if (after.when !== "ended" && bad !== (after.when === "failed")) return `${name} begins although it should not`;
    }
    const isForChildren = specOf(name).handler?.includes("children") === true;
    const open = job.children.filter((child) => jobs[child]!.place !== "over");
    if (isForChildren && job.resumes.length > 0 && job.place !== "over" && open.length > 0)
      return `${name} goes on before its children have ended`;
    if (isFlow && job.state === "succeeded" && open.length > 0) return `flow ${name} has ended before its jobs`;
    return undefined;
  }

  /** All that was told is delivered, and nobody is at it. */
  function faultAtRest({ jobs, log, processes }: State, name: JobName): string | undefined {
    const { state, children } = jobs[name]!;
    if (log.length > 0 || state === null || state === "succeeded") return undefined;
    const isAtRest = Object.values(processes).every(({ at }) => at === null);
    return isAtRest && children.some((child) => jobs[child]!.place !== "over")
      ? `${name} has ended without success, and its children go on`
      : undefined;
  }

  /** Nobody has anything to do any more. */
  function faultAtEnd({ jobs }: State, name: JobName): string | undefined {
    const { place, waits, signals, got } = jobs[name]!;
    if (place !== "suspended") return undefined;
    const idOf = (item: string): string => item.split("/")[1]!;
    const left = signals.filter(
      (item) => !got.some((line) => line.endsWith(`:${item}`) || (idOf(item) !== "" && idOf(line) === idOf(item))),
    );
    if (waits?.signal && left.length > 0) return `${name} waits for ever for a signal that is there`;
    if (waits?.signal) return undefined; // nobody has told it
    return `${name} waits for ever`;
  }

  const scripts = scriptsOf();
  const initial: State = {
    jobs: Object.fromEntries(names.map((name) => [name, firstJob(name)])),
    log: firstNotices,
    purged: [],
    looked: [],
    locks: [],
    processes: Object.fromEntries(
      Object.keys(scripts).map((name) => [name, { ...idle, script: name, budget: isRepeated(name) ? Infinity : 1 }]),
    ),
    losses: scenario.losses ?? 0,
    fault: "",
  };

  return { initial: [initial], steps, key: keyOf, check, show };
}

const noWaits: Waits = { key: 0, signal: false, children: undefined, after: 0, bad: 0, check: false };

/** A job as the transaction sees it: what is committed, and what it has written itself. */
function view({ state, name }: Tx, job: JobName): Job {
  let seen = state.jobs[job]!;
  for (const effect of state.processes[name]!.effects) {
    if ("job" in effect && effect.job === job && !("notice" in effect)) seen = apply(seen, effect);
  }
  return seen;
}

function apply(job: Job, effect: Effect): Job {
  if ("set" in effect) return { ...job, ...effect.set };
  if (!("to" in effect)) return job;
  if (effect.to === "late") return { ...job, late: [...job.late, Number(effect.item)] };
  return { ...job, [effect.to]: [...job[effect.to], effect.item].toSorted() };
}

/** The first write gives a transaction its number: above all that there are. */
function write(tx: Tx, ...effects: readonly Effect[]): Tx {
  if (effects.length === 0) return tx;
  const process = tx.state.processes[tx.name]!;
  const xid = process.xid || highest(tx.state) + 1;
  return withMore(tx, { xid, effects: [...process.effects, ...effects] });
}

function highest({ log, processes }: State): number {
  return Math.max(0, ...log.map(({ xid }) => xid), ...Object.values(processes).map(({ xid }) => xid));
}

function remember(tx: Tx, more: Readonly<Record<string, unknown>>): Tx {
  return withMore(tx, { memory: { ...tx.state.processes[tx.name]!.memory, ...more } });
}

function withMore(tx: Tx, changes: Partial<Process>): Tx {
  return { ...tx, state: withProcess(tx.state, tx.name, { ...tx.state.processes[tx.name]!, ...changes }) };
}

/** Nothing was to be done, but for what only the process itself knows. */
function idly(tx: Tx, more: Readonly<Record<string, unknown>> = {}): Tx {
  return { ...(Object.keys(more).length > 0 ? remember(tx, more) : tx), isIdle: true };
}

function fault(tx: Tx, message: string): Tx {
  return { ...tx, state: { ...tx.state, fault: message } };
}

/** Nothing comes of it while somebody else has the lock: it waits. */
function lock(tx: Tx, on: string, isShared = false): readonly Tx[] {
  const others = tx.state.locks.filter((held) => held.on === on && held.by !== tx.name);
  if (others.some((held) => !held.isShared || !isShared)) return [];
  return [lockAlways(tx, on, isShared)];
}

function lockAlways(tx: Tx, on: string, isShared = false): Tx {
  if (tx.state.locks.some((held) => held.on === on && held.by === tx.name)) return tx;
  const locks = [...tx.state.locks, { on, by: tx.name, isShared }].toSorted((a, b) =>
    a.on + a.by < b.on + b.by ? -1 : 1,
  );
  return { ...tx, state: { ...tx.state, locks } };
}

function isLocked({ locks }: State, on: string, but: string): boolean {
  return locks.some((held) => held.on === on && held.by !== but);
}

function withProcess(state: State, name: string, process: Process): State {
  return { ...state, processes: { ...state.processes, [name]: process } };
}

function isSameNotice(one: Notice, other: Notice): boolean {
  return one.xid === other.xid && one.what === other.what && one.job === other.job;
}

/** Numbers of transactions are only compared: from 1 on, without gaps. Of equal notices one is enough. */
function normal(state: State): State {
  const numbers = [
    ...new Set([...state.log.map(({ xid }) => xid), ...Object.values(state.processes).map(({ xid }) => xid)]),
  ]
    .filter((xid) => xid > 0)
    .toSorted((a, b) => a - b);
  const renumber = (xid: number): number => numbers.indexOf(xid) + 1;
  const notice = (line: Notice): Notice => ({ ...line, xid: renumber(line.xid) });
  const effect = (line: Effect): Effect => ("read" in line ? { read: line.read.map(noticeOf) } : line);
  // what was read is below or beside what is there: an old number that is gone counts as the one below the next
  function noticeOf(line: Notice): Notice {
    return {
      ...line,
      xid: line.xid === 0 ? 0 : renumber(line.xid) || numbers.filter((xid) => xid < line.xid).length + 0.5,
    };
  }
  const log = state.log
    .map(notice)
    .filter((line, i, all) => all.findIndex((other) => isSameNotice(line, other)) === i)
    .toSorted((a, b) => a.xid - b.xid || (a.job + a.what < b.job + b.what ? -1 : 1));
  const processes = Object.fromEntries(
    Object.entries(state.processes).map(([name, process]) => [
      name,
      { ...process, xid: renumber(process.xid), effects: process.effects.map(effect) },
    ]),
  );
  return { ...state, log, processes };
}

function keyOf({ jobs, log, purged, looked, locks, processes, losses, fault: message }: State): string {
  let key = `${losses},${purged.join()},${looked.join()},${message}`;
  for (const name in jobs) key += JSON.stringify(Object.values(jobs[name]!));
  for (const { xid, what, job } of log) key += `;${xid}${what}${job}`;
  for (const { on, by } of locks) key += `;${on}=${by}`;
  for (const name in processes) {
    const { at, budget, xid, isPassed, effects, memory } = processes[name]!;
    key += at === null ? `|${budget}` : `|${at},${budget},${xid},${isPassed}${JSON.stringify([effects, memory])}`;
  }
  return key;
}

function show({ jobs, log, locks }: State): string {
  const line = (name: JobName): string => {
    const { place, state, waits, isDue, told, got } = jobs[name]!;
    const about = [state, waits && JSON.stringify(waits), isDue && "due", ...got, ...told].filter(Boolean).join(" ");
    return `${name} ${place}${about === "" ? "" : ` (${about})`}`;
  };
  return [
    ...Object.keys(jobs).map(line),
    `log [${log.map(({ what, job, xid }) => `${what} ${job} of ${xid}`).join()}]`,
    `locks [${locks.map(({ on, by }) => `${on}: ${by}`).join()}]`,
  ].join(", ");
}
