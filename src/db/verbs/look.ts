import {
  asDate,
  decodeBreaker,
  decodeChild,
  decodeDecision,
  decodeDetails,
  decodeFailureGroup,
  decodeJob,
  decodeJobStep,
  decodePause,
  decodeQueue,
  decodeRunStats,
  decodeStage,
} from "../decode.js";
import { checkId, checkKeys, encodeIds } from "../encode.js";
import { JobNotFoundError } from "../errors.js";
import type { CallOptions } from "../foreign.js";
import { bounds } from "../limits.js";
import { pieceBytes } from "../payload.js";
import type {
  BreakerRecord,
  ChildRecord,
  CountFilter,
  DecisionRecord,
  Depth,
  FailureFilter,
  FailureGroup,
  GroupDepth,
  GroupRecord,
  JobCounts,
  JobDetails,
  JobId,
  JobLog,
  JobOutcome,
  JobRecord,
  JobStep,
  JobStepsFilter,
  Json,
  LimitRecord,
  ListFilter,
  PauseRecord,
  QueuePart,
  QueueRecord,
  Reason,
  RunStats,
  RunStatsFilter,
  StageRecord,
  TypeDepth,
} from "../types.js";
import { QueueVerbs } from "./queue.js";

/** What can be seen (`sql/look`, `sql/views`); nothing here changes anything. */
export abstract class LookVerbs extends QueueVerbs {
  /** The live job of a queue that has a fingerprint; null when there is none. */
  async jobOf(queue: string, fingerprint: string, call?: CallOptions): Promise<JobId | null> {
    const [row] = await this.db.rows(
      "job_of",
      "select :job_of($1::text, $2::text)::text as id",
      [queue, fingerprint],
      call,
    );
    return (row?.["id"] ?? null) as JobId | null;
  }

  /** The live job of a queue that has a fingerprint. Rejects with JobNotFoundError when there is none. */
  async liveJobOf(queue: string, fingerprint: string, call?: CallOptions): Promise<JobId> {
    const id = await this.jobOf(queue, fingerprint, call);
    if (id !== null) return id;
    throw new JobNotFoundError(
      `no live job of queue "${queue}" has the fingerprint "${fingerprint}"`,
      "it may have ended, or not be enqueued yet",
    );
  }

  /** One job with its attempts and progress; null when there is none. */
  async get(id: JobId, call?: CallOptions): Promise<JobDetails | null> {
    return this.#get(id, false, call);
  }

  /** The same, without reading inputs, results, headers and sources, which are null. */
  async getBrief(id: JobId, call?: CallOptions): Promise<JobDetails | null> {
    return this.#get(id, true, call);
  }

