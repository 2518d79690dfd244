import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { migrate } from "../../src/db/migrate.js";
import type { ClaimedJob, JobId } from "../../src/db/types.js";
import { CrashingServer, type Life } from "./crashing-server.js";
import { isDisconnect, openEnds } from "./findings.js";
import { Random } from "./random.js";
import { smallRing } from "./simulation.js";

const seed = Number(process.env["SIMULATION_SEED"] ?? Date.now() % 1_000_000);
const crashes = 2;
const leaseSeconds = 0.7;
const drainMs = 40_000;
const drainingClaim = 100;

describe(`a server that is killed (seed ${seed})`, () => {
  const server = new CrashingServer();
  beforeAll(async () => {
    await server.start();
    await migrate(server.life.pool, { release: smallRing() });
  });
  afterAll(() => server.end());

  it(
    "keeps every acknowledged job and outcome, and ends every job once [#23] [invariant 1] [invariant 3] [invariant 7]",
    { timeout: 120_000 },
    async () => {
      const work = new Work(server, new Random(seed));
      const workers = work.begin();
      for (let crash = 0; crash < crashes; crash += 1) {
        await work.untilCrash();
        await server.crash();
        await sleep(work.random.between(0, 200));
        await server.start();
      }
      await sleep(work.random.between(200, 700));
      await work.drain();
      await workers;
      console.log(`crash seed ${seed}: ${work.describe()}`);
      expect(work.violations).toEqual(new Set());
      expect(await missingJobs(server.life.pool, work.enqueued)).toEqual([]);
      expect(await changedOutcomes(server.life.pool, work.outcomes)).toEqual([]);
      expect(await openEnds(server.life.pool, server.life.engine, ["default"])).toEqual([]);
      for (const life of Array.from({ length: crashes + 1 }, (_, i) => i))
        expect(work.endedIn(life)).toBeGreaterThan(0);
    },
  );
});

type Outcome = "succeeded" | "failed";

/** Producers, claimers and maintenance that go on across crashes and remember what they were told. */
class Work {
  readonly violations = new Set<string>();
  /** Every job whose enqueue was acknowledged. */
  readonly enqueued = new Set<JobId>();
  /** Every outcome that was acknowledged. */
  readonly outcomes = new Map<JobId, Outcome>();
  /** The last delivery of each job. */
  readonly #deliveries = new Map<JobId, { readonly attempt: number; readonly life: number }>();
  readonly #endedIn: number[] = [];
  #handedOutAgain = 0;
  #refused = 0;
  #interrupted = 0;
  #claims = 0;
  #producing = true;
  #claiming = true;

  constructor(
    readonly server: CrashingServer,
    readonly random: Random,
  ) {}

