import type { QueueState } from "../../db/types.js";
import type { Database } from "../database.js";

/** What the database looked like at one moment. */
export interface Sample {
  /** The database's time. */
  readonly at: Date;
  readonly queues: readonly SampledQueue[];
  readonly running: readonly RunningJob[];
}

export interface SampledQueue {
  readonly name: string;
  readonly state: QueueState;
  /** Ready and blocked together. */
  readonly waiting: number;
  readonly ready: number;
  readonly blocked: number;
  readonly delayed: number;
  readonly suspended: number;
  readonly running: number;
  /** Jobs made each second since the sample before; null while there is none. */
  readonly inPerSecond: number | null;
}

export interface RunningJob {
  readonly id: string;
  readonly queue: string;
  readonly type: string;
  readonly attempt: number;
  readonly worker: string | null;
  readonly elapsedMs: number;
  readonly leaseEnded: boolean;
  readonly progress: unknown;
}

/**
 * Counting new jobs must not become a load of its own: 3,000 take 60 ms. When there are more, every eighth one stands
 * for all, and so on.
 */
const maxCounted = 3000;

/** Looks at the database again and again. */
export class Sampler {
  #before: Date | undefined;
  #every = 1;

  constructor(readonly database: Database) {}

  async take(maxRunning: number): Promise<Sample> {
    const queues = await this.database.engine.queues();
    const [clock] = await this.database.read<{ at: Date }>("select :clock_now() as at");
    const { at } = clock!;
    const rates = this.#before ? await this.#rates(this.#before, at) : undefined;
    const running = await this.#running(maxRunning);
    this.#before = at;
    return {
      at,
      running,
      queues: queues.map(({ name, state, waiting, ready, blocked, delayed, suspended, running: taken }) => ({
        name,
        state,
        waiting,
        ready,
        blocked,
        delayed,
        suspended,
        running: taken,
        inPerSecond: rates ? (rates.get(name) ?? 0) : null,
      })),
    };
  }

  /** Jobs made each second, by queue. Ids carry the time; their hash picks every n-th one, n being a power of two. */
  async #rates(since: Date, at: Date): Promise<Map<string, number>> {
    const seconds = Math.max(0.001, (at.getTime() - since.getTime()) / 1000);
    for (;;) {
      const rows = await this.database.read<{ queue: string; created: string }>(
        `select queue, count(*) as created
           from (select queue from :jobs where id >= $1::bigint and id < $2::bigint and hashint8(id) & $3::int = 0 limit $4) made group by queue`,
        [firstIdAt(since.getTime()), firstIdAt(at.getTime()), this.#every - 1, maxCounted],
      );
      const total = rows.reduce((sum, { created }) => sum + Number(created), 0);
      if (total >= maxCounted && this.#every < 4096) {
        this.#every *= 8;
        continue;
      }
      const factor = this.#every;
      if (total < maxCounted / 32) this.#every = Math.max(1, this.#every / 8);
      return new Map(rows.map(({ queue, created }) => [queue, (Number(created) * factor) / seconds]));
    }
  }

  async #running(most: number): Promise<RunningJob[]> {
    const rows = await this.database.read<Record<string, unknown>>(
      `select job_id, queue, type, attempt, worker, extract(epoch from elapsed) * 1000 as elapsed_ms, lease_ends_at <= :clock_now() as lease_ended, progress
         from :claims order by started_at, job_id limit $1`,
      [most],
    );
    return rows.map((row) => ({
      id: String(row["job_id"]),
      queue: String(row["queue"]),
      type: String(row["type"]),
      attempt: Number(row["attempt"]),
      worker: row["worker"] as string | null,
      elapsedMs: Math.max(0, Number(row["elapsed_ms"])),
      leaseEnded: row["lease_ended"] === true,
      progress: row["progress"],
    }));
  }
}

/** The lowest id a job made at this time can have: microseconds since 2020 in the upper bits. */
function firstIdAt(ms: number): string {
  return String(BigInt(Math.floor((ms - Date.UTC(2020, 0, 1)) * 1000)) << 12n);
}
