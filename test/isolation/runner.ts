import type pg from "pg";
import { expect } from "vitest";
import type { JobId, JobState } from "../../src/db/types.js";
import type { TestDatabase } from "../support/database.js";
import type { Scene, Verb } from "./verbs.js";

export type Ending = "commit" | "rollback";

/** What was seen of one pair. */
export interface PairReport {
  readonly first: unknown;
  readonly second: unknown;
  /** The second verb waited for the first one's transaction. */
  readonly waited: boolean;
  /** What is wrong; all of it, because the second fault often explains the first. */
  readonly faults: readonly string[];
}

interface JobRow {
  readonly id: JobId;
  readonly state: JobState;
  readonly state_alone: JobState;
  /** Final outcomes since the job was last given another life, and all of them. */
  readonly finals: number;
  readonly finals_ever: number;
  readonly claims: number;
}

const jobsQuery = `
  select v.id, v.state, job_state(v.id) as state_alone,
         (select count(*)::int from job_attempt a left join amendment m on m.slot = a.slot and m.job_id = a.job_id
           where a.slot = job_slot(v.id) and a.job_id = v.id and a.state is not null and a.attempt > coalesce(m.revived_after, 0)) as finals,
         (select count(*)::int from attempt a where a.slot = job_slot(v.id) and a.job_id = v.id and a.state is not null)
           + (select count(*)::int from streak s where s.first_place <= job_place(v.id) and s.first_place + s.length > job_place(v.id)) as finals_ever,
         (select count(*)::int from claim c cross join unnest(c.jobs) u (id) where u.id = v.id) as claims
    from jobs v where v.id >= $1 and v.queue = $2 order by v.id`;

const depthQuery = `
  select d.ready::int, d.delayed::int, d.running::int, q.waiting::int, q.delayed::int as agenda from queue_depth($1) d, queues q where q.name = $1`;

const finalStates: ReadonlySet<JobState> = new Set(["succeeded", "failed", "expired", "cancelled"]);

/** Two sessions for the verbs, one to watch them with. Every pair has a queue of its own, so that one that fails does not spoil the next. */
export class PairRunner {
  readonly #db: TestDatabase;
  #first!: pg.Client;
  #second!: pg.Client;
  #watcher!: pg.Client;
  #secondPid = 0;
  #scenes = 0;

  constructor(db: TestDatabase) {
    this.#db = db;
  }

