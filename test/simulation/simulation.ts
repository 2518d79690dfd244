import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { Engine } from "../../src/db/engine.js";
import { MillraceError } from "../../src/db/errors.js";
import { migrate, thisRelease } from "../../src/db/migrate.js";
import type { Release } from "../../src/db/schema-version.js";
import type { ClaimedJob } from "../../src/db/types.js";
import { isDisconnect, openEnds } from "./findings.js";
import { OverlapWriter, overlapQueue } from "./overlap.js";
import { Random } from "./random.js";

export interface SimulationOptions {
  readonly url: string;
  readonly seed: number;
  readonly seconds: number;
  /** Largest claim; small ones make half-taken late transactions likely. */
  readonly largestClaim: number;
  /**
   * How likely a transaction stays open after it wrote, for how long at most, and how many jobs such a one has at most.
   */
  readonly late: { readonly probability: number; readonly ms: number; readonly jobs: number };
  /** How many producers there are, besides two of overlapping transactions. */
  readonly producers: number;
  /** Longest pause of a producer between two transactions, so that claimers keep up. */
  readonly paceMs: number;
  /**
   * Go on after the seconds, for ten times as long at most, until what makes a run worth something has happened.
   * Default false.
   */
  readonly untilCovered?: boolean;
  /** End with the first violation instead of after all the seconds. Default false. */
  readonly stopAtFirst?: boolean;
  /** How many groups most jobs belong to; 0 for none. Default 0. */
  readonly groups?: number;
  /** Some jobs cost more than others, so that groups owe and are passed over. Default false. */
  readonly costs?: boolean;
  /** Set what waits aside, again and again, also in the middle of transactions that write and claim. Default false. */
  readonly setAside?: boolean;
  /** Terminate sessions at random. Default true. */
  readonly kill?: boolean;
  /** The SQL to run; tests give mutants. */
  readonly release?: Release;
}

export interface SimulationResult {
  readonly jobs: number;
  readonly delivered: number;
  readonly killed: number;
  readonly ticketChildrenEmptied: number;
  readonly compactions: number;
  /** How many ranges were set aside. */
  readonly asides: number;
  /** How many overlapping transactions were half taken when an older one committed; see OverlapWriter. */
  readonly halfTaken: number;
  /** What went wrong; empty when everything holds. */
  readonly violations: readonly string[];
}

/**
 * This release with ring children of 64 transactions instead of 262,144, so that seconds are enough to go round the
 * ring several times, over backlogs that still stand in it.
 */
export function smallRing(release: Release = thisRelease): Release {
  return withText(release, (text) => replaceAll(replaceAll(text, ">> 18", ">> 6"), "<< 18", "<< 6"));
}

export function withText(release: Release, change: (text: string) => string): Release {
  const functionsText = change(release.functionsText);
  if (functionsText === release.functionsText) throw new Error("the mutation changed nothing");
  return { ...release, functionsText, functionsChecksum: `${release.functionsChecksum}*` };
}

function replaceAll(text: string, from: string, to: string): string {
  if (!text.includes(from)) throw new Error(`nothing to mutate: ${from}`);
  return text.replaceAll(from, to);
}

const leaseSeconds = 0.7;

/**
 * No wait for a connection or a statement is longer than this; one that is counts as a violation, not as a test that
 * hangs.
 */
const patienceMs = 20_000;

/**
 * How long after the end of all producers everything must be drained, and how large claims are then: the backlog of a
 * long run is long.
 */
const drainMs = 60_000;
const drainingClaim = 100;

/**
 * Producers that sleep, roll back, write twice and overlap; claimers that finish, retry, give back and vanish;
 * maintenance, rotation and compaction all the while; sessions killed at random. Afterwards everything is drained and
 * counted.
 */
export async function simulate(options: SimulationOptions): Promise<SimulationResult> {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: 40,
    connectionTimeoutMillis: patienceMs,
    statement_timeout: patienceMs,
    query_timeout: patienceMs * 1.5,
  });
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {})); // killed while checked out
  try {
    await pool.query("drop schema if exists millrace cascade");
    await migrate(pool, { release: options.release ?? smallRing() });
    return await new Simulation(options, pool).run();
  } finally {
    await pool.end();
  }
}

