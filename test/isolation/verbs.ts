import type pg from "pg";
import type { Engine } from "../../src/db/engine.js";
import { LeaseLostError } from "../../src/db/errors.js";
import type { CallOptions } from "../../src/db/foreign.js";
import type { ClaimedJob, Enqueued, JobId, JobState, Json, NewJob, QueuePart, Wait } from "../../src/db/types.js";
import type { Combination } from "./combination.js";
import type { Scene } from "./scenes.js";

/** Who calls a verb. */
export interface Session {
  readonly engine: Engine;
  readonly client: pg.Client;
  /** The transaction the verb is called in; none when it commits by itself. */
  readonly call: CallOptions;
  /** A connection beside it, for verbs that do something first, or elsewhere, that commits by itself. */
  readonly beside: Engine;
  readonly besideClient: pg.Client;
}

/** What a verb told its caller; it holds when its transaction has committed. */
export interface Told {
  readonly enqueued?: readonly Enqueued[];
  readonly claimed?: readonly ClaimedJob[];
  /** Jobs that have ended so. */
  readonly ended?: readonly { readonly id: JobId; readonly state: JobState }[];
  /** Jobs that the token no longer held. */
  readonly lost?: readonly { readonly id: JobId; readonly token: string }[];
  /** Jobs that got this input while they waited, unless somebody had claimed them before. */
  readonly replaced?: readonly { readonly id: JobId; readonly input: Json }[];
  /** How many jobs were cancelled. */
  readonly cancelled?: number;
  /** What is paused, or was closed, from now on. */
  readonly paused?: QueuePart;
  readonly closed?: boolean;
  /** How many ring children were emptied. */
  readonly emptied?: number;
  /** What else it said, for whoever reads the steps. */
  readonly said?: unknown;
}

export interface Verb {
  readonly name: string;
  /** A lost lease is a value; anything thrown must be among what it may refuse. */
  run(session: Session, scene: Scene): Promise<Told>;
  /** Codes of errors that are a proper answer here; that a job which is not there does not exist (MR002) always is. */
  refuses?(combination: Combination): readonly string[];
  /** It gives finished jobs another life, so that what others decided need not last. */
  readonly revives?: boolean;
  /** It locks whole tables for moments, so that even an enqueue may wait for it. */
  readonly locksTables?: boolean;
  /** It is an enqueue that waits for nobody. */
  readonly neverWaits?: boolean;
  /** What it drops is told by the states of jobs only, not by its answer. */
  readonly sheds?: boolean;
  readonly pauses?: boolean;
  /** What it enqueues becomes claimable later, and joins those that wait then. */
  readonly joinsLater?: boolean;
  /** It lets younger jobs go first. */
  readonly setsAside?: boolean;
  readonly aboutDeadLetters?: boolean;
  /** It closes the queue, so that others may be refused. */
  readonly closes?: boolean;
}

const invalid = "MR001";
const closed = "MR014";
const ended = "MR017";

const names = ({ first, second, third }: Combination): readonly (Verb | undefined)[] => [first, second, third];
/** A queue that is closed, or may be by another verb of the combination, takes no jobs. */
const whereClosed = (combination: Combination): readonly string[] =>
  combination.state === "closed" || names(combination).some((verb) => verb?.closes) ? [closed] : [];
const grouped: ReadonlySet<string> = new Set(["groups", "ordered", "batches", "limits", "rates", "costs", "crowd"]);
/** What waits in groups cannot be set aside. */
const whereGrouped = ({ state }: Combination): readonly string[] => (grouped.has(state) ? [invalid] : []);

/** A child must not stand behind its parent. */
const whereChildless = (combination: Combination): readonly string[] => [
  ...whereClosed(combination),
  ...(combination.state === "serial" ? [invalid] : []),
];

type Held = Pick<ClaimedJob, "id" | "token">;

/** A report on one job of a claim; accepted, it ends the job as told. */
const report = async (call: (job: Held) => Promise<unknown>, { id, token }: Held, state?: JobState): Promise<Told> => {
  try {
    await call({ id, token });
    return state === undefined ? { said: "accepted" } : { ended: [{ id, state }] };
  } catch (error) {
    if (error instanceof LeaseLostError) return { lost: [{ id, token }] };
    throw error;
  }
};
/** A report on the far job, which runs unless one job runs at a time. */
const farReport = ({ far, farToken }: Scene, call: (job: Held) => Promise<unknown>, state?: JobState): Promise<Told> =>
  farToken === undefined ? Promise.resolve({ said: "not held" }) : report(call, { id: far, token: farToken }, state);
