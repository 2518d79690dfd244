import type { Engine } from "../../src/db/engine.js";
import type { ClaimedJob, Defaults, JobId, NewJob } from "../../src/db/types.js";
import type { Clock } from "./clock.js";
import { type Combination, verbsOf } from "./combination.js";

/**
 * What every verb finds: each role is a job that at least one verb is about, so that every verb meets every other on a
 * job, a claim, a group or the lane. All are of one lane, except the far job.
 */
export interface Scene {
  readonly queue: string;
  readonly type: string;
  /** The type of the far job; its lane comes before the other one in the order of locks. */
  readonly farType: string;
  /** Where dead letters go, when a verb is about them. */
  readonly dead: string | undefined;
  /** Running, with a fingerprint. */
  readonly held: ClaimedJob;
  /**
   * Running too, under the same token where the queue allows it; ready where one job runs at a time, or when one claim
   * did not get both.
   */
  readonly neighbour: JobId;
  readonly neighbourToken: string | undefined;
  /** Running in another lane; ready where one job runs at a time. */
  readonly far: JobId;
  readonly farToken: string | undefined;
  /** Ready, with a fingerprint; and one behind it in the same group. */
  readonly waiting: JobId;
  readonly behind: JobId;
  /** Ready, with a time to start by. */
  readonly expiring: JobId;
  /** In the agenda, for a short and for a long time. */
  readonly due: JobId;
  readonly delayed: JobId;
  /** In the stage "gate". */
  readonly staged: JobId;
  /** Failed for good, with a fingerprint. */
  readonly failed: JobId;
  /** Ready, behind the held job in its group, and younger than `middle`. */
  readonly follower: JobId;
  /** All jobs in it, the oldest first. */
  readonly ids: readonly JobId[];
  /** A time after all jobs but the follower were enqueued. */
  readonly middle: Date;
  /** What the jobs of a group are enqueued with; nothing where the queue has no groups. */
  readonly group: (name: GroupName) => { group?: string; cost?: number };
  /** How long verbs let jobs wait or live: until after the lease, and before the drain. */
  readonly soonSeconds: number;
  /** What was claimed to set the scene. */
  readonly claimed: readonly ClaimedJob[];
}

type GroupName = "a" | "b" | "c" | "d" | "far";

/** What a queue is like. */
export interface State {
  readonly options: Defaults;
  /** Its jobs have groups. */
  readonly grouped?: boolean;
  /** The neighbour is of the held job's group. */
  readonly together?: boolean;
  /** How many jobs may run, of the queue and of each group. */
  readonly most?: number;
  readonly groupMost?: number;
  /** One job of a group at a time, or those of one claim; `serial`: one job of all. */
  readonly ordered?: "jobs" | "batches" | "serial";
  readonly rate?: Rate;
  readonly groupRate?: Rate;
}

interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

const rate: Rate = { perSecond: 1, burst: 12 };
const groupRate: Rate = { perSecond: 0.1, burst: 2 };

export const states = {
  plain: { options: { breaker: { failures: 1000 } } }, // counts, and never opens
  groups: { options: {}, grouped: true, together: true },
  ordered: { options: { ordered: true }, grouped: true, ordered: "jobs" },
  batches: { options: { ordered: "batches" }, grouped: true, together: true, ordered: "batches" },
  limits: { options: { maxRunning: 4, groupMaxRunning: 2 }, grouped: true, together: true, most: 4, groupMost: 2 },
  rates: { options: { rate, groupRate }, grouped: true, rate, groupRate },
  staged: { options: { finalStages: ["last"] } },
  closed: { options: {} },
  aside: { options: { freshnessSeconds: 30 } },
  serial: { options: { ordered: true, maxRunning: 1 }, ordered: "serial", most: 1 },
  costs: { options: {}, grouped: true, together: true },
  crowd: { options: {}, grouped: true, together: true },
  spares: { options: {} },
} as const satisfies Record<string, State>;

export type StateName = keyof typeof states;

/**
 * How long leases and short delays are. Between the verbs, time passes the ends of young ones only where it is told to.
 */
export function lengthsOf({ age, time }: Combination): {
  readonly lease: number;
  readonly soon: number;
  readonly long: number;
} {
  if (age === "old") return { lease: 5, soon: 5, long: 50 };
  if (time === "lease" || time === "expiry") return { lease: 30, soon: 60, long: 600 };
  return { lease: time === "retention" || time === "rotated" ? 259_200 : 1800, soon: 300, long: 600 };
}