class Simulation {
  readonly #random: Random;
  readonly #engine: Engine;
  readonly #overlap: OverlapWriter;
  readonly #end: number;
  readonly #violations = new Set<string>();
  /** The last delivery of each job: its attempt, and whether that attempt was given back unharmed. */
  readonly #deliveries = new Map<string, { attempt: number; returned: boolean }>();
  #delivered = 0;
  #killed = 0;
  #emptied = 0;
  #compactions = 0;
  #asides = 0;
  #producing = true;
  #draining = false;
  #drainBy = Number.POSITIVE_INFINITY;
  #drained = false;

  constructor(
    readonly options: SimulationOptions,
    readonly pool: pg.Pool,
  ) {
    this.#random = new Random(options.seed);
    this.#engine = new Engine({ pool });
    this.#overlap = new OverlapWriter({
      engine: this.#engine,
      random: this.#random,
      inTransaction: (work) => this.#inTransaction(work),
      isDelivered: (id) => this.#deliveries.has(id),
      isOver: () => this.#over(),
      group: () => this.#group(),
    });
    this.#end = Date.now() + options.seconds * 1000;
  }

  #over(): boolean {
    const isEnough =
      !this.options.untilCovered || this.#isCovered() || Date.now() >= this.#end + this.options.seconds * 9000;
    return (Date.now() >= this.#end && isEnough) || this.#stopped();
  }

  /** A busy machine may need more time for it. */
  #isCovered(): boolean {
    return (
      this.#compactions > 0 &&
      this.#overlap.halfTaken > 0 &&
      (!this.options.setAside || this.#asides > 10) &&
      this.#deliveries.size > 100
    );
  }

  #stopped(): boolean {
    return (this.options.stopAtFirst ?? false) && this.#violations.size > 0;
  }

  async run(): Promise<SimulationResult> {
    await this.#engine.queuePut(overlapQueue);
    const producers = [
      ...times(this.options.producers, () => this.#produce()),
      ...times(2, () => this.#produceOverlap()),
    ];
    const claimers = [
      ...times(4, () => this.#consume("default", this.options.largestClaim)),
      ...times(3, () => this.#consume(overlapQueue, 3)),
    ];
    const keepers = [
      this.#maintain(),
      this.#reclaim(),
      this.#watch(),
      ...(this.options.setAside ? [this.#setAside()] : []),
    ];
    const killer = this.options.kill === false ? undefined : this.#kill();
    await Promise.all(producers);
    this.#producing = false;
    await killer;
    this.#drainBy = Date.now() + drainMs;
    this.#draining = true;
    await Promise.all(claimers);
    this.#drained = true;
    await Promise.all(keepers);
    if (!this.#stopped()) await this.#finish();
    const [row] = (await this.pool.query("select count(*)::int as jobs from millrace.job")).rows as { jobs: number }[];
    return {
      jobs: row?.jobs ?? 0,
      delivered: this.#delivered,
      killed: this.#killed,
      ticketChildrenEmptied: this.#emptied,
      compactions: this.#compactions,
      asides: this.#asides,
      halfTaken: this.#overlap.halfTaken,
      violations: [...this.#violations],
    };
  }

  async #produce(): Promise<void> {
    while (!this.#over()) {
      await sleep(this.#random.between(0, this.options.paceMs));
      await this.#survive(() => this.#inTransaction((tx) => this.#write(tx)));
    }
  }

  async #produceOverlap(): Promise<void> {
    while (!this.#over()) {
      await sleep(this.#random.between(0, 20));
      await this.#survive(() => this.#overlap.write());
    }
  }

  async #write(tx: pg.PoolClient): Promise<void> {
    const random = this.#random;
    const late = random.chance(this.options.late.probability);
    await this.#enqueue(tx, late ? random.between(4, this.options.late.jobs) : random.between(1, 5));
    if (late) await sleep(random.next() * this.options.late.ms);
    if (random.chance(0.3)) await this.#enqueue(tx, random.between(1, 3));
    // what this transaction wrote so far, and will write, is no part of what it sets aside
    if (this.options.setAside && random.chance(0.05)) await this.#engine.queueSetAside("default", {}, { tx });
    // a transaction that claims and then enqueues writes behind a head it may have moved itself
    if (random.chance(0.05)) {
      const claimed = await this.#engine.claim({ limit: 2, leaseSeconds }, { tx });
      for (const job of claimed) await this.#engine.complete(job, undefined, { tx });
      await this.#enqueue(tx, 1);
    }
  }

  /** Run work in a transaction that is sometimes rolled back; tells whether it committed. */
  async #inTransaction(work: (tx: pg.PoolClient) => Promise<void>): Promise<boolean> {
    const tx = await this.pool.connect();
    let broken = true;
    try {
      await tx.query("begin");
      await work(tx);
      const committed = !this.#random.chance(0.1);
      await tx.query(committed ? "commit" : "rollback");
      broken = false;
      return committed;
    } finally {
      tx.release(broken);
    }
  }

  async #enqueue(tx: pg.PoolClient, n: number): Promise<void> {
    const random = this.#random;
    const delaySeconds = random.chance(0.1) ? random.next() * 0.5 : 0;
    const type = random.chance(0.8) ? "a" : "b";
    const options = { delaySeconds, maxAttempts: 1000 };
    const group = (): { group?: string } => (type === "a" && random.chance(0.8) ? this.#group() : {});
    if (random.chance(0.5)) {
      await this.#engine.enqueueMany(
        type,
        Array.from({ length: n }, (_, i) => i),
        { ...options, ...group() },
        { tx },
      );
    } else {
      await this.#engine.enqueueEach(
        Array.from({ length: n }, () => ({ type, ...options, ...group() })),
        { tx },
      );
    }
  }

  #group(): { group?: string; cost?: number } {
    const groups = this.options.groups ?? 0;
    const cost = this.options.costs && this.#random.chance(0.3) ? { cost: this.#random.between(2, 40) } : {};
    return groups > 0 ? { group: `group-${this.#random.between(1, groups)}`, ...cost } : {};
  }

  async #consume(queue: string, largestClaim: number): Promise<void> {
    let idle = 0;
    while (idle < 30 && Date.now() < this.#drainBy && !this.#stopped()) {
      await this.#survive(async () => {
        const trackStart = this.#random.chance(0.2);
        const limit = this.#random.between(1, this.#draining ? drainingClaim : largestClaim);
        const jobs = await this.#engine.claim({ queues: [queue], limit, leaseSeconds, trackStart });
        for (const job of jobs) this.#deliver(job, trackStart);
        idle = jobs.length > 0 || !this.#draining ? 0 : idle + 1;
        if (jobs.length === 0) await sleep(this.#draining ? 50 : 5);
        else await this.#settle(jobs);
      });
    }
    if (idle < 30 && !this.#stopped()) this.#violations.add(`${queue} was not drained in ${drainMs / 1000} s`);
  }

  /**
   * Nothing here reports a start, so a lost claim that tracks starts gives its jobs back with the same attempt, unless
   * alone.
   */
  #deliver(job: ClaimedJob, trackStart: boolean): void {
    this.#delivered += 1;
    const before = this.#deliveries.get(job.id);
    if (before && (job.attempt < before.attempt || (job.attempt === before.attempt && !before.returned))) {
      this.#violations.add(`handed out twice: attempt ${job.attempt}`);
    }
    this.#deliveries.set(job.id, { attempt: job.attempt, returned: trackStart && !job.alone });
  }

  /** Each claimed job ends in one of the ways a worker can end it; some claims are left to the reaper. */
  async #settle(jobs: readonly ClaimedJob[]): Promise<void> {
    const random = this.#random;
    for (const token of new Set(jobs.map((job) => job.token))) {
      const claim = jobs.filter((job) => job.token === token);
      const ids = claim.map((job) => job.id);
      const fate = this.#draining ? 0 : random.next();
      if (fate < 0.75) {
        await this.#engine.completeMany(token, ids);
      } else if (fate < 0.8) {
        await this.#engine.completeMany(token, ids.slice(0, 1));
        for (const job of claim.slice(1)) this.#mayReturn(job);
        await this.#engine.settle([{ token, outcome: "released", jobs: ids.slice(1) }]);
      } else if (fate < 0.86) {
        await this.#engine.settle([
          {
            token,
            outcome: "retryLater",
            jobs: ids,
            delaySeconds: random.chance(0.5) ? 0 : 0.2,
            error: { message: "again" },
          },
        ]);
      } else if (fate < 0.9) {
        await this.#engine.settle([{ token, outcome: "failed", jobs: ids, error: { message: "no" } }]);
      } else if (fate < 0.93) {
        await this.#engine.cancel(ids.slice(0, 2));
        await this.#engine.completeMany(token, ids);
      } else if (fate < 0.96) {
        await this.#engine.claimExtend([token], leaseSeconds);
        await this.#engine.setVisibility(claim[0]!, 0.1).catch(ignoreRefusal);
      } // else abandoned to the reaper
    }
  }

  /** From now on the same attempt may come again, because the job was, or may be, given back unharmed. */
  #mayReturn(job: ClaimedJob): void {
    const delivery = this.#deliveries.get(job.id);
    if (delivery) delivery.returned = true;
  }

  async #maintain(): Promise<void> {
    while (!this.#drained) {
      await this.#survive(() => this.#engine.maintain());
      await sleep(30);
    }
  }

  async #reclaim(): Promise<void> {
    while (!this.#drained) {
      await this.#survive(() => this.#rotate());
      await sleep(100);
    }
  }

  async #rotate(): Promise<void> {
    const space = await this.#engine.maintainSpace({ compactBound: 50 });
    this.#emptied += space.ticketChildren;
    this.#compactions += space.compacted.length;
  }

  async #setAside(): Promise<void> {
    while (!this.#over()) {
      await sleep(this.#random.between(0, 60));
      await this.#survive(async () => {
        await this.#engine.queueSetAside(this.#random.pick(["default", overlapQueue]));
        const { rows } = await this.pool.query<{ n: string }>("select coalesce(max(n), 0) as n from millrace.aside");
        this.#asides = Math.max(this.#asides, Number(rows[0]!.n));
      });
    }
  }

  /** Look at the database's own truth all the while. */
  async #watch(): Promise<void> {
    while (!this.#draining) {
      await this.#survive(async () => {
        const { rowCount } = await this.pool.query(
          "select id from millrace.claim, unnest(jobs) id group by id having count(*) > 1",
        );
        if (rowCount) this.#violations.add("a job is in two live claims");
      });
      await sleep(20);
    }
  }

  async #kill(): Promise<void> {
    while (this.#producing) {
      await sleep(this.#random.between(50, 250));
      await this.#survive(async () => {
        const { rowCount } = await this.pool.query(
          "select pg_terminate_backend(pid) from (select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend' and xact_start is not null order by random() limit 1) x",
        );
        this.#killed += rowCount ?? 0;
      });
    }
  }

  /** Everything is drained: nothing is in the way of rotation any more, and nothing may be left open. */
  async #finish(): Promise<void> {
    await this.#survive(() => this.#rotate());
    for (const finding of await openEnds(this.pool, this.#engine, ["default", overlapQueue]))
      this.#violations.add(finding);
  }

  /** Killed sessions are part of the game, and so is a report that comes too late; any other error is a finding. */
  async #survive(work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!isDisconnect(error)) this.#violations.add(`error: ${String(error)}`);
      await sleep(10); // whoever fails again and again leaves room for the others
    }
  }
}

function times<T>(n: number, make: () => T): T[] {
  return Array.from({ length: n }, make);
}

function ignoreRefusal(error: unknown): void {
  if (!(error instanceof MillraceError && error.code === "MR005")) throw error;
}
