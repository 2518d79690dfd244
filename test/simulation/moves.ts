import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { Cell } from "../../src/cells/cell.js";
import { CellsEngine } from "../../src/cells/cells-engine.js";
import { moveQueue } from "../../src/cells/move.js";
import { Router } from "../../src/cells/router.js";
import { Engine } from "../../src/db/engine.js";
import {
  CellError,
  FingerprintElsewhereError,
  MillraceError,
  PartlyEnqueuedError,
  QueueMovedError,
} from "../../src/db/errors.js";
import { migrate } from "../../src/db/migrate.js";
import type { Release } from "../../src/db/schema-version.js";
import type { ClaimedJob, JobId } from "../../src/db/types.js";
import { isDisconnect, openEnds } from "./findings.js";
import { MoveBooks } from "./move-books.js";
import { Random } from "./random.js";
import { smallRing } from "./simulation.js";

export interface MovesOptions {
  /** The databases of the two cells. */
  readonly urls: Readonly<Record<"a" | "b", string>>;
  readonly seed: number;
  readonly seconds: number;
  /** Go on for ten times as long at most, until each queue has moved. Default false. */
  readonly untilCovered?: boolean;
  /** End with the first violation. Default false. */
  readonly stopAtFirst?: boolean;
  /** Terminate sessions at random. Default true. */
  readonly kill?: boolean;
  /** The SQL of both cells; tests give mutants. */
  readonly release?: Release;
}

export interface MovesResult {
  readonly jobs: number;
  readonly delivered: number;
  readonly moves: number;
  readonly brokenOff: number;
  readonly refused: number;
  readonly killed: number;
  /** What went wrong; empty when everything holds. */
  readonly violations: readonly string[];
}

export const limit = 3;
const names = ["a", "b"] as const;
const queues = { plain: {}, ordered: { ordered: true }, limited: { maxRunning: limit }, prints: {} };
type QueueName = keyof typeof queues;
const queueNames = Object.keys(queues) as QueueName[];
const leaseSeconds = 0.7;
const patienceMs = 20_000;
const drainMs = 60_000;
const brokenOff = new Error("the process that moves is gone");

/**
 * Two cells, and queues that move there and back while clients of different ages enqueue, also in transactions that
 * commit late or never, claimers finish, retry, give back and vanish, moves are broken off and sessions killed.
 * Afterwards everything is drained and counted.
 */
export async function simulateMoves(options: MovesOptions): Promise<MovesResult> {
  const cells = new Map<string, Cell>();
  for (const name of names) {
    const pool = new pg.Pool({
      connectionString: options.urls[name],
      max: 40,
      connectionTimeoutMillis: patienceMs,
      statement_timeout: patienceMs,
      query_timeout: patienceMs * 1.5,
    });
    pool.on("error", () => {});
    pool.on("connect", (client) => client.on("error", () => {}));
    cells.set(name, { name, pool, engine: new Engine({ pool, cell: name }), ownsPool: false });
  }
  try {
    for (const { pool } of cells.values()) {
      await pool.query("drop schema if exists millrace cascade");
      await migrate(pool, { release: options.release ?? smallRing() });
    }
    return await new MoveSimulation(options, cells).run();
  } finally {
    for (const { pool } of cells.values()) await pool.end();
  }
}

class MoveSimulation {
  readonly #random: Random;
  readonly #books = new MoveBooks(limit);
  readonly #end: number;
  /** Clients in the order of their making: the oldest know where queues were. */
  readonly #clients: CellsEngine[] = [];
  /** Which queues a cell is known to have: a row of a queue stays. */
  readonly #present = new Set<string>();
  readonly #moved = new Map<QueueName, number>();
  #keys = 0;
  #brokenOff = 0;
  #refused = 0;
  #killed = 0;
  #draining = false;
  #drained = false;
  #drainBy = Number.POSITIVE_INFINITY;

