import type pg from "pg";
import { expect } from "vitest";
import type { JobId, JobState } from "../../src/db/types.js";
import type { TestDatabase } from "../support/database.js";
import type { Scene, Verb } from "./verbs.js";

export type Ending = "commit" | "rollback";

/** What was seen of one pair; the invariants have been checked when it is returned. */
export interface PairReport {
  readonly first: unknown;
  readonly second: unknown;
  /** The second verb waited for the first one's transaction. */
  readonly waited: boolean;
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
         (select count(*)::int from attempt a left join amendment m on m.slot = a.slot and m.job_id = a.job_id
           where a.slot = job_slot(v.id) and a.job_id = v.id and a.state is not null and a.attempt > coalesce(m.revived_after, 0)) as finals,
         (select count(*)::int from attempt a where a.slot = job_slot(v.id) and a.job_id = v.id and a.state is not null) as finals_ever,
         (select count(*)::int from claim c cross join unnest(c.jobs) u (id) where u.id = v.id) as claims
    from jobs v where v.id >= $1 and v.queue = $2 order by v.id`;

const finalStates: ReadonlySet<JobState> = new Set(["succeeded", "failed", "expired", "cancelled"]);

/** Two sessions for the verbs, one to watch them with. */
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
    const report = { first: firstResult, second: await secondResult, waited };

    const promises = [...(ending === "commit" ? [first.decides?.(report.first, scene)] : []), second.decides?.(report.second, scene)];
    const isRevived = first.revives || second.revives;
    const states = await this.#checkBooks(scene);
    if (!isRevived) for (const promise of promises) if (promise) expect(states.get(promise.id), "the state its caller was promised").toBe(promise.state);
    await this.#drain(scene, states);
    return report;
  }

  async #setScene(): Promise<Scene> {
    const { engine } = this.#db;
    this.#scenes += 1;
    const queue = `q${this.#scenes}`;
    const type = "work";
    await engine.queuePut(queue);
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
  async #checkBooks(scene: Scene): Promise<Map<JobId, JobState>> {
    const before = await this.#jobs(scene);
    await this.#db.engine.maintain();
    const jobs = await this.#jobs(scene);
    for (const job of [...before, ...jobs]) {
      expect(job.state_alone, `job_state of a job the view shows as ${job.state}`).toBe(job.state);
      expect(job.claims, "live claims of one job").toBeLessThanOrEqual(1);
      expect(job.finals, "final outcomes of one job").toBeLessThanOrEqual(1);
      expect(job.finals_ever, "final outcomes of one job over its lives").toBeLessThanOrEqual(2);
    }
    const count = (state: JobState): number => jobs.filter((job) => job.state === state).length;
    const [row] = await this.#db.sql(
      `select d.ready::int, d.delayed::int, d.running::int, q.waiting::int, q.delayed::int as agenda
         from queue_depth($1) d, queues q where q.name = $1`,
      [scene.queue],
    );
    expect(row, "depth, and the jobs the view shows").toEqual({
      ready: count("ready"),
      delayed: count("delayed"),
      running: count("running"),
      waiting: count("ready"),
      agenda: count("delayed"),
    });
    return new Map(jobs.map((job) => [job.id, job.state]));
  }

  /** Work until nothing is left: every job must end, and what had ended must stay as it was. */
  async #drain(scene: Scene, before: ReadonlyMap<JobId, JobState>): Promise<void> {
    const { engine } = this.#db;
    for (let round = 0; round < 6; round += 1) {
      await this.#moveClock(60);
      for (let left = 20; left > 0; left -= 1) {
        const claimed = await engine.claim({ queues: [scene.queue], limit: 100 });
        if (claimed.length === 0) break;
        const refused = await engine.settle(claimed.map(({ token, id }) => ({ token, outcome: "succeeded", jobs: [id] })));
        expect(refused.refused, "refused in the drain, where nobody else is at work").toEqual([]);
      }
      if ((await this.#jobs(scene)).every(({ state }) => finalStates.has(state))) break;
    }
    const after = await this.#checkBooks(scene);
    for (const [id, state] of after) {
      expect(finalStates, "states after the drain").toContain(state);
      const earlier = before.get(id);
      if (earlier !== undefined && finalStates.has(earlier)) expect(state, `the end of a job that had ended as ${earlier}`).toBe(earlier);
    }
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

/**
 * A ring child of tickets holds 262,144 transactions; no test comes near the second one. With 8 instead, every pair crosses
 * from child to child and the ring goes round every 64 transactions. The number is all that is changed.
 */
async function narrowRing(db: TestDatabase): Promise<void> {
  const rows = await db.sql<{ text: string }>(`
    select pg_get_functiondef(p.oid) as text from pg_proc p
     where p.pronamespace = 'millrace'::regnamespace and p.proname in ('ticket_slot', 'track_read') and p.prosrc ~ '(>>|<<) 18'`);
  expect(rows).toHaveLength(2);
  for (const { text } of rows) await db.sql(text.replaceAll(/(>>|<<) 18/g, "$1 3"));
}