  /** The promise ends after `drain`, when everybody has. */
  begin(): Promise<unknown> {
    const isProducing = () => this.#producing;
    const isClaiming = () => this.#claiming;
    return Promise.all([
      ...Array.from({ length: 3 }, () => this.#repeat(isProducing, 60, (life) => this.#enqueue(life))),
      ...Array.from({ length: 2 }, () => this.#repeat(isProducing, 100, (life) => this.#enqueueLate(life))),
      ...Array.from({ length: 4 }, () => this.#repeat(isClaiming, 2, (life) => this.#claim(life))),
      this.#repeat(isClaiming, 50, ({ engine }) => engine.maintain()),
      this.#repeat(isClaiming, 100, ({ engine }) => engine.maintainSpace({ compactBound: 50 })),
    ]);
  }

  /** Some work must have been done in this life; then at random, often just after a claim was acknowledged. */
  async untilCrash(): Promise<void> {
    await until(() => this.endedIn(this.server.life.number) >= 30, 4000);
    await sleep(this.random.between(0, 1000));
    const claims = this.#claims;
    if (this.random.chance(0.7)) await until(() => this.#claims > claims, 300);
  }

  /** Produce no more, and claim until nothing is left; whatever is claimed from now on succeeds. */
  async drain(): Promise<void> {
    this.#producing = false;
    const { pool, engine } = this.server.life;
    await until(async () => (await openEnds(pool, engine, ["default"])).length === 0, drainMs);
    this.#claiming = false;
  }

  endedIn(life: number): number {
    return this.#endedIn[life] ?? 0;
  }

  describe(): string {
    return [
      `${this.enqueued.size} jobs acknowledged`,
      `${this.outcomes.size} outcomes acknowledged (${this.#endedIn.join(" + ")})`,
      `${this.#interrupted} calls interrupted`,
      `${this.#handedOutAgain} jobs handed out again after a crash`,
      `${this.#refused} reports refused`,
    ].join(", ");
  }

  /** Until told otherwise, and whatever happens to the server. Errors other than a lost connection are findings. */
  async #repeat(goesOn: () => boolean, pauseMs: number, step: (life: Life) => Promise<unknown>): Promise<void> {
    while (goesOn()) {
      await sleep(this.random.between(0, pauseMs));
      try {
        await step(this.server.life);
      } catch (error) {
        if (!isDisconnect(error)) this.violations.add(`error: ${String(error)}`);
        this.#interrupted += 1;
        await sleep(20);
      }
    }
  }

  async #enqueue({ engine }: Life, tx?: pg.PoolClient): Promise<readonly JobId[]> {
    const inputs = Array.from({ length: this.random.between(1, 8) }, (_, i) => i);
    const options = { maxAttempts: 1000, delaySeconds: this.random.chance(0.1) ? 0.3 : 0 };
    const ids = (await engine.enqueueMany(this.random.pick(["a", "b"]), inputs, options, tx && { tx })).map(
      ({ id }) => id,
    );
    if (!tx) this.#acknowledged(ids);
    return ids;
  }

  /** A transaction that stays open for a while: the head passes it, and a crash may meet it. */
  async #enqueueLate(life: Life): Promise<void> {
    const tx = await life.pool.connect();
    let broken = true;
    try {
      await tx.query("begin");
      const ids = [...(await this.#enqueue(life, tx))];
      await sleep(this.random.between(0, 200));
      ids.push(...(await this.#enqueue(life, tx)));
      const commits = this.random.chance(0.9);
      await tx.query(commits ? "commit" : "rollback");
      if (commits) this.#acknowledged(ids);
      broken = false;
    } finally {
      tx.release(broken);
    }
  }

  #acknowledged(ids: readonly JobId[]): void {
    for (const id of ids) this.enqueued.add(id);
  }

  async #claim(life: Life): Promise<void> {
    const jobs = await life.engine.claim({
      limit: this.random.between(1, this.#producing ? 10 : drainingClaim),
      leaseSeconds,
    });
    if (jobs.length > 0) this.#claims += 1;
    for (const job of jobs) this.#deliver(job, life);
    await sleep(this.random.between(0, 40));
    for (const token of new Set(jobs.map((job) => job.token))) {
      const ids = jobs.filter((job) => job.token === token).map((job) => job.id);
      await this.#report(token, ids, this.#producing ? this.random.next() : 0);
    }
  }

  /** An attempt may come a second time only if a crash lies between, and never after its outcome was acknowledged. */
  #deliver(job: ClaimedJob, life: Life): void {
    const before = this.#deliveries.get(job.id);
    if (this.outcomes.has(job.id)) this.violations.add("handed out after its outcome was acknowledged");
    if (before && before.attempt >= job.attempt) {
      this.#handedOutAgain += 1;
      if (before.life === life.number) this.violations.add(`handed out twice without a crash: attempt ${job.attempt}`);
    }
    this.#deliveries.set(job.id, { attempt: job.attempt, life: life.number });
  }

  /**
   * A worker that loses its connection reports again, in the next life if need be: accepted, or refused, but never for
   * another's claim.
   */
  async #report(token: string, ids: readonly JobId[], fate: number): Promise<void> {
    for (;;) {
      try {
        return await this.#reportOnce(this.server.life, token, ids, fate);
      } catch (error) {
        if (!isDisconnect(error) || !this.#claiming) throw error;
        this.#interrupted += 1;
        await sleep(20);
      }
    }
  }

  /** Most succeed, some fail, some are tried again, some are left to the reaper. */
  async #reportOnce({ engine, number }: Life, token: string, ids: readonly JobId[], fate: number): Promise<void> {
    if (fate < 0.8) {
      this.#record("succeeded", ids, await engine.completeMany(token, ids), number);
    } else if (fate < 0.88) {
      const { refused } = await engine.settle([{ token, outcome: "failed", jobs: ids, error: { message: "no" } }]);
      this.#record("failed", ids, refused, number);
    } else if (fate < 0.96) {
      await engine.settle([{ token, outcome: "retryLater", jobs: ids, delaySeconds: 0, error: { message: "again" } }]);
    }
  }

  #record(outcome: Outcome, ids: readonly JobId[], refused: readonly JobId[], life: number): void {
    const recorded = ids.filter((id) => !refused.includes(id));
    for (const id of recorded) this.outcomes.set(id, outcome);
    this.#endedIn[life] = this.endedIn(life) + recorded.length;
    this.#refused += refused.length;
  }
}

/** Wait for something, but not for ever. */
async function until(condition: () => boolean | Promise<boolean>, patienceMs: number): Promise<void> {
  const end = Date.now() + patienceMs;
  while (!(await condition()) && Date.now() < end) await sleep(1);
}

async function missingJobs(pool: pg.Pool, ids: ReadonlySet<JobId>): Promise<JobId[]> {
  const { rows } = await pool.query<{ id: JobId }>(
    "select id::text from unnest($1::bigint[]) id except select id::text from millrace.job",
    [[...ids]],
  );
  return rows.map(({ id }) => id);
}

/** Acknowledged outcomes that are not what is recorded now. */
async function changedOutcomes(pool: pg.Pool, outcomes: ReadonlyMap<JobId, Outcome>): Promise<unknown[]> {
  const { rows } = await pool.query(
    `select o.id, o.state as acknowledged, a.state as recorded
       from unnest($1::bigint[], $2::text[]) o (id, state) left join millrace.job_attempt a on a.slot = millrace.job_slot(o.id) and a.job_id = o.id and a.state is not null
      where a.state::text is distinct from o.state`,
    [[...outcomes.keys()], [...outcomes.values()]],
  );
  return rows;
}
