import { checkId, checkKeys, encodeIds } from "../encode.js";
import type { CallOptions } from "../foreign.js";
import { noted } from "../note.js";
import type { CancelFilter, DecisionNote, FailureRetry, FailuresRetried, JobId, Replay, Replayed } from "../types.js";
import { OutcomeVerbs } from "./outcome.js";

const stageBatch = 10_000;

/** What is decided on jobs that nobody works on: cancelled, retried, replayed, discarded, released (`sql/hold`). */
export abstract class HoldVerbs extends OutcomeVerbs {
  /**
   * Cancel jobs by id. Returns how many were cancelled; finished ones are left alone. `decisions` tells who and why.
   */
  async cancel(
    ids: readonly JobId[],
    because?: string,
    { by, ...call }: CallOptions & Pick<DecisionNote, "by"> = {},
  ): Promise<number> {
    return this.db.count(
      "job_cancel",
      "select :job_cancel($1::bigint[], $2::text, $3::text) as n",
      [encodeIds(ids), because ?? null, by ?? null],
      call,
    );
  }

  /** Cancel all live jobs that match every filter given. */
  async cancelWhere(filter: CancelFilter, call?: CallOptions): Promise<number> {
    checkKeys(filter, new Set(["queue", "type", "tenant", "fingerprint", "because", "by"]));
    return this.db.count(
      "job_cancel_where",
      "select :job_cancel_where($1::text, $2::text, $3::text, $4::text, $5::text, p_by => $6::text) as n",
      [
        filter.queue ?? null,
        filter.type ?? null,
        filter.tenant ?? null,
        filter.fingerprint ?? null,
        filter.because ?? null,
        filter.by ?? null,
      ],
      call,
    );
  }

  /**
   * Give failed and expired jobs more attempts and a renewed expiry: the given ids, or all of a type. Discarded ones
   * are left alone. Returns how many; `decisions` tells who and why.
   */
  async retry(
    attempts: number,
    which: ({ readonly ids: readonly JobId[] } | { readonly type: string; readonly queue?: string }) &
      DecisionNote & {
        readonly perSecond?: number;
        readonly startAt?: Date | string;
        /** Jobs of finished queues are left alone instead of refused. Default false. */
        readonly skipFinished?: boolean;
      },
    call?: CallOptions,
  ): Promise<number> {
    const byId = "ids" in which;
    checkKeys(
      which,
      new Set([...(byId ? ["ids"] : ["type", "queue"]), "by", "because", "perSecond", "startAt", "skipFinished"]),
    );
    return this.db.count(
      "job_retry",
      "select :job_retry($1::int, $2::bigint[], $3::text, $4::text, p_by => $5::text, p_because => $6::text, p_per_second => $7::float8, p_start_at => $8::timestamptz, p_skip_finished => $9::boolean) as n",
      [
        attempts,
        byId ? encodeIds(which.ids) : null,
        byId ? null : which.type,
        byId ? null : (which.queue ?? null),
        which.by ?? null,
        which.because ?? null,
        which.perSecond ?? null,
        which.startAt ?? null,
        which.skipFinished ?? false,
      ],
      call,
    );
  }

  /** Give failed jobs more attempts, oldest first, one batch of them. Ask with `next` until it is null. */
  async failureRetry(which: FailureRetry, call?: CallOptions): Promise<FailuresRetried> {
    checkKeys(
      which,
      new Set<string>([
        "fingerprint",
        "queue",
        "type",
        "since",
        "until",
        "attempts",
        "perSecond",
        "limit",
        "after",
        "startAt",
        "by",
        "because",
        "dryRun",
      ] satisfies (keyof FailureRetry)[]),
    );
    const [row] = await this.db.rows(
      "failure_retry",
      `select retried, after::text, to_json(start_at) as start_at
         from :failure_retry($1::text, $2::text, $3::text, $4::int, $5::float8, $6::int, $7::bigint, $8::timestamptz, $9::text, $10::text, $11::timestamptz, $12::timestamptz, $13::boolean)`,
      [
        which.fingerprint ?? null,
        which.queue ?? null,
        which.type ?? null,
        which.attempts ?? 1,
        which.perSecond ?? null,
        which.limit ?? 1000,
        which.after === undefined ? "0" : checkId(which.after),
        which.startAt ?? null,
        which.by ?? null,
        which.because ?? null,
        which.since ?? null,
        which.until ?? null,
        which.dryRun ?? false,
      ],
      call,
    );
    const { retried, after, start_at: startAt } = row as { retried: number; after: JobId | null; start_at: string };
    return { jobs: retried, next: after === null ? null : { ...which, after, startAt } };
  }

