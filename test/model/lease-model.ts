import type { Model, Step } from "./explorer.js";

/**
 * One job with a limited number of attempts, and everybody who can decide on it. A verb is a transaction: it locks what
 * the SQL locks, looks at what is committed at that moment, and its effects become visible together when it commits.
 */
export interface LeaseScenario {
  readonly workers: number;
  /** Claims each worker may make. */
  readonly claims: number;
  /** How often each worker may prolong its lease. */
  readonly extends: number;
  /** Runs of the reaper while the others are at work. */
  readonly reaps: number;
  readonly cancels: number;
  readonly maxAttempts: number;
  /** Any transaction may roll back instead of committing (a killed connection). */
  readonly mayRollBack: boolean;
  readonly rules?: LeaseRules;
}

export interface LeaseRules {
  /** A report is taken at its word, without looking whether its claim still exists. */
  readonly acceptsStaleReports?: boolean;
  /** A lost attempt is followed by another, however many there were. */
  readonly ignoresCap?: boolean;
  /** The reaper gives the job back but leaves the claim. */
  readonly reaperKeepsClaim?: boolean;
  /** Cancelling looks at the job's state and for a claim without keeping others from claiming it meanwhile. */
  readonly cancelHoldsNothing?: boolean;
}

type FinalState = "succeeded" | "failed" | "cancelled";
type Report = "complete" | "fail" | "retry" | "release" | "extend";
const reports: readonly Report[] = ["complete", "fail", "retry", "release", "extend"];

interface Claim {
  readonly token: number;
  readonly attempt: number;
  readonly hasEnded: boolean;
  readonly lockedBy: string;
}

interface Attempt {
  readonly attempt: number;
  readonly final: FinalState | null;
}

/** What a transaction will have done when it commits. */
interface Effects {
  readonly dropsTicket?: boolean;
  readonly ticket?: number;
  readonly claim?: { readonly token: number; readonly attempt: number };
  readonly removesClaim?: number;
  readonly extendsClaim?: number;
  readonly attempt?: Attempt;
  readonly cancels?: boolean;
  /** Change of the count of ready jobs. */
  readonly ready?: number;
  /** The outcome its caller is told to have decided. */
  readonly told?: FinalState;
}

/** An actor's transaction: which verb, how far it is, and what it will do. */
interface Open {
  readonly verb: Report | "claim" | "reap" | "cancel";
  readonly stage: "looking" | "locked" | "done";
  readonly token: number;
  readonly effects: Effects;
}

interface Actor {
  readonly open: Open | null;
  readonly budget: number;
  readonly extends: number;
  /** The claim a worker believes it holds; 0 for none. */
  readonly token: number;
  readonly attempt: number;
}

interface State {
  /** Attempt numbers of tickets nobody has claimed yet. */
  readonly tickets: readonly number[];
  readonly claims: readonly Claim[];
  readonly attempts: readonly Attempt[];
  readonly isCancelled: boolean;
  readonly ready: number;
  readonly laneLockedBy: string;
  readonly told: readonly FinalState[];
  readonly tokens: number;
  readonly settled: FinalState | null;
  readonly actors: Readonly<Record<string, Actor>>;
  readonly fault: string | undefined;
}