  async open(): Promise<void> {
    await this.#db.moveClock(0);
    await narrowRing(this.#db);
    this.#first = await this.#db.connect();
    this.#second = await this.#db.connect();
    this.#watcher = await this.#db.connect();
    await this.#watcher.query("set plan_cache_mode = force_generic_plan"); // the view reads 100 tables: planning it takes longer than running it
    const { rows } = await this.#second.query("select pg_backend_pid() as pid");
    this.#secondPid = Number(rows[0].pid);
  }

  /** `first` runs in a transaction that stays open until `second` has ended or waits; then it ends as told, and the books must balance. */
  async run(first: Verb, second: Verb, ending: Ending): Promise<PairReport> {
    const { engine } = this.#db;
    const scene = await this.#setScene();

    await this.#first.query("begin");
    let firstResult: unknown;
    let secondResult: Promise<unknown>;
    let waited: boolean;
    try {
      firstResult = await first.run({ engine, tx: this.#first }, scene);
      secondResult = second.run({ engine, tx: this.#second }, scene);
      secondResult.catch(() => {});
      waited = await this.#endsOrWaits(secondResult);
    } finally {
      await this.#first.query(ending);
    }
    const results = { first: firstResult, second: await secondResult, waited };

    const faults: string[] = [];
    this.#checkJobs(scene, await this.#jobs(scene), faults);
    const states = await this.#checkBooks(scene, faults);
    if (!first.revives && !second.revives) {
      const promises = [ending === "commit" ? first.decides?.(results.first, scene) : undefined, second.decides?.(results.second, scene)];
      for (const promise of promises) {
        if (promise && states.get(promise.id) !== promise.state) faults.push(`a caller was promised ${promise.state}, the job is ${states.get(promise.id)}`);
      }
    }
    await this.#drain(scene, states, faults);
    return { ...results, faults };
  }

  async #setScene(): Promise<Scene> {
    const { engine } = this.#db;
    this.#scenes += 1;
    const queue = `q${this.#scenes}`;
    const type = "work";
    await engine.queuePut(queue, { breaker: { failures: 1000 } }); // counts, and never opens
    const { id: failed } = await engine.enqueue({ queue, type });
    const [lost] = await engine.claim({ queues: [queue] });
    await engine.fail(lost!);
    await engine.enqueue({ queue, type, fingerprint: "held" });
    await engine.enqueue({ queue, type });
    const [held, neighbour] = await engine.claim({ queues: [queue], limit: 2, leaseSeconds: 5 });
    const { id: waiting } = await engine.enqueue({ queue, type, fingerprint: "waiting" });
    const { id: expiring } = await engine.enqueue({ queue, type, ttlSeconds: 5 });
    const { id: due } = await engine.enqueue({ queue, type, delaySeconds: 5 });
    const { id: delayed } = await engine.enqueue({ queue, type, delaySeconds: 50, fingerprint: "delayed" });
    await this.#moveClock(6);
    return { queue, type, held: held!, neighbour: neighbour!, waiting, expiring, due, delayed, failed };
  }

  /** Ask the database itself, so that a slow machine is not taken for a wait. */
  async #endsOrWaits(second: Promise<unknown>): Promise<boolean> {
    let hasEnded = false;
    const ended = second
      .then(
        () => {},
        () => {},
      )
      .then(() => void (hasEnded = true));
    for (let i = 0; i < 2000; i += 1) {
      await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 2))]);
      if (hasEnded) return false;
      const { rows } = await this.#watcher.query({
        name: "waits",
        text: "select wait_event_type = 'Lock' as waits from pg_stat_activity where pid = $1",
        values: [this.#secondPid],
      });
      if (rows[0].waits) return true;
    }
    throw new Error("the second session neither ended nor waited for a lock");
  }

  /** What must hold whenever nobody is in the middle of something. Returns the jobs' states. */
  async #checkBooks(scene: Scene, faults: string[]): Promise<Map<JobId, JobState>> {
    await this.#db.engine.maintain(); // expiry and due times count from the next maintenance on
    const jobs = await this.#jobs(scene);
    this.#checkJobs(scene, jobs, faults);

    const count = (state: JobState): number => jobs.filter((job) => job.state === state).length;
    const { rows } = await this.#watcher.query({ name: "depth", text: depthQuery, values: [scene.queue] });
    const { ready, delayed, running, waiting, agenda } = rows[0];
    const shown = `ready ${count("ready")}, delayed ${count("delayed")}, running ${count("running")}`;
    const depth = `ready ${ready}, delayed ${delayed}, running ${running}`;
    if (depth !== shown) faults.push(`depth says ${depth}; the view shows ${shown}`);
    if (waiting < 0 || agenda < 0) faults.push(`counts below zero: ready ${waiting}, delayed ${agenda}`);
    return new Map(jobs.map((job) => [job.id, job.state]));
  }

  #checkJobs(scene: Scene, jobs: readonly JobRow[], faults: string[]): void {
    for (const { id, state, state_alone, claims, finals, finals_ever } of jobs) {
      const job = roleOf(id, scene);
      if (state_alone !== state) faults.push(`${job}: the view shows ${state}, job_state ${state_alone}`);
      if (claims > 1) faults.push(`${job} is in ${claims} live claims`);
      if (finals > 1 || finals_ever > 2) faults.push(`${job} has ${finals} final outcomes, ${finals_ever} over its lives`);
    }
  }

  /** Work until nothing is left: every job must end, and what had ended must stay as it was. */
  async #drain(scene: Scene, before: ReadonlyMap<JobId, JobState>, faults: string[]): Promise<void> {
    let after: ReadonlyMap<JobId, JobState> = before;
    for (let round = 0; round < 4; round += 1) {
      await this.#moveClock(60); // past every lease and delay of a scene
      await this.#work(scene, before, faults);
      after = await this.#checkBooks(scene, faults);
      if ([...after.values()].every((state) => finalStates.has(state))) break;
    }
    for (const [id, state] of after) {
      const ended = before.get(id);
      if (!finalStates.has(state)) faults.push(`${roleOf(id, scene)} is ${state} after the drain`);
      else if (ended !== undefined && finalStates.has(ended) && state !== ended) faults.push(`${roleOf(id, scene)} was ${ended} and is now ${state}`);
    }
  }

  async #work(scene: Scene, before: ReadonlyMap<JobId, JobState>, faults: string[]): Promise<void> {
    const { engine } = this.#db;
    for (let left = 20; left > 0; left -= 1) {
      const claimed = await engine.claim({ queues: [scene.queue], limit: 100 });
      if (claimed.length === 0) return;
      for (const { id } of claimed) {
        const ended = before.get(id);
        if (ended !== undefined && finalStates.has(ended)) faults.push(`${roleOf(id, scene)} was ${ended} and is handed out`);
      }
      const { refused } = await engine.settle(claimed.map(({ token, id }) => ({ token, outcome: "succeeded", jobs: [id] })));
      for (const id of refused) faults.push(`${roleOf(id, scene)} is handed out and its completion refused, with nobody else at work`);
    }
    faults.push("the drain found no end");
  }

  async #jobs(scene: Scene): Promise<JobRow[]> {
    const { rows } = await this.#watcher.query<JobRow>({ name: "jobs", text: jobsQuery, values: [scene.failed, scene.queue] });
    return rows;
  }

  /** Not moveClock: that replaces the clock's function, and every session would plan everything again. */
  async #moveClock(seconds: number): Promise<void> {
    await this.#db.sql("update public.test_clock set ahead = ahead + make_interval(secs => $1)", [seconds]);
  }
}

function roleOf(id: JobId, scene: Scene): string {
  const roles = { ...scene, held: scene.held.id, neighbour: scene.neighbour.id };
  const role = Object.entries(roles).find(([, value]) => value === id)?.[0];
  return role === undefined ? "the new job" : `the ${role} job`;
}

/**
 * A ring child of tickets holds 262,144 transactions; no test comes near the second one. With 8 instead, every pair crosses
 * from child to child and the ring goes round every 64 transactions. The number is all that is changed.
 */
async function narrowRing(db: TestDatabase): Promise<void> {
  const rows = await db.sql<{ text: string }>(`
    select pg_get_functiondef(p.oid) as text from pg_proc p
     where p.pronamespace = 'millrace'::regnamespace and p.prosrc ~ '(>>|<<) 18'`);
  expect(rows).toHaveLength(7);
  for (const { text } of rows) await db.sql(text.replaceAll(/(>>|<<) 18/g, "$1 3"));
}