  /** Enqueue copies of jobs that ended within a time range, one batch of them. Ask with `next` until it is null. */
  async replay(which: Replay, call?: CallOptions): Promise<Replayed> {
    checkKeys(
      which,
      new Set([
        "since",
        "until",
        "queue",
        "type",
        "states",
        "target",
        "perSecond",
        "dryRun",
        "limit",
        "after",
        "startAt",
      ]),
    );
    const [row] = await this.db.rows(
      "job_replay",
      `select replayed, to_json(until) as until, after::text, to_json(start_at) as start_at
         from :job_replay($1::timestamptz, $2::timestamptz, $3::text, $4::text, $5::text[], $6::text, $7::float8, $8::int, $9::boolean, $10::bigint, $11::timestamptz)`,
      [
        which.since,
        which.until ?? null,
        which.queue ?? null,
        which.type ?? null,
        which.states ?? ["succeeded", "failed"],
        which.target ?? null,
        which.perSecond ?? null,
        which.limit ?? 1000,
        which.dryRun ?? false,
        which.after === undefined ? null : checkId(which.after),
        which.startAt ?? null,
      ],
      call,
    );
    const {
      replayed,
      until,
      after,
      start_at: startAt,
    } = row as { replayed: number; until: string; after: JobId | null; start_at: string };
    return { jobs: replayed, next: after === null ? null : { ...which, until, after, startAt } };
  }

  /**
   * Decide that nobody will retry these failed or expired jobs, once and for good. Returns how many; others are left
   * alone.
   */
  async discard(ids: readonly JobId[], note: DecisionNote = {}, call?: CallOptions): Promise<number> {
    return this.db.count(
      "job_discard",
      "select :job_discard($1::bigint[], $2::text, $3::text) as n",
      [encodeIds(ids), ...noted(note)],
      call,
    );
  }

  /**
   * Let jobs run now that wait for a time, their first or that of a retry; their workers are woken. Returns how many;
   * others are left alone.
   */
  async runNow(ids: readonly JobId[], call?: CallOptions): Promise<number> {
    return this.db.count("job_run_now", "select :job_run_now($1::bigint[]) as n", [encodeIds(ids)], call);
  }

  /** Let the jobs of a stage go, ten thousand in each statement. Returns how many. */
  async stageRelease(queue: string, stage: string, note: DecisionNote = {}, call?: CallOptions): Promise<number> {
    return this.#stage("stage_release", queue, stage, note, call);
  }

  /** Cancel the jobs of a stage, ten thousand in each statement. Returns how many. */
  async stageCancel(queue: string, stage: string, note: DecisionNote = {}, call?: CallOptions): Promise<number> {
    return this.#stage("stage_cancel", queue, stage, note, call);
  }

  async #stage(
    name: "stage_release" | "stage_cancel",
    queue: string,
    stage: string,
    note: DecisionNote,
    call: CallOptions | undefined,
  ): Promise<number> {
    const text = `select :${name}($1::text, $2::text, $3::int, $4::text, $5::text) as n`;
    const values = [queue, stage, stageBatch, ...noted(note)];
    for (let jobs = 0; ;) {
      const some = await this.db.count(name, text, values, call);
      jobs += some;
      if (some < stageBatch) return jobs;
    }
  }
}