export function leaseModel(scenario: LeaseScenario): Model<State> {
  const rules = scenario.rules ?? {};
  const newActor = (budget: number): Actor => ({ open: null, budget, extends: scenario.extends, token: 0, attempt: 0 });
  const workers = Array.from({ length: scenario.workers }, (_, i) => `worker ${i + 1}`);
  const initial: State = {
    tickets: [1],
    claims: [],
    attempts: [],
    isCancelled: false,
    ready: 1,
    laneLockedBy: "",
    told: [],
    tokens: 0,
    settled: null,
    actors: {
      ...Object.fromEntries(workers.map((name) => [name, newActor(scenario.claims)])),
      reaper: newActor(scenario.reaps),
      canceller: newActor(scenario.cancels),
    },
    fault: undefined,
  };

  function steps(state: State): Step<State>[] {
    if (state.fault !== undefined) return [];
    const next: Step<State>[] = [];
    for (const claim of state.claims) {
      if (!claim.hasEnded)
        next.push({
          name: `the lease of claim ${claim.token} ends`,
          next: withClaim(state, { ...claim, hasEnded: true }),
        });
    }
    for (const [name, actor] of Object.entries(state.actors)) {
      if (actor.open?.stage === "done") {
        next.push({ name: `${name} commits ${actor.open.verb}`, next: commit(state, name, actor, actor.open) });
        if (scenario.mayRollBack)
          next.push({ name: `${name} rolls back ${actor.open.verb}`, next: close(state, name, actor) });
      } else if (name === "reaper") {
        next.push(...reap(state, name, actor));
      } else if (name === "canceller") {
        next.push(...cancel(state, name, actor));
      } else {
        next.push(...work(state, name, actor));
      }
    }
    return next;
  }

  function work(state: State, name: string, actor: Actor): Step<State>[] {
    if (actor.open)
      return [{ name: `${name} decides on ${actor.open.verb}`, next: decide(state, name, actor, actor.open) }];
    const next: Step<State>[] = [];
    if (actor.budget > 0 && state.tickets.length > 0 && state.laneLockedBy === "")
      next.push({ name: `${name} claims`, next: claim(state, name, actor) });
    if (actor.token === 0) return next;
    const held = state.claims.find(({ token }) => token === actor.token);
    for (const report of reports) {
      if (report === "extend" && actor.extends === 0) continue;
      if (!held && rules.acceptsStaleReports && report === "complete") {
        const effects: Effects = { attempt: { attempt: actor.attempt, final: "succeeded" }, told: "succeeded" };
        next.push({
          name: `${name} reports complete all the same`,
          next: withActor(state, name, {
            ...actor,
            open: { verb: report, stage: "done", token: actor.token, effects },
          }),
        });
      } else if (!held) {
        next.push({
          name: `${name} is refused ${report}`,
          next: withActor(state, name, { ...actor, token: 0, attempt: 0 }),
        });
      } else if (held.lockedBy === "") {
        const locked = withClaim(state, { ...held, lockedBy: name });
        next.push({
          name: `${name} locks its claim for ${report}`,
          next: withActor(locked, name, {
            ...actor,
            open: { verb: report, stage: "locked", token: held.token, effects: {} },
          }),
        });
      }
    }
    return next;
  }

  /** lane_take under the lane's lock: a ticket made void is passed over, any other becomes a claim. */
  function claim(state: State, name: string, actor: Actor): State {
    const attempt = state.tickets[0]!;
    const token = state.tokens + 1;
    const effects: Effects = state.isCancelled
      ? { dropsTicket: true }
      : { dropsTicket: true, claim: { token, attempt }, ready: -1 };
    const open: Open = { verb: "claim", stage: "done", token, effects };
    return {
      ...withActor(state, name, { ...actor, open, budget: actor.budget - 1 }),
      laneLockedBy: name,
      tokens: token,
    };
  }

  /**
   * claim_detach and what follows it: the claim is locked, so that it is ours to decide on, unless a cancel is visible
   * by now.
   */
  function decide(state: State, name: string, actor: Actor, open: Open): State {
    const { attempt } = state.claims.find(({ token }) => token === open.token)!;
    const effects =
      open.verb === "extend"
        ? { extendsClaim: open.token }
        : (dropCancelled(state, open.token, attempt) ?? outcomeOf(open.verb as Report, open.token, attempt));
    return withActor(state, name, { ...actor, open: { ...open, stage: "done", effects } });
  }

  function outcomeOf(report: Report, token: number, attempt: number): Effects {
    switch (report) {
      case "complete":
        return { removesClaim: token, attempt: { attempt, final: "succeeded" }, told: "succeeded" };
      case "fail":
        return { removesClaim: token, attempt: { attempt, final: "failed" }, told: "failed" };
      case "retry":
        return again(token, attempt);
      case "release":
        return { removesClaim: token, ticket: attempt, ready: 1 };
      case "extend":
        return { extendsClaim: token };
    }
  }

  /** attempts_close: the last attempt is final, any other is followed by a new ticket. */
  function again(token: number, attempt: number): Effects {
    return attempt >= scenario.maxAttempts && !rules.ignoresCap
      ? { removesClaim: token, attempt: { attempt, final: "failed" }, told: "failed" }
      : { removesClaim: token, attempt: { attempt, final: null }, ticket: attempt + 1, ready: 1 };
  }

  /**
   * What an engine without job_hold would have to do: whoever reports is refused; the canceller has been told before.
   */
  function dropCancelled(state: State, token: number, attempt: number): Effects | undefined {
    return rules.cancelHoldsNothing && state.isCancelled
      ? { removesClaim: token, attempt: { attempt, final: "cancelled" }, ready: 1 }
      : undefined;
  }

  /** claim_reap: a claim somebody is reporting on is skipped. */
  function reap(state: State, name: string, actor: Actor): Step<State>[] {
    if (actor.open) {
      const effects = reaped(
        state,
        state.claims.find(({ token }) => token === actor.open!.token)!,
      );
      return [
        {
          name: `${name} decides`,
          next: withActor(state, name, { ...actor, open: { ...actor.open, stage: "done", effects } }),
        },
      ];
    }
    const ended = state.claims.find(({ hasEnded, lockedBy }) => hasEnded && lockedBy === "");
    if (actor.budget === 0 || !ended) return [];
    const open: Open = { verb: "reap", stage: "locked", token: ended.token, effects: {} };
    return [
      {
        name: `${name} locks claim ${ended.token}`,
        next: withActor(withClaim(state, { ...ended, lockedBy: name }), name, {
          ...actor,
          open,
          budget: actor.budget - 1,
        }),
      },
    ];
  }

  function reaped(state: State, { token, attempt }: Claim): Effects {
    const effects = dropCancelled(state, token, attempt) ?? again(token, attempt);
    return rules.reaperKeepsClaim ? { ...effects, removesClaim: 0 } : effects;
  }

  /**
   * job_cancel, step by step: hold the job, is it claimed (then wait for that claim), is it finished, else make its
   * ticket void.
   */
  function cancel(state: State, name: string, actor: Actor): Step<State>[] {
    const { open } = actor;
    const look = (token: number, from = state): State =>
      withActor(from, name, { ...actor, open: { verb: "cancel", stage: "looking", token, effects: {} } });
    if (!open) {
      if (actor.budget === 0) return [];
      if (!rules.cancelHoldsNothing)
        return state.laneLockedBy === ""
          ? [{ name: `${name} holds the job`, next: look(0, { ...state, laneLockedBy: name }) }]
          : [];
      if (jobState(state) !== null)
        return [
          { name: `${name} finds it finished`, next: withActor(state, name, { ...actor, budget: actor.budget - 1 }) },
        ];
      return [{ name: `${name} finds it alive`, next: look(0) }];
    }
    const finish = (from: State, effects: Effects): State =>
      withActor(from, name, { ...actor, open: { ...open, stage: "done", effects }, budget: actor.budget - 1 });
    if (open.token === 0) {
      const seen = state.claims[0];
      if (seen) return [{ name: `${name} sees claim ${seen.token}`, next: look(seen.token) }];
      if (!rules.cancelHoldsNothing && jobState(state) !== null)
        return [{ name: `${name} finds it finished`, next: finish(state, {}) }];
      if (state.isCancelled) return [{ name: `${name} finds it cancelled`, next: finish(state, {}) }];
      return [
        { name: `${name} makes the ticket void`, next: finish(state, { cancels: true, ready: -1, told: "cancelled" }) },
      ];
    }
    const held = state.claims.find(({ token }) => token === open.token);
    if (!held) {
      const again = !rules.cancelHoldsNothing ? look(0) : withActor(state, name, { ...actor, open: null });
      return [{ name: `${name} finds that it changed hands`, next: again }];
    }
    if (held.lockedBy !== "") return [];
    const effects = dropCancelled(state, held.token, held.attempt) ?? {
      removesClaim: held.token,
      attempt: { attempt: held.attempt, final: "cancelled" as const },
      told: "cancelled" as const,
    };
    return [
      {
        name: `${name} takes it out of claim ${held.token}`,
        next: finish(withClaim(state, { ...held, lockedBy: name }), effects),
      },
    ];
  }

  function commit(state: State, name: string, actor: Actor, open: Open): State {
    const { effects } = open;
    const duplicate = effects.attempt && state.attempts.some(({ attempt }) => attempt === effects.attempt!.attempt);
    let next = close(state, name, actor);
    next = {
      ...next,
      tickets: [
        ...(effects.dropsTicket ? next.tickets.slice(1) : next.tickets),
        ...(effects.ticket ? [effects.ticket] : []),
      ],
      claims: [
        ...next.claims
          .filter(({ token }) => token !== effects.removesClaim)
          .map((held) => (held.token === effects.extendsClaim ? { ...held, hasEnded: false } : held)),
        ...(effects.claim ? [{ ...effects.claim, hasEnded: false, lockedBy: "" }] : []),
      ],
      attempts: effects.attempt ? [...next.attempts, effects.attempt] : next.attempts,
      isCancelled: next.isCancelled || effects.cancels === true,
      ready: next.ready + (effects.ready ?? 0),
      told: effects.told ? [...next.told, effects.told] : next.told,
    };
    if (open.verb === "claim")
      next = withActor(next, name, {
        ...next.actors[name]!,
        token: effects.claim?.token ?? 0,
        attempt: effects.claim?.attempt ?? 0,
      });
    else if (open.verb === "extend")
      next = withActor(next, name, { ...next.actors[name]!, extends: actor.extends - 1 });
    else if (reports.includes(open.verb as Report))
      next = withActor(next, name, { ...next.actors[name]!, token: 0, attempt: 0 });
    const settled = jobState(next);
    const fault = duplicate
      ? `attempt ${effects.attempt.attempt} is recorded twice: a unique error reaches a caller`
      : next.claims.length > 1
        ? "the job is in two live claims"
        : state.settled !== null && settled !== state.settled
          ? `the job was ${state.settled} and is now ${settled ?? "alive"}`
          : undefined;
    return { ...next, settled, fault };
  }

  /** A transaction's end gives back its locks, whichever way it ends. */
  function close(state: State, name: string, actor: Actor): State {
    const claims = state.claims.map((held) => (held.lockedBy === name ? { ...held, lockedBy: "" } : held));
    return {
      ...withActor(state, name, { ...actor, open: null }),
      claims,
      laneLockedBy: state.laneLockedBy === name ? "" : state.laneLockedBy,
    };
  }

  function check(state: State, isEnd: boolean): string | undefined {
    if (state.fault !== undefined) return state.fault;
    const finals = state.attempts.filter(({ final }) => final !== null);
    if (finals.length > 1) return "the job has two final outcomes";
    if (state.told.length > 1)
      return `two callers were told that they decided the outcome: ${state.told.join(" and ")}`;
    if (!isEnd) return undefined;
    if (Object.values(state.actors).some(({ open }) => open)) return "somebody waits for ever";
    return checkDrained(drain(state));
  }

  /** Nobody reports any more: leases end, one reaper and one worker go on. */
  function drain(from: State): State {
    let state = from;
    for (
      let round = 0;
      round < 2 * scenario.maxAttempts + 2 && (state.claims.length > 0 || state.tickets.length > 0);
      round += 1
    ) {
      const held = state.claims[0];
      if (held) {
        state = commit(state, "reaper", state.actors["reaper"]!, {
          verb: "reap",
          stage: "done",
          token: held.token,
          effects: reaped(state, held),
        });
      } else {
        const claimed = claim(state, "worker 1", state.actors["worker 1"]!);
        state = commit(claimed, "worker 1", claimed.actors["worker 1"]!, claimed.actors["worker 1"]!.open!);
      }
    }
    return state;
  }

  function checkDrained(state: State): string | undefined {
    const final = jobState(state);
    if (state.fault !== undefined) return state.fault;
    if (final === null) return "the job is never finished";
    if (state.told.some((told) => told !== final))
      return `a caller was told ${state.told.join()}, but the job is ${final}`;
    if (state.ready !== 0) return `the job is ${final}, and the count of ready jobs is ${state.ready}`;
    return undefined;
  }

  return { initial: [initial], steps, key: (state) => JSON.stringify(state), check, show };
}

/** The job's final state, null while it has none. An end while waiting outranks a live claim, as in job_state. */
function jobState(state: State): FinalState | null {
  const final = state.attempts.find((row) => row.final !== null)?.final;
  return final ?? (state.isCancelled ? "cancelled" : null);
}

function withActor(state: State, name: string, actor: Actor): State {
  return { ...state, actors: { ...state.actors, [name]: actor } };
}

function withClaim(state: State, claim: Claim): State {
  return { ...state, claims: state.claims.map((other) => (other.token === claim.token ? claim : other)) };
}

function show({ tickets, claims, attempts, isCancelled, ready, told }: State): string {
  return [
    `tickets [${tickets.join()}]`,
    `claims [${claims.map(({ token, attempt, hasEnded }) => `${token}: attempt ${attempt}${hasEnded ? " ended" : ""}`).join()}]`,
    `attempts [${attempts.map(({ attempt, final }) => `${attempt} ${final ?? "not final"}`).join()}]`,
    ...(isCancelled ? ["cancelled"] : []),
    `ready ${ready}`,
    ...(told.length > 0 ? [`told ${told.join()}`] : []),
  ].join(", ");
}