  async #get(id: JobId, isBrief: boolean, call?: CallOptions): Promise<JobDetails | null> {
    const text = "select :job_get($1::bigint, $2::boolean) as details";
    const [row] = await this.db.rows("job_get", text, [checkId(id), isBrief], call);
    const details = row?.["details"] as Parameters<typeof decodeDetails>[1] | null;
    return details ? decodeDetails(id, details) : null;
  }

  /** What a run has done, was sent and waits for, in the order in which it was noted, a part at a time. */
  async steps(id: JobId, filter: JobStepsFilter = {}, call?: CallOptions): Promise<JobStep[]> {
    checkKeys(filter, new Set(["key", "after", "limit", "valueBytes", "newest"]));
    const rows = await this.db.rows(
      "job_steps",
      `select *, id::text as id_text, nullif(n, 0)::text as n_text, other::text as other_text
         from :job_steps($1::bigint, $2::text, $3::bigint, $4::int, $5::int, $6::boolean)`,
      [
        checkId(id),
        filter.key ?? null,
        filter.after === undefined ? null : checkId(filter.after),
        filter.limit ?? 100,
        filter.valueBytes ?? bounds.stepBytes,
        filter.newest ?? false,
      ],
      call,
    );
    return rows.map(decodeJobStep);
  }

  /** The jobs that a job has started, in the order of their ids, after one of them. `limit` is 1000 at most. */
  async children(
    id: JobId,
    { after, limit = 100 }: { readonly after?: JobId; readonly limit?: number } = {},
    call?: CallOptions,
  ): Promise<ChildRecord[]> {
    const rows = await this.db.rows(
      "job_children",
      "select *, id::text as id_text from :job_children($1::bigint, $2::bigint, $3::int)",
      [checkId(id), after === undefined ? null : checkId(after), limit],
      call,
    );
    return rows.map(decodeChild);
  }

  /** How many jobs end with one that is cancelled: its children, those that wait for its success, and what is below. */
  async below(id: JobId, call?: CallOptions): Promise<{ readonly count: number; readonly isExact: boolean }> {
    const [row] = await this.db.rows("job_below", "select * from :job_below($1::bigint)", [checkId(id)], call);
    return { count: Number(row!["jobs"]), isExact: row!["is_exact"] === true };
  }

  /** Jobs that match every filter given, newest first. */
  async list(filter: ListFilter = {}, call?: CallOptions): Promise<JobRecord[]> {
    checkKeys(filter, new Set(["queue", "state", "type", "tenant", "undecided", "since", "until", "before", "limit"]));
    const rows = await this.db.rows(
      "job_list",
      "select *, id::text as id_text, parent::text as parent_text from :job_list($1::text, $2::text, $3::text, $4::text, $5::timestamptz, $6::timestamptz, $7::bigint, $8::int, $9::boolean)",
      [
        filter.queue ?? null,
        filter.state ?? null,
        filter.type ?? null,
        filter.tenant ?? null,
        filter.since ?? null,
        filter.until ?? null,
        filter.before === undefined ? null : checkId(filter.before),
        filter.limit ?? 100,
        filter.undecided ?? false,
      ],
      call,
    );
    return rows.map(decodeJob);
  }

  /**
   * How many jobs that match every filter given are in each state; at least one filter. A tenant's are found by its
   * index, others by a scan.
   */
  async count(filter: CountFilter, call?: CallOptions): Promise<JobCounts> {
    checkKeys(filter, new Set(["queue", "type", "tenant", "group", "since", "until"]));
    const [row] = await this.db.rows(
      "job_count",
      "select * from :job_count($1::text, $2::text, $3::text, $4::text, $5::timestamptz, $6::timestamptz)",
      [
        filter.queue ?? null,
        filter.type ?? null,
        filter.tenant ?? null,
        filter.group ?? null,
        filter.since ?? null,
        filter.until ?? null,
      ],
      call,
    );
    return Object.fromEntries(Object.entries(row ?? {}).map(([state, jobs]) => [state, Number(jobs)])) as JobCounts;
  }

  /** The jobs a claim would look at next, untouched. */
  async peek(queue = "default", limit = 10, call?: CallOptions): Promise<JobRecord[]> {
    const rows = await this.db.rows(
      "job_peek",
      "select *, id::text as id_text, parent::text as parent_text from :job_peek($1::text, $2::int)",
      [queue, limit],
      call,
    );
    return rows.map(decodeJob);
  }

  /** Those of some jobs that have ended, and how. An id nobody knows has the state `unknown`. */
  async outcomes(ids: readonly JobId[], call?: CallOptions): Promise<JobOutcome[]> {
    const rows = await this.db.rows(
      "job_outcomes",
      "select job_id::text as id, state, reason, result, error from :job_outcomes($1::bigint[])",
      [encodeIds(ids)],
      call,
    );
    return rows as unknown as JobOutcome[];
  }

  /** What was decided on a job, oldest first. */
  async decisions(id: JobId, call?: CallOptions): Promise<DecisionRecord[]> {
    return (
      await this.db.rows(
        "decisions",
        "select * from :decisions where job_id = $1::bigint order by id",
        [checkId(id)],
        call,
      )
    ).map(decodeDecision);
  }

  /**
   * Failed jobs that wait for a decision, those with alike errors together, the most frequent first. Looks at the
   * newest 10,000 that match.
   */
  async failures(filter: FailureFilter = {}, call?: CallOptions): Promise<FailureGroup[]> {
    checkKeys(filter, new Set(["queue", "type", "since", "until", "limit"]));
    const rows = await this.db.rows(
      "job_failures",
      `select fingerprint, name, code, message, jobs, first_at, last_at, to_json(types) as types, to_json(queues) as queues, last_job_id::text
         from :job_failures($1::text, $2::text, $3::timestamptz, $4::timestamptz, $5::int)`,
      [filter.queue ?? null, filter.type ?? null, filter.since ?? null, filter.until ?? null, filter.limit ?? 100],
      call,
    );
    return rows.map(decodeFailureGroup);
  }

  /** How long attempts took, per type and window, from the records of attempts. */
  async durations(filter: RunStatsFilter = {}, call?: CallOptions): Promise<RunStats[]> {
    checkKeys(filter, new Set(["type", "queue", "windowsSeconds"]));
    const rows = await this.db.rows(
      "job_durations",
      "select * from :job_durations($1::text, $2::text, $3::float8[])",
      [filter.type ?? null, filter.queue ?? null, filter.windowsSeconds ?? [60, 3600, 86_400]],
      call,
    );
    return rows.map(decodeRunStats);
  }

  /** The latest progress of a job; null when there is none. */
  async progress(id: JobId, call?: CallOptions): Promise<{ value: Json; updatedAt: Date } | null> {
    const [row] = await this.db.rows(
      "job_progress",
      "select value, updated_at from :job_progress($1::bigint)",
      [checkId(id)],
      call,
    );
    return row?.["updated_at"] ? { value: row["value"] as Json, updatedAt: asDate(row["updated_at"])! } : null;
  }

  /** The newest lines that a job has logged: of its run, or else of its last attempt. */
  async log(id: JobId, call?: CallOptions): Promise<JobLog> {
    const [row] = await this.db.rows(
      "job_log",
      "select is_running, lines, updated_at from :job_log($1::bigint)",
      [checkId(id)],
      call,
    );
    return {
      isRunning: row!["is_running"] === true,
      lines: ((row!["lines"] ?? []) as Json[]).map((line) => (typeof line === "string" ? line : JSON.stringify(line))),
      updatedAt: asDate(row!["updated_at"]),
    };
  }

  /** A part of a job's payload; null when it has none, empty past its end. */
  async payloadRead(id: JobId, offset = 0, length = 1_048_576, call?: CallOptions): Promise<Uint8Array | null> {
    const [row] = await this.db.rows(
      "payload_read",
      // drivers ask for text, of which this is a third less than the hexadecimal digits of a bytea
      "select encode(:payload_read($1::bigint, $2::bigint, $3::int), 'base64') as bytes",
      [checkId(id), offset, length],
      call,
    );
    const bytes = (row?.["bytes"] ?? null) as string | null;
    return bytes === null ? null : Buffer.from(bytes, "base64");
  }

  /** A job's payload in pieces of 1 MiB, so that nobody holds it whole. */
  async *payloadStream(id: JobId, call?: CallOptions): AsyncGenerator<Uint8Array> {
    for (let offset = 0; ;) {
      const bytes = await this.payloadRead(id, offset, pieceBytes, call);
      if (!bytes || bytes.length === 0) return;
      yield bytes;
      if (bytes.length < pieceBytes) return;
      offset += bytes.length;
    }
  }

  /** How much waits and runs, at constant cost. */
  async queueDepth(queue = "default", call?: CallOptions): Promise<Depth> {
    const [row] = await this.db.rows("queue_depth", "select * from :queue_depth($1::text)", [queue], call);
    return {
      ready: Number(row?.["ready"]),
      blocked: Number(row?.["blocked"]),
      delayed: Number(row?.["delayed"]),
      running: Number(row?.["running"]),
      staged: Number(row?.["staged"]),
      oldestReadyAt: asDate(row?.["oldest_ready_at"]),
      oldestAgeSeconds: (row?.["oldest_age_seconds"] ?? null) as number | null,
    };
  }

  /** Reject when one of these queues does not exist; all of them in one statement. */
  async queuesCheck(queues: readonly string[], call?: CallOptions): Promise<void> {
    await this.db.rows("queues_check", "select :queue_depth(name) from unnest($1::text[]) name", [queues], call);
  }

  /**
   * How much of a queue waits, is delayed and runs for each group, the one with the most waiting first. Exact up to
   * 10,000 jobs that wait; beyond that waiting and delayed are estimates from a sample, at a cost that depends neither
   * on the backlog nor on the number of groups.
   */
  async queueGroups(queue = "default", limit = 100, call?: CallOptions): Promise<GroupDepth[]> {
    const rows = await this.db.rows(
      "queue_groups",
      "select * from :queue_groups($1::text, $2::int)",
      [queue, limit],
      call,
    );
    return rows.map((row) => ({
      group: row["group"] as string | null,
      waiting: Number(row["waiting"]),
      ready: Number(row["ready"]),
      blocked: Number(row["blocked"]),
      delayed: Number(row["delayed"]),
      running: Number(row["running"]),
      oldestAgeSeconds: row["oldest_age_seconds"] as number | null,
      share: row["share"] as number,
      estimated: row["estimated"] as boolean,
    }));
  }

  /**
   * How much of a queue waits, is delayed and runs for each type, and for how long the oldest ready one waits, at
   * constant cost.
   */
  async queueTypes(queue = "default", call?: CallOptions): Promise<TypeDepth[]> {
    const rows = await this.db.rows("queue_types", "select * from :queue_types($1::text)", [queue], call);
    return rows.map((row) => ({
      type: row["type"] as string,
      waiting: Number(row["waiting"]),
      ready: Number(row["ready"]),
      blocked: Number(row["blocked"]),
      delayed: Number(row["delayed"]),
      running: Number(row["running"]),
      oldestAgeSeconds: row["oldest_age_seconds"] as number | null,
    }));
  }

  /** All queues with their state and counts, by name. */
  async queues(call?: CallOptions): Promise<QueueRecord[]> {
    return (await this.db.rows("queues", "select * from :queues order by name", [], call)).map(decodeQueue);
  }

  /**
   * Why a job waits, what a person has to end first; nothing when it runs or has ended, null when there is none.
   * `whyText` puts a reason into words.
   */
  async why(id: JobId, call?: CallOptions): Promise<Reason[] | null> {
    const [row] = await this.db.rows("job_why", "select :job_why($1::bigint) as why", [checkId(id)], call);
    return (row?.["why"] ?? null) as Reason[] | null;
  }

  /** Why jobs of a queue wait, or of a type or a group of it, and how many for each reason. */
  async queueWhy(queue = "default", part: QueuePart = {}, call?: CallOptions): Promise<Reason[]> {
    checkKeys(part, new Set(["type", "group"]));
    const values = [queue, part.type ?? null, part.group ?? null];
    const [row] = await this.db.rows(
      "queue_why",
      "select :queue_why($1::text, $2::text, $3::text) as why",
      values,
      call,
    );
    return row!["why"] as Reason[];
  }

  /** The stages of queues that hold jobs. */
  async stages(call?: CallOptions): Promise<StageRecord[]> {
    return (await this.db.rows("stages", "select * from :stages order by queue, stage", [], call)).map(decodeStage);
  }

  /** What is paused: whole queues, and types and groups of them. */
  async pauses(call?: CallOptions): Promise<PauseRecord[]> {
    return (
      await this.db.rows("pauses", 'select *, job_id::text from :pauses order by queue, type, "group"', [], call)
    ).map(decodePause);
  }

  /** Circuit breakers that have counted something, or hold a type back. */
  async breakers(call?: CallOptions): Promise<BreakerRecord[]> {
    return (await this.db.rows("breakers", "select * from :breakers order by queue, type", [], call)).map(
      decodeBreaker,
      decodeChild,
    );
  }

  /** The groups that something was set for. */
  async groups(call?: CallOptions): Promise<GroupRecord[]> {
    const text =
      'select queue, "group", weight, max_running as "maxRunning", rate from :groups order by queue, "group"';
    return (await this.db.rows("groups", text, [], call)) as unknown as GroupRecord[];
  }

  /** All limits that were set, and how much of each is in use. */
  async limits(call?: CallOptions): Promise<LimitRecord[]> {
    const text =
      'select kind, queue, name, max_running as "maxRunning", rate, in_use as "inUse" from :limits order by kind, queue, name';
    return (await this.db.rows("limits", text, [], call)) as unknown as LimitRecord[];
  }
}