const query = async ({ client }: Session, text: string, values: unknown[] = []): Promise<unknown> =>
  (await client.query(text, values)).rows[0];
const pause = async ({ engine, call }: Session, { queue }: Scene, paused: QueuePart): Promise<Told> => {
  await engine.queuePause(queue, paused, call);
  return { paused };
};
const said = async (call: Promise<unknown>): Promise<Told> => ({ said: await call });
/**
 * control_compact takes the first table that is worth it; these are about a certain one. Two statements, one
 * transaction.
 */
const rewrite = async ({ client }: Session, table: string): Promise<Told> => {
  await client.query(`lock table ${table} in access exclusive mode; select table_rewrite('${table}')`);
  return {};
};
const cancelOne = async ({ engine, call }: Session, id: JobId, because?: string): Promise<Told> => {
  const cancelled = await engine.cancel([id], because, call);
  return { cancelled, ended: cancelled === 1 ? [{ id, state: "cancelled" }] : [] };
};
const enqueue = (
  name: string,
  job: (scene: Scene) => Omit<NewJob, "queue" | "type"> & { type?: string },
  more: Partial<Verb> = {},
): Verb => ({
  name,
  run: async ({ engine, call }, scene) => ({
    enqueued: [await engine.enqueue({ queue: scene.queue, type: scene.type, ...job(scene) }, call)],
  }),
  refuses: whereClosed,
  ...more,
});
const claim = (name: string, limit: number, more: object = {}): Verb => ({
  name,
  run: async ({ engine, call }, { queue }) => ({
    claimed: await engine.claim({ queues: [queue], limit, ...more }, call),
  }),
});
const far = new Date("2199-01-01");
/** Give the held job back until something happens. */
const suspend = async ({ engine, call }: Session, { held: { id, token } }: Scene, wait: Wait): Promise<Told> => {
  const settlement = { token, outcome: "suspended", jobs: [id], waits: [wait], steps: [] } as const;
  const { refused } = await engine.settle([settlement], undefined, call);
  return refused.length > 0 ? { lost: [{ id, token }] } : { said: "suspended" };
};
/** Enqueue a child of the held job; nothing when it is not held any more. */
const startChild = async ({ engine, call }: Session, { held, queue, type }: Scene): Promise<Told> => {
  try {
    const [id] = await engine.stepStart(held, "child", [{ type, queue }], call);
    return { enqueued: [{ id: id!, duplicate: false }] };
  } catch (error) {
    if (error instanceof LeaseLostError) return { lost: [held] };
    throw error;
  }
};

export const nothing: Verb = { name: "nothing", run: () => Promise.resolve({}) };