  constructor(
    readonly options: MovesOptions,
    readonly cells: ReadonlyMap<string, Cell>,
  ) {
    this.#random = new Random(options.seed);
    this.#end = Date.now() + options.seconds * 1000;
  }

  async run(): Promise<MovesResult> {
    this.#clients.push(this.#newClient(), this.#newClient());
    for (const [queue, settings] of Object.entries(queues)) await this.#clients[0]!.queuePut(queue, settings);
    const producers = [1, 2, 3, 4, 5].map((n) => this.#produce(n));
    const movers = queueNames.map((queue) => this.#move(queue));
    const claimers = [...this.cells.values()].flatMap((cell) => queueNames.map((queue) => this.#consume(cell, queue)));
    const keepers = [...this.cells.values()].map((cell) => this.#maintain(cell));
    const killer = this.options.kill === false ? undefined : this.#kill();
    await Promise.all([...producers, killer]);
    await Promise.all(movers);
    this.#drainBy = Date.now() + drainMs;
    this.#draining = true;
    await Promise.all(claimers);
    this.#drained = true;
    await Promise.all(keepers);
    if (!this.#stopped()) await this.#finish();
    return {
      jobs: this.#books.jobs,
      delivered: this.#books.delivered,
      moves: [...this.#moved.values()].reduce((sum, n) => sum + n, 0),
      brokenOff: this.#brokenOff,
      refused: this.#refused,
      killed: this.#killed,
      violations: [...this.#books.violations],
    };
  }

  #newClient(): CellsEngine {
    return new CellsEngine(new Router(this.cells), "millrace");
  }

  #isOver(): boolean {
    const isEnough =
      !this.options.untilCovered ||
      queueNames.every((queue) => (this.#moved.get(queue) ?? 0) >= 2) ||
      Date.now() >= this.#end + this.options.seconds * 9000;
    return (Date.now() >= this.#end && isEnough) || this.#stopped();
  }

  #stopped(): boolean {
    return (this.options.stopAtFirst ?? false) && this.#books.violations.size > 0;
  }

  /** One after another, so that what it enqueues in a group has an order. */
  async #produce(n: number): Promise<void> {
    const random = this.#random;
    while (!this.#isOver()) {
      await sleep(random.between(0, 25));
      if (random.chance(0.03)) {
        this.#clients.push(this.#newClient());
        if (this.#clients.length > 6) this.#clients.shift();
      }
      const queue = random.pick(queueNames);
      const group = queue === "ordered" ? `${n}-${random.between(1, 2)}` : undefined;
      const client = random.pick(this.#clients);
      await this.#survive(() =>
        random.chance(0.35) ? this.#inTransaction(client, queue, group) : this.#enqueue(client, queue, group),
      );
    }
  }

  async #enqueue(client: CellsEngine, queue: QueueName, group: string | undefined): Promise<void> {
    const random = this.#random;
    if (random.chance(0.7)) {
      const key = this.#newKey(queue, group);
      const input = { key, group };
      const { id, duplicate } = await this.#told([key], () =>
        client.enqueue({ type: "t", queue, input, ...this.#shape(queue, group, [key]) }),
      );
      this.#books.stored(key, id, duplicate);
      return;
    }
    const keys = Array.from({ length: random.between(1, 6) }, () => this.#newKey(queue, group));
    try {
      const made = await this.#told(keys, () => this.#several(client, queue, group, keys));
      for (const [i, { id, duplicate }] of made.entries()) this.#books.stored(keys[i]!, id, duplicate);
    } catch (error) {
      let cause = error;
      if (error instanceof PartlyEnqueuedError) {
        // some went in by themselves, in the cell that their queue comes from, before another was refused
        cause = error.cause;
        for (const [i, one] of error.enqueued.entries()) {
          if (one) this.#books.stored(keys[i]!, one.id, one.duplicate);
          else if (isDisconnect(cause)) this.#books.mayBe(keys[i]!);
        }
      }
      if (!(cause instanceof FingerprintElsewhereError)) throw cause; // not asked for in one statement
      this.#refused += 1;
    }
  }

  #several(
    client: CellsEngine,
    queue: QueueName,
    group: string | undefined,
    keys: readonly number[],
    call?: { readonly tx: pg.PoolClient },
  ): Promise<{ id: JobId; duplicate: boolean }[]> {
    const jobs = keys.map((key) => ({ type: "t", queue, input: { key, group }, ...this.#shape(queue, group, [key]) }));
    if (queue === "prints" || this.#random.chance(0.5)) return client.enqueueEach(jobs, call);
    const inputs = jobs.map(({ input }) => input);
    return client.enqueueMany("t", inputs, { queue, ...this.#shape(queue, group, keys) }, call);
  }

  #shape(queue: QueueName, group: string | undefined, keys: readonly number[]): object {
    const random = this.#random;
    const fingerprint = queue === "prints" ? `f${random.between(1, 4)}` : undefined;
    if (fingerprint !== undefined) for (const key of keys) this.#books.prints(key, fingerprint);
    return {
      maxAttempts: 1000,
      ...(group === undefined ? {} : { group }),
      ...(fingerprint === undefined ? {} : { fingerprint }),
      ...(queue !== "ordered" && random.chance(0.1) ? { delaySeconds: random.next() * 0.3 } : {}),
    };
  }

  /** On the server of the queue's cell. It commits late, or never. */
  async #inTransaction(client: CellsEngine, queue: QueueName, group: string | undefined): Promise<void> {
    const random = this.#random;
    const keys = Array.from({ length: random.between(1, 4) }, () => this.#newKey(queue, group));
    const { pool } = await client.router.cellOf({ queue });
    const tx = await pool.connect();
    let isBroken = true;
    try {
      await tx.query("begin");
      const made = await this.#several(client, queue, group, keys, { tx });
      if (random.chance(0.5)) await sleep(random.next() * 150);
      const commits = !random.chance(0.15);
      await this.#told(commits ? keys : [], () => tx.query(commits ? "commit" : "rollback"));
      isBroken = false;
      if (commits) for (const [i, { id, duplicate }] of made.entries()) this.#books.stored(keys[i]!, id, duplicate);
    } catch (error) {
      const isRefusal =
        error instanceof QueueMovedError ||
        error instanceof FingerprintElsewhereError ||
        (error instanceof CellError && error.reason === "foreign");
      if (!isRefusal) throw error;
      this.#refused += 1;
    } finally {
      tx.release(isBroken);
    }
  }

  #newKey(queue: QueueName, group: string | undefined): number {
    this.#keys += 1;
    this.#books.wants(this.#keys, queue, group);
    return this.#keys;
  }

  /** What ends with a lost connection may have been done; what ends with any other error was not. */
  async #told<T>(keys: readonly number[], work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (isDisconnect(error)) for (const key of keys) this.#books.mayBe(key);
      throw error;
    }
  }

  /** There and back, again and again. A move that was broken off is gone on with. */
  async #move(queue: QueueName): Promise<void> {
    const engines = new Map([...this.cells].map(([name, { engine }]) => [name, engine] as const));
    let to: string | undefined;
    while (!this.#isOver() || (to !== undefined && !this.#stopped() && Date.now() < this.#end + 10 * drainMs)) {
      await sleep(this.#random.between(0, 200));
      await this.#survive(async () => {
        to ??= (await new Router(this.cells).cellOf({ queue })).name === "a" ? "b" : "a";
        let steps = this.#random.chance(0.4) ? this.#random.between(1, 4) : Infinity;
        const onProgress = (): void => {
          // once nobody claims any more, the old cell never gets empty
          if (this.#stopped() || (steps -= 1) <= 0) throw brokenOff;
        };
        try {
          const detach = this.#random.chance(0.2);
          await moveQueue(engines, queue, to, { onProgress, detach });
          if (detach) return;
        } catch (error) {
          if (error !== brokenOff) throw error;
          this.#brokenOff += 1;
          return;
        }
        this.#moved.set(queue, (this.#moved.get(queue) ?? 0) + 1);
        to = undefined;
      });
    }
  }

  async #consume(cell: Cell, queue: QueueName): Promise<void> {
    const random = this.#random;
    let idle = 0;
    while (idle < 30 && Date.now() < this.#drainBy && !this.#stopped()) {
      await this.#survive(async () => {
        const until = Date.now() + leaseSeconds * 1000;
        const jobs = (await this.#has(cell, queue))
          ? await cell.engine.claim({
              queues: [queue],
              limit: random.between(1, this.#draining ? 50 : 4),
              leaseSeconds,
            })
          : [];
        for (const job of jobs) this.#books.delivers(cell.name, job, until);
        idle = jobs.length > 0 || !this.#draining ? 0 : idle + 1;
        if (jobs.length === 0) await sleep(this.#draining ? 50 : 5);
        else await this.#settle(cell, jobs);
      });
    }
    if (idle < 30 && !this.#stopped())
      this.#books.violations.add(`${queue} was not drained in ${cell.name} in ${drainMs / 1000} s`);
  }

  async #has({ name, engine }: Cell, queue: QueueName): Promise<boolean> {
    const key = `${name} ${queue}`;
    if (!this.#present.has(key) && (await engine.moves.queue(queue)) !== undefined) this.#present.add(key);
    return this.#present.has(key);
  }

  async #settle({ name, engine }: Cell, jobs: readonly ClaimedJob[]): Promise<void> {
    const random = this.#random;
    if (random.chance(0.3)) await sleep(random.next() * 60);
    for (const token of new Set(jobs.map((job) => job.token))) {
      const claim = jobs.filter((job) => job.token === token);
      const ids = claim.map(({ id }) => id);
      const fate = this.#draining ? 0 : random.next();
      this.#books.lets(name, claim, fate < 0.8 || (fate >= 0.92 && fate < 0.95));
      if (fate < 0.8) await engine.completeMany(token, ids);
      else if (fate < 0.86) await engine.settle([{ token, outcome: "released", jobs: ids }]);
      else if (fate < 0.92)
        await engine.settle([
          { token, outcome: "retryLater", jobs: ids, delaySeconds: 0, error: { message: "again" } },
        ]);
      else if (fate < 0.95) await engine.settle([{ token, outcome: "failed", jobs: ids, error: { message: "no" } }]);
      // else it vanishes
    }
  }

  async #maintain({ engine }: Cell): Promise<void> {
    while (!this.#drained) {
      await this.#survive(() => engine.maintain());
      await sleep(30);
    }
  }

  async #kill(): Promise<void> {
    while (!this.#isOver()) {
      await sleep(this.#random.between(100, 400));
      await this.#survive(async () => {
        const { rowCount } = await this.cells
          .get(this.#random.pick(names))!
          .pool.query(
            "select pg_terminate_backend(pid) from (select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend' and xact_start is not null order by random() limit 1) x",
          );
        this.#killed += rowCount ?? 0;
      });
    }
  }

  async #finish(): Promise<void> {
    const rows: { key: number; handle: JobId }[] = [];
    for (const { name, pool, engine } of this.cells.values()) {
      const present = queueNames.filter((queue) => this.#present.has(`${name} ${queue}`));
      for (const finding of await openEnds(pool, engine, present)) this.#books.violations.add(`${name}: ${finding}`);
      const found = await pool.query<{ key: number; id: string }>(
        "select (input ->> 'key')::int as key, id::text from millrace.jobs",
      );
      rows.push(...found.rows.map(({ key, id }) => ({ key, handle: `${name}:${id}` })));
    }
    this.#books.compare(rows);
  }

  /** Killed sessions are part of the game; any other error is a finding. */
  async #survive(work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!isDisconnect(error))
        this.#books.violations.add(`error: ${error instanceof MillraceError ? error.code : ""} ${String(error)}`);
      await sleep(10);
    }
  }
}