/** Set the scene, in a queue of its own, so that one that goes wrong does not spoil the next. */
export async function setScene(
  engine: Engine,
  clock: Clock,
  query: Query,
  queue: string,
  combination: Combination,
): Promise<Scene> {
  const state: State = states[combination.state];
  const { lease, soon, long } = lengthsOf(combination);
  const resources = combination.state === "limits" ? { [`of-${queue}`]: 1 } : undefined;
  if (resources) await engine.resourcePut(`of-${queue}`, { maxRunning: 4 });
  await engine.queuePut(queue, { ...state.options, ...(resources ? { resources } : {}) });
  await clock.crowd(combination.state === "crowd" ? 1 : 64);
  const type = "work";
  const farType = await lowerLane(query, queue, resources);
  const isSerial = state.ordered === "serial";
  const group = (name: GroupName): { group?: string; cost?: number } => ({
    ...(state.grouped ? { group: name } : {}),
    ...(combination.state === "costs" ? { cost: 1 + (name.codePointAt(0)! % 4) } : {}),
  });
  const claimed: ClaimedJob[] = [];
  const claim = async (of: string, jobs: number): Promise<void> => {
    for (let tries = 0; jobs > 0 && tries < 3; tries += 1) {
      const some = await engine.claim({ queues: [queue], types: [of], limit: jobs, leaseSeconds: lease });
      claimed.push(...some);
      jobs -= some.length;
    }
  };
  const enqueue = async (...jobs: Omit<NewJob, "queue">[]): Promise<JobId[]> =>
    (await engine.enqueueEach(jobs.map((job) => ({ ...job, queue })))).map(({ id }) => id);

  if (combination.state === "crowd") {
    // A lane that has been used, and has nothing; in old scenes it is asleep.
    await enqueue({ type: "new", ...group("a") }, { type: farType }, { type });
    for (const of of ["new", farType, type]) await claim(of, 1);
    for (const job of claimed.splice(0)) await engine.complete(job);
    await clock.move(11);
    for (let rests = 0; rests < (combination.age === "old" ? 4 : 1); rests += 1) await query("select lanes_rest()", []);
  }
  const [failed] = await enqueue({ type, fingerprint: "failed", ...group("a") });
  await claim(type, 1);
  await engine.fail(claimed[0]!);
  const dead = verbsOf(combination).some((verb) => verb.aboutDeadLetters) ? `${queue}-dead` : undefined;
  const letter: JobId[] = [];
  if (dead !== undefined) {
    await engine.queuePut(dead);
    letter.push(...(await enqueue({ type, ...group("b") })));
    await claim(type, 1);
    await engine.deadLetter(claimed[1]!, dead);
  }

  const [held] = await enqueue({ type, fingerprint: "held", ...group("a") });
  const [neighbour, far] = await enqueue(
    { type, ...group(state.together ? "a" : "b") },
    { type: farType, ...group("far") },
  );
  await claim(type, isSerial ? 1 : 2);
  if (!isSerial) await claim(farType, 1);
  const [waiting] = await enqueue({ type, fingerprint: "waiting", ...group("c") });
  const [behind, expiring, due, staged] = await enqueue(
    { type, ...group("c") },
    { type, ttlSeconds: soon, ...group("d") },
    { type, delaySeconds: soon, ...group("d") },
    { type, stage: "gate", ...group("b") },
  );
  const [delayed] = await enqueue({ type, delaySeconds: long, fingerprint: "delayed", ...group("d") });
  const last = combination.state === "staged" ? await enqueue({ type, stage: "last" }, { type, stage: "gate" }) : [];
  if (combination.state === "aside") await engine.queueSetAside(queue);
  if (combination.state === "spares") await leaveSpares(query, queue, type, [waiting!, behind!, expiring!]);
  const middle = await clock.move(combination.age === "old" ? 6 : 1);
  const [follower] = await enqueue({ type, ...group("a") });
  if (combination.state === "closed") await engine.queueClose(queue);

  const tokenOf = (id: JobId | undefined): string | undefined => claimed.find((job) => job.id === id)?.token;
  const holding = claimed.find((job) => job.id === held);
  if (!holding) throw new Error("the scene could not be set: nobody holds the held job");
  return {
    queue,
    type,
    farType,
    dead,
    held: holding,
    neighbour: neighbour!,
    neighbourToken: tokenOf(neighbour),
    far: far!,
    farToken: tokenOf(far),
    waiting: waiting!,
    behind: behind!,
    expiring: expiring!,
    due: due!,
    delayed: delayed!,
    staged: staged!,
    failed: failed!,
    follower: follower!,
    ids: [
      failed!,
      ...letter,
      held!,
      neighbour!,
      far!,
      waiting!,
      behind!,
      expiring!,
      due!,
      delayed!,
      staged!,
      ...last,
      follower!,
    ],
    middle,
    group,
    soonSeconds: soon,
    claimed,
  };
}

type Query = (text: string, values: unknown[]) => Promise<readonly Record<string, unknown>[]>;

/** What a claim does for others who wait for its lane: the cursor passes these jobs, and they are left for them. */
async function leaveSpares(query: Query, queue: string, type: string, jobs: readonly JobId[]): Promise<void> {
  const [left] = await query(
    `with lane as materialized (select lane_key(id, $2, 5, null) as key from queue where name = $1),
          read as materialized (
            select l.key, track_read((select c from lane_cursor c where c.track = l.key order by c.seq desc limit 1),
              cardinality($3::bigint[]), null) as r from lane l),
          moved as materialized (select key, r, track_advance(r, cardinality((r).jobs)) as done from read),
          left_there as (
            insert into spare (lane, move, place, job_id, at, input, extras, max_attempts, start_by, deadline, linked)
            select m.key, cursor_move(((m.r).c).seq, ((m.r).c).uses) + 1, u.place, j.id, clock_now(), j.input::text,
                   case when j.tagged then extras_text(j.extras, j.headers, j.source) end, j.max_attempts, j.start_by,
                   j.deadline, j.linked
              from moved m cross join unnest((m.r).jobs) with ordinality u (id, place)
              join job_line j on j.slot = job_slot(u.id) and j.id = u.id
             where m.done
            returning job_id)
     select count(*)::int as n from left_there where job_id = any ($3)`,
    [queue, type, jobs],
  );
  if (left!["n"] !== jobs.length) throw new Error("the scene could not be set: the jobs to be left come later");
}

/**
 * A type whose lane comes before that of "work" in the order of locks; lanes are hashes, and all but a few have such a
 * type among sixty.
 */
async function lowerLane(query: Query, queue: string, resources: object | undefined): Promise<string> {
  const [row] = await query(
    `select 'far' || n as type from queue q, generate_series(1, 60) n
      where q.name = $1 order by lane_key(q.id, 'far' || n, 5, $2) > lane_key(q.id, 'work', 5, $2), n limit 1`,
    [queue, resources === undefined ? null : JSON.stringify(resources)],
  );
  return row!["type"] as string;
}