export const verbs: readonly Verb[] = [
  nothing,
  enqueue("enqueue", ({ group }) => group("d"), { neverWaits: true }),
  enqueue("enqueue behind the held job", ({ group }) => group("a"), { neverWaits: true }),
  enqueue("enqueue later", ({ group, soonSeconds }) => ({ delaySeconds: soonSeconds, ...group("a") }), {
    neverWaits: true,
  }),
  enqueue("enqueue with a time to live", ({ group, soonSeconds }) => ({ ttlSeconds: soonSeconds, ...group("a") }), {
    neverWaits: true,
  }),
  enqueue("enqueue staged", ({ group }) => ({ stage: "gate", ...group("a") }), { neverWaits: true, joinsLater: true }),
  enqueue("enqueue in a new lane", ({ group }) => ({ type: "new", ...group("a") }), { neverWaits: true }),
  enqueue("enqueue: beside the failed job", ({ group }) => ({ fingerprint: "failed", ...group("a") })),
  {
    name: "enqueue: replace the waiting job",
    run: async ({ engine, call }, { queue, type, group }) => {
      const input = { replaced: true };
      const enqueued = await engine.enqueue(
        { queue, type, input, fingerprint: "waiting", fingerprintMode: "replace", ...group("c") },
        call,
      );
      return { enqueued: [enqueued], replaced: enqueued.duplicate ? [{ id: enqueued.id, input }] : [] };
    },
    refuses: whereClosed,
  },
  enqueue("enqueue: debounce the waiting job", ({ group }) => ({
    delaySeconds: 20,
    fingerprint: "waiting",
    fingerprintMode: "debounce",
    ...group("c"),
  })),
  enqueue("enqueue: debounce the delayed job", ({ group }) => ({
    delaySeconds: 20,
    fingerprint: "delayed",
    fingerprintMode: "debounce",
    ...group("d"),
  })),
  enqueue(
    "enqueue: follow up the held job",
    ({ group }) => ({ fingerprint: "held", fingerprintMode: "followUp", ...group("a") }),
    { joinsLater: true },
  ),
  {
    name: "enqueue many",
    run: async ({ engine, call }, { queue, type, group }) => ({
      enqueued: await engine.enqueueEach(
        (["a", "b", "c", "a", "b", "c"] as const).map((name) => ({ queue, type, ...group(name) })),
        call,
      ),
    }),
    refuses: whereClosed,
    neverWaits: true,
  },
  claim("claim one", 1),
  claim("claim all", 100, { trackStart: true }),
  {
    name: "enqueue, claim and enqueue",
    run: async ({ engine, call }, { queue, type, group }) => {
      const before = await engine.enqueue({ queue, type, ...group("b") }, call);
      const claimed = await engine.claim({ queues: [queue], limit: 100 }, call);
      const after = await engine.enqueue({ queue, type, ...group("b") }, call);
      return { enqueued: [before, after], claimed };
    },
    refuses: whereClosed,
  },
  {
    name: "claim from a new lane",
    run: async ({ engine, call, beside }, { queue, group }) => {
      const enqueued = await beside.enqueueMany("new", [1, 2], { queue, ...group("a") });
      const known = await beside.claim({ queues: [queue], types: ["new"] });
      return { enqueued, claimed: [...known, ...(await engine.claim({ queues: [queue], types: ["new"] }, call))] };
    },
    refuses: whereClosed,
  },
  {
    name: "settle and claim",
    run: async ({ engine, call }, { queue, held }) => {
      const { refused, claimed } = await engine.settle(
        [{ token: held.token, outcome: "succeeded", jobs: [held.id] }],
        { queues: [queue], limit: 2 },
        call,
      );
      return { claimed, ...(refused.length > 0 ? { lost: [held] } : { ended: [{ id: held.id, state: "succeeded" }] }) };
    },
  },
  {
    name: "extend",
    run: async ({ engine, call }, { held }) => {
      const left = (await engine.claimExtend([held.token], 30, call)).get(held.token);
      return left?.jobIds.includes(held.id) ? { said: "extended" } : { lost: [held] };
    },
  },
  {
    name: "complete",
    run: async ({ engine, call }, { held, neighbour, neighbourToken }) => {
      const ids = neighbourToken === held.token ? [held.id, neighbour] : [held.id];
      const refused = await engine.completeMany(held.token, ids, undefined, call);
      return {
        ended: ids.filter((id) => !refused.includes(id)).map((id) => ({ id, state: "succeeded" })),
        lost: refused.map((id) => ({ id, token: held.token })),
      };
    },
  },
  {
    name: "fail",
    run: ({ engine, call }, { held }) =>
      report((job) => engine.fail(job, { message: "bad input" }, call), held, "failed"),
  },
  {
    name: "dead letter",
    run: ({ engine, call }, { held, dead }) =>
      report((job) => engine.deadLetter(job, dead!, { message: "bad input" }, call), held, "failed"),
    aboutDeadLetters: true,
  },
  {
    name: "retry now",
    run: ({ engine, call }, { held }) => report((job) => engine.retryLater(job, { message: "again" }, 0, call), held),
  },
  {
    name: "retry later",
    run: ({ engine, call }, { held, soonSeconds }) =>
      report((job) => engine.retryLater(job, { message: "again" }, soonSeconds * 4, call), held),
  },
  { name: "release", run: ({ engine, call }, { held }) => report((job) => engine.release(job, 0, call), held) },
  {
    name: "release later",
    run: ({ engine, call }, { held, soonSeconds }) => report((job) => engine.release(job, soonSeconds * 4, call), held),
  },
  {
    name: "complete the far job",
    run: ({ engine, call }, scene) => farReport(scene, (job) => engine.complete(job, undefined, call), "succeeded"),
  },
  {
    name: "retry the far job",
    run: ({ engine, call }, scene) => farReport(scene, (job) => engine.retryLater(job, { message: "again" }, 1, call)),
  },
  {
    name: "release the far job",
    run: ({ engine, call }, scene) => farReport(scene, (job) => engine.release(job, 0, call)),
  },
  {
    name: "write a checkpoint",
    run: async ({ engine, call }, { held }) => {
      const steps = [{ key: "one", kind: "done", json: "1" }] as const;
      const refused = await engine.stepsPut([{ token: held.token, job: held.id, steps }], call);
      return refused.length > 0 ? { lost: [held] } : { said: "written" };
    },
  },
  {
    name: "suspend for a while",
    run: (session, scene) => suspend(session, scene, { key: "nap", seconds: scene.soonSeconds * 4 }),
  },
  { name: "suspend for a signal", run: (session, scene) => suspend(session, scene, { key: "go", signals: ["go"] }) },
  {
    name: "suspend for a child",
    run: async (session, scene) => {
      const started = await startChild(session, scene);
      return started.lost ? started : { ...started, ...(await suspend(session, scene, { key: "child", children: 1 })) };
    },
    refuses: whereChildless,
    sheds: true, // a child ends with its parent
  },
  { name: "start a child", run: startChild, refuses: whereChildless, sheds: true },
  {
    name: "tell the held job",
    run: ({ engine, call }, { held }) => said(engine.tell(held.id, "go", undefined, call)),
    refuses: () => [ended],
  },
  { name: "deliver", run: (session) => said(query(session, "select notices_deliver()")) },
  {
    name: "set visibility",
    run: ({ engine, call }, { held }) => report((job) => engine.setVisibility(job, 20, call), held),
  },
  {
    name: "set visibility to now",
    run: ({ engine, call }, { held }) => report((job) => engine.setVisibility(job, 0, call), held),
  },
  { name: "cancel the held job", run: (session, { held }) => cancelOne(session, held.id, "no longer needed") },
  { name: "cancel the waiting job", run: (session, { waiting }) => cancelOne(session, waiting) },
  { name: "cancel the due job", run: (session, { due }) => cancelOne(session, due) },
  { name: "cancel the staged job", run: (session, { staged }) => cancelOne(session, staged) },
  {
    name: "cancel many",
    run: async ({ engine, call }, { held, waiting, expiring, due, delayed, staged }) => {
      const ids = [held.id, waiting, expiring, due, delayed, staged];
      return {
        cancelled: await engine.cancel(
          Array.from({ length: 120 }, (_, i) => ids[i % ids.length]!),
          undefined,
          call,
        ),
      };
    },
  },
  { name: "run the delayed job now", run: ({ engine, call }, { delayed }) => said(engine.runNow([delayed], call)) },
  {
    name: "run all now",
    run: ({ engine, call }, { ids }) => said(engine.runNow(ids, call)),
  },
  {
    name: "cancel where",
    run: async ({ engine, call }, { queue, type }) => ({ cancelled: await engine.cancelWhere({ queue, type }, call) }),
  },
  {
    name: "add retries",
    run: ({ engine, call }, { type, queue }) => said(engine.retry(2, { type, queue }, call)),
    revives: true,
    refuses: whereClosed,
  },
  {
    name: "add retries to the failed job",
    run: ({ engine, call }, { failed }) => said(engine.retry(1, { ids: [failed] }, call)),
    revives: true,
    refuses: whereClosed,
  },
  {
    name: "retry failures at a rate",
    run: ({ engine, call }, { queue }) => said(engine.failureRetry({ queue, perSecond: 0.1 }, call)),
    revives: true,
    refuses: whereClosed,
  },
  {
    name: "replay",
    run: ({ engine, call }, { queue }) => said(engine.replay({ since: new Date(0), queue }, call)),
    refuses: whereClosed,
  },
  {
    name: "redrive",
    run: ({ engine, call }, { dead }) => said(engine.queueRedrive(dead!, {}, call)),
    aboutDeadLetters: true,
    refuses: whereClosed,
  },
  { name: "reset the breaker", run: ({ engine, call }, { queue }) => said(engine.breakerReset({ queue }, call)) },
  {
    name: "discard",
    run: ({ engine, call }, { failed, expiring }) => said(engine.discard([failed, expiring], {}, call)),
  },
  { name: "purge", run: async ({ engine, call }, { queue }) => ({ cancelled: await engine.queuePurge(queue, call) }) },
  { name: "purge, lane by lane", run: (session, { queue }) => said(purgeInSteps(session, queue)), sheds: true },
  { name: "shed", run: ({ engine, call }, { queue }) => said(engine.queueShed(queue, far, {}, call)), sheds: true },
  {
    name: "shed up to the middle",
    run: ({ engine, call }, { queue, middle }) => said(engine.queueShed(queue, middle, {}, call)),
    sheds: true,
  },
  {
    name: "shed the type",
    run: ({ engine, call }, { queue, type }) => said(engine.queueShed(queue, far, { type }, call)),
    sheds: true,
  },
  {
    name: "shed the group",
    run: ({ engine, call }, { queue }) => said(engine.queueShed(queue, far, { group: "a" }, call)),
    sheds: true,
  },
  {
    name: "set aside",
    run: ({ engine, call }, { queue }) => said(engine.queueSetAside(queue, {}, call)),
    refuses: whereGrouped,
    setsAside: true,
  },
  {
    name: "set aside the type",
    run: ({ engine, call }, { queue, type }) => said(engine.queueSetAside(queue, { type }, call)),
    refuses: whereGrouped,
    setsAside: true,
  },
  {
    name: "release the stage",
    run: ({ engine, call }, { queue }) => said(engine.stageRelease(queue, "gate", {}, call)),
  },
  {
    name: "cancel the stage",
    run: async ({ engine, call }, { queue }) => ({ cancelled: await engine.stageCancel(queue, "gate", {}, call) }),
  },
  {
    name: "close",
    run: async ({ engine, call }, { queue }) => {
      await engine.queueClose(queue, {}, call);
      return { closed: true };
    },
    refuses: () => [closed],
    closes: true,
  },
  {
    name: "open",
    run: ({ engine, call }, { queue }) => said(engine.queueOpen(queue, {}, call)),
    refuses: () => [invalid, closed],
  },
  { name: "pause", run: (session, scene) => pause(session, scene, {}), pauses: true },
  {
    name: "resume",
    run: ({ engine, call }, { queue }) => said(engine.queueResume(queue, {}, call)),
    refuses: () => [invalid],
  },
  { name: "pause the type", run: (session, scene) => pause(session, scene, { type: scene.type }), pauses: true },
  { name: "pause the group", run: (session, scene) => pause(session, scene, { group: "a" }), pauses: true },
  {
    name: "resume the group",
    run: ({ engine, call }, { queue }) => said(engine.queueResume(queue, { group: "a" }, call)),
    refuses: () => [invalid],
  },
  { name: "maintain", run: ({ engine, call }) => said(engine.maintain(call)) },
  { name: "rest the lanes", run: (session) => said(query(session, "select lanes_rest()")) },
  { name: "promote", run: (session) => said(query(session, "select agenda_promote(1000)")) },
  { name: "reap", run: (session) => said(query(session, "select claim_reap(1000)")) },
  { name: "return the postponed", run: (session) => said(query(session, "select postponed_return()")) },
  { name: "sweep", run: (session) => said(query(session, "select expiry_sweep_run(10000)")) },
  {
    name: "rotate tickets",
    run: async (session) => ({ emptied: ((await query(session, "select ticket_rotate() as n")) as { n: number }).n }),
    locksTables: true,
  },
  {
    name: "rotate jobs",
    run: async (session) => {
      let emptied = 0;
      while (emptied < 5 && ((await query(session, "select job_rotate() as n")) as { n: number }).n === 1) emptied += 1;
      return { said: emptied };
    },
    locksTables: true,
  },
  { name: "forget groups", run: (session) => said(query(session, "select groups_forget()")) },
  {
    name: "compact",
    run: (session) => said(query(session, "select control_compact(0) as rewritten")),
    locksTables: true,
  },
  { name: "compact the claims", run: (session) => rewrite(session, "claim"), locksTables: true },
  { name: "compact the spares", run: (session) => rewrite(session, "spare"), locksTables: true },
  { name: "compact the cursors", run: (session) => rewrite(session, "lane_cursor"), locksTables: true },
  {
    name: "look at the depth, read only",
    run: async ({ beside, besideClient }, { queue }) => {
      await besideClient.query("begin read only");
      try {
        return { said: await beside.queueDepth(queue) };
      } finally {
        await besideClient.query("rollback");
      }
    },
  },
];

/** Steps of one lane, each in a transaction of its own; in that of a caller, one step for all. */
async function purgeInSteps({ engine, client, call }: Session, queue: string): Promise<number> {
  if (call.tx) return (await engine.queuePurgeStep(queue, {}, call)).jobs;
  let from: unknown[] = [null, null, null];
  for (let jobs = 0; ;) {
    const { rows } = await client.query<Record<"purged" | "before" | "since" | "after", string> & { more: boolean }>(
      `select purged, more, before::text, since, after
         from millrace.queue_purge_step($1, $2::timestamptz, $3, $4, p_most => 1)`,
      [queue, ...from],
    );
    const { purged, more, before, since, after } = rows[0]!;
    jobs += Number(purged);
    if (!more) return jobs;
    from = [before, since, after];
  }
}
