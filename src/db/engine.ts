import { checkList, checkObject, checkPayload, checkText, shown } from "./check-options.js";
import {
  type ClaimColumns,
  type Claimed,
  asDate,
  decodeBreaker,
  decodeClaims,
  decodeDecision,
  decodeDetails,
  decodeFailureGroup,
  decodeJob,
  decodePause,
  decodeQueue,
  decodeQueueEvent,
  decodeRunStats,
  decodeStage,
} from "./decode.js";
import {
  checkId,
  checkKeys,
  checkSeconds,
  checkToken,
  checkType,
  encodeDefaults,
  encodeGroupOptions,
  encodeHeld,
  encodeResourceOptions,
  encodeError,
  encodeIds,
  encodeJob,
  encodeOptions,
  encodeSettlements,
  hasLargePayload,
  toJson,
  toJsonList,
} from "./encode.js";
import { InvalidArgumentError, LeaseLostError, PayloadError, SchemaRestoredError } from "./errors.js";
import { asQueryable } from "./foreign.js";
import { bounds } from "./limits.js";
import { checkSchema } from "./migrate.js";
import { payloadChunks } from "./payload.js";
import { type CallOptions, type ConnectionPool, type Queryable, inTransaction, runQuery } from "./queryable.js";
import { ScheduleEngine } from "./schedule-engine.js";
import { ServerEngine } from "./server-engine.js";
import { SqsEngine } from "./sqs-engine.js";
import { checkSchemaName, defaultSchema, statementPrefix } from "./schema-name.js";
import type {
  BreakerRecord,
  CancelFilter,
  ClaimOptions,
  ClaimedJob,
  CountFilter,
  DecisionNote,
  DecisionRecord,
  Defaults,
  Depth,
  EnqueueOptions,
  Enqueued,
  FailureFilter,
  FailureGroup,
  FailureRetry,
  FailuresRetried,
  GroupDepth,
  GroupOptions,
  ResourceOptions,
  LimitRecord,
  GroupRecord,
  JobCounts,
  JobDetails,
  JobError,
  JobId,
  JobOutcome,
  JobRecord,
  Json,
  ListFilter,
  MaintenanceReport,
  NewJob,
  PauseRecord,
  QueueEvent,
  QueuePart,
  QueueRecord,
  Replay,
  Replayed,
  Retention,
  RunStats,
  RunStatsFilter,
  Settlement,
  SpaceReport,
  StageRecord,
  TypeDepth,
} from "./types.js";

/** Options of `new Engine`. */
export interface EngineOptions {
  /** A `pg` Pool, or anything that queries and connects like one. */
  readonly pool: ConnectionPool;
  /** The schema that holds the cell. Default `millrace`. */
  readonly schema?: string;
  /**
   * Keep the engine's few statements prepared on each connection. Default true; turn off behind poolers that cannot.
   */
  readonly prepare?: boolean;
}

/**
 * A claim that promoted or reaped does not wait for busy lanes, because it holds what others may wait for; the next one
 * does. One that met lanes without jobs only, of very many, looks elsewhere the next time.
 */
const mostClaimTries = 10;
const stageBatch = 10_000;
const callKeys = new Set(["tx"]);
const settlementKeys = new Set(["token", "outcome", "jobs", "results", "logs", "error", "delaySeconds"]);
const claimKeys = new Set<string>([
  "queues",
  "types",
  "limit",
  "groupLimit",
  "maxBytes",
  "worker",
  "leaseSeconds",
  "leaseFactor",
  "leaseCapSeconds",
  "trackStart",
] satisfies (keyof ClaimOptions)[]);

/**
 * The engine's verbs, one method per SQL function. Every call takes an explicit transaction as `{ tx }`, or commits by
 * itself.
 *
 * @example
 * ```ts
 * import pg from "pg";
 * import { Engine } from "millrace";
 *
 * const engine = new Engine({ pool: new pg.Pool() });
 * await engine.enqueue({ type: "resize", input: { key: "a.png" } });
 * for (const job of await engine.claim({ limit: 10 })) await engine.complete(job);
 * ```
 */
export class Engine {
  /** The schema that holds the cell. */
  readonly schema: string;
  /** The verbs on schedules. */
  readonly schedules: ScheduleEngine = new ScheduleEngine((...call) => this.#call(...call));
  /** What only a server asks for. @internal */
  readonly server: ServerEngine = new ServerEngine((...call) => this.#call(...call));
  /** What the SQS endpoint needs beyond the verbs here. @internal */
  readonly sqs: SqsEngine = new SqsEngine((...call) => this.#call(...call));
  readonly #pool: ConnectionPool;
  readonly #prepare: boolean;

  constructor(options: EngineOptions) {
    checkKeys(options, new Set(["pool", "schema", "prepare"]));
    this.schema = checkSchemaName(options.schema ?? defaultSchema);
    this.#pool = options.pool;
    this.#prepare = options.prepare ?? true;
  }

  /** The same engine on another pool, or on one connection of it. */
  withPool(pool: ConnectionPool): Engine {
    return new Engine({ pool, schema: this.schema, prepare: this.#prepare });
  }

  /** Refuse a schema of another version, with the command to run. Changes nothing. */
  async check(): Promise<void> {
    await checkSchema(this.#pool, { schema: this.schema });
    await this.#call("cell_status", "select payload_limit, restored from :cell_status()", []).then(([row]) => {
      if (row?.["restored"])
        throw new SchemaRestoredError(
          `the schema "${this.schema}" was restored from another server`,
          'run "millrace repair"',
        );
    });
  }

  /** Run several calls in one transaction: give it to each as `{ tx }`. What `work` throws takes all of them back. */
  async transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T> {
    return inTransaction(this.#pool, undefined, work);
  }

  /**
   * Append one job. Returns its id before anything commits. `wake`: a queue whose sleeping workers this very commit
   * wakes.
   */
  async enqueue(job: NewJob, call?: CallOptions, wake?: string): Promise<Enqueued> {
    checkObject(job, "the job");
    const { type, input, payload, ...options } = job;
    checkPayload(payload);
    const values = [
      checkType(type),
      toJson(input, "input", bounds.inputBytes),
      encodeOptions(options),
      payload ?? null,
      ...(wake === undefined ? [] : [wake]),
    ];
    if (payload) await this.#checkPayload(payload.length, call);
    const told = wake === undefined ? "" : ", :queue_notify(array[$5::text])";
    const [row] = await this.#call(
      "job_enqueue",
      `select job_id::text, duplicate${told} from :job_enqueue($1::text, $2::json, $3::json, $4::bytea)`,
      values,
      call,
    );
    return { id: String(row?.["job_id"]), duplicate: row?.["duplicate"] === true };
  }

  /** Append many jobs that share their options, in one statement: the fastest way in. `wake` as in `enqueue`. */
  async enqueueMany(
    type: string,
    inputs: readonly unknown[],
    options: Omit<EnqueueOptions, "payload"> = {},
    call?: CallOptions,
    wake?: string,
  ): Promise<Enqueued[]> {
    checkList(inputs, "inputs");
    checkObject(options, "options");
    return this.#enqueueMany(
      toJsonList(inputs, "inputs", bounds.inputBytes),
      encodeOptions({ ...options, type: checkType(type) }),
      call,
      wake,
    );
  }

  /** Append many jobs, each with its own options. Large payloads follow in pieces, in the same transaction. */
  async enqueueEach(jobs: readonly NewJob[], call?: CallOptions): Promise<Enqueued[]> {
    checkList(jobs, "jobs");
    for (const job of jobs) checkObject(job, "a job");
    const inputs = toJsonList(
      jobs.map((job) => job.input),
      "inputs",
      bounds.inputBytes,
    );
    const options = `[${jobs.map(encodeJob).join(",")}]`;
    for (const { payload } of jobs) if (payload) await this.#checkPayload(payload.length, call);
    if (!jobs.some(hasLargePayload)) return this.#enqueueMany(inputs, options, call);
    return this.#inTransaction(call, async (tx) => {
      const enqueued = await this.#enqueueMany(inputs, options, { tx });
      for (const [i, { id, duplicate }] of enqueued.entries()) {
        if (!duplicate && hasLargePayload(jobs[i]!)) await this.#appendPayload(id, [jobs[i]!.payload!], tx);
      }
      return enqueued;
    });
  }

  #inTransaction<T>(call: CallOptions | undefined, work: (tx: Queryable) => Promise<T>): Promise<T> {
    return inTransaction(this.#pool, call?.tx === undefined ? undefined : asQueryable(call.tx), work);
  }

  /** Send a payload in pieces, in the transaction that enqueued its job. Returns its length. */
  async #appendPayload(
    id: JobId,
    bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    tx: Queryable,
  ): Promise<number> {
    let piece = 0;
    let seen = 0;
    for await (const chunk of payloadChunks(bytes)) {
      seen += chunk.length;
      await this.#call("payload_append", "select :payload_append($1::bigint, $2::int, $3::bytea)", [id, piece, chunk], {
        tx,
      });
      piece += 1;
    }
    return seen;
  }

  async #enqueueMany(inputs: string, options: string, call?: CallOptions, wake?: string): Promise<Enqueued[]> {
    const told = wake === undefined ? "" : ", :queue_notify(array[$3::text])";
    const [row] = await this.#call(
      "job_enqueue_many",
      `select to_json(job_ids::text[]) as job_ids, to_json(duplicates) as duplicates${told} from :job_enqueue_many($1::json, $2::json)`,
      [inputs, options, ...(wake === undefined ? [] : [wake])],
      call,
    );
    const ids = (row?.["job_ids"] ?? []) as unknown[];
    const duplicates = row?.["duplicates"] as boolean[] | null;
    return ids.map((id, i) => ({ id: String(id), duplicate: duplicates?.[i] ?? false }));
  }

  /**
   * Append one job whose payload comes as a stream, a piece of 1 MiB at a time. `size` is its exact length in bytes.
   * Job and payload commit together.
   */
  async enqueueStream(
    job: NewJob,
    size: number,
    bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    call?: CallOptions,
  ): Promise<Enqueued> {
    if (!Number.isSafeInteger(size) || size < 0)
      throw new InvalidArgumentError(`a payload cannot have ${size} bytes`, "give its exact length");
    checkObject(job, "the job");
    const { type, input, payload: _payload, ...options } = job;
    const values = [checkType(type), toJson(input, "input", bounds.inputBytes), encodeOptions(options, size)];
    await this.#checkPayload(size, call);
    return this.#inTransaction(call, async (tx) => {
      const [row] = await this.#call(
        "job_enqueue",
        "select job_id::text, duplicate from :job_enqueue($1::text, $2::json, $3::json)",
        values,
        { tx },
      );
      const id = String(row?.["job_id"]);
      const duplicate = row?.["duplicate"] === true;
      if (duplicate) return { id, duplicate };
      const seen = await this.#appendPayload(id, bytes, tx);
      if (seen !== size)
        throw new InvalidArgumentError(`the payload had ${seen} bytes, not ${size}`, "give its exact length");
      return { id, duplicate };
    });
  }

  /** A part of a job's payload; null when it has none, empty past its end. */
  async payloadRead(id: JobId, offset = 0, length = 1_048_576, call?: CallOptions): Promise<Uint8Array | null> {
    const [row] = await this.#call(
      "payload_read",
      "select :payload_read($1::bigint, $2::bigint, $3::int) as bytes",
      [checkId(id), offset, length],
      call,
    );
    return (row?.["bytes"] ?? null) as Uint8Array | null;
  }

  /** A job's payload in pieces of 1 MiB, so that nobody holds it whole. */
  async *payloadStream(id: JobId, call?: CallOptions): AsyncGenerator<Uint8Array> {
    for (let offset = 0; ;) {
      const bytes = await this.payloadRead(id, offset, undefined, call);
      if (!bytes || bytes.length === 0) return;
      yield bytes;
      offset += bytes.length;
    }
  }

  /**
   * Claim jobs. An empty array when there is nothing to do, or, inside a transaction of yours, when others are claiming
   * just now.
   */
  async claim(options: ClaimOptions = {}, call?: CallOptions): Promise<ClaimedJob[]> {
    checkKeys(options, claimKeys);
    for (let tries = 1; ; tries += 1) {
      const { jobs, busy, more } = await this.#claimOnce(options, call);
      const mayHaveMore = more || (busy && !call?.tx);
      if (jobs.length > 0 || !mayHaveMore || tries === mostClaimTries) return jobs;
    }
  }

  async #claimOnce(options: ClaimOptions, call: CallOptions | undefined): Promise<Claimed> {
    const [row] = await this.#call(
      "job_claim_json",
      "select :job_claim_json($1::text[], $2::text[], $3::int, $4::text, $5::float8, $6::float8, $7::float8, $8::bigint, $9::boolean, $10::boolean, $11::int) as claims",
      [
        options.queues ?? ["default"],
        options.types ?? null,
        options.limit ?? 1,
        options.worker ?? null,
        options.leaseSeconds ?? null,
        options.leaseFactor ?? null,
        options.leaseCapSeconds ?? null,
        options.maxBytes ?? 67_108_864,
        options.trackStart ?? false,
        call?.tx === undefined,
        options.groupLimit ?? null,
      ],
      call,
    );
    return decodeClaims((row?.["claims"] ?? []) as ClaimColumns[]);
  }

  /** Prolong leases. Returns the ids of the jobs each token still holds; a missing token or job is lost. */
  async extend(
    tokens: readonly string[],
    seconds = 30,
    call?: CallOptions,
  ): Promise<Map<string, { leaseEndsAt: Date; jobIds: JobId[] }>> {
    const rows = await this.#call(
      "claim_extend",
      "select token, lease_ends_at, to_json(job_ids::text[]) as job_ids from :claim_extend($1::uuid[], $2::float8)",
      [tokens.map(checkToken), seconds],
      call,
    );
    return new Map(
      rows.map((row) => [
        String(row["token"]),
        { leaseEndsAt: asDate(row["lease_ends_at"])!, jobIds: row["job_ids"] as JobId[] },
      ]),
    );
  }

  /** Say that work on a job has begun; see `ClaimOptions.trackStart`. */
  async start(job: Held, call?: CallOptions): Promise<void> {
    await this.#report(
      "job_start",
      "select to_json(:job_start($1::uuid, $2::bigint[])::text[]) as refused",
      job,
      [],
      call,
    );
  }

  /** Record success. Throws LeaseLostError when the token no longer holds the job. */
  async complete(job: Held, result?: unknown, call?: CallOptions): Promise<void> {
    await this.#report(
      "job_complete",
      "select to_json(:job_complete($1::uuid, $2::bigint[], $3::json)::text[]) as refused",
      job,
      [result === undefined ? null : `[${toJson(result, "result", bounds.resultBytes)}]`],
      call,
    );
  }

  /** Record success for many jobs of one claim. Returns the ids that the token no longer held. */
  async completeMany(
    token: string,
    ids: readonly JobId[],
    results?: readonly unknown[],
    call?: CallOptions,
  ): Promise<JobId[]> {
    const [row] = await this.#call(
      "job_complete",
      "select to_json(:job_complete($1::uuid, $2::bigint[], $3::json)::text[]) as refused",
      [checkToken(token), encodeIds(ids), results ? toJsonList(results, "results", bounds.resultBytes) : null],
      call,
    );
    return (row?.["refused"] ?? []) as JobId[];
  }

  /** The job failed for good. */
  async fail(job: Held, error?: JobError, call?: CallOptions): Promise<void> {
    await this.#report(
      "job_fail",
      "select to_json(:job_fail($1::uuid, $2::bigint[], $3::json)::text[]) as refused",
      job,
      [encodeError(error)],
      call,
    );
  }

  /** The attempt failed; try again after the policy's delay, or an explicit one. */
  async retry(job: Held, error?: JobError, delaySeconds?: number, call?: CallOptions): Promise<void> {
    await this.#report(
      "job_retry",
      "select to_json(:job_retry($1::uuid, $2::bigint[], $3::json, $4::float8)::text[]) as refused",
      job,
      [encodeError(error), delaySeconds === undefined ? null : checkSeconds("delaySeconds", delaySeconds)],
      call,
    );
  }

  /** Give the job back unharmed: the same attempt again. */
  async release(job: Held, delaySeconds = 0, call?: CallOptions): Promise<void> {
    await this.#report(
      "job_release",
      "select to_json(:job_release($1::uuid, $2::bigint[], $3::float8)::text[]) as refused",
      job,
      [checkSeconds("delaySeconds", delaySeconds)],
      call,
    );
  }

  /** Close the job as failed and put a copy into another queue, in one transaction. */
  async deadLetter(job: Held, queue: string, error?: JobError, call?: CallOptions): Promise<void> {
    await this.#report(
      "job_dead_letter",
      "select to_json(:job_dead_letter($1::uuid, $2::bigint[], $3::text, $4::json)::text[]) as refused",
      job,
      [queue, encodeError(error)],
      call,
    );
  }

  /** Give one job of a claim its own end of lease; 0 ends it at once. */
  async setVisibility(job: Held, seconds: number, call?: CallOptions): Promise<Date> {
    const [row] = await this.#call(
      "job_set_visibility",
      "select :job_set_visibility($1::uuid, $2::bigint, $3::float8) as until",
      [...encodeHeld(job), seconds],
      call,
    );
    if (!row?.["until"]) throw new LeaseLostError([job.id]);
    return asDate(row["until"])!;
  }

  /** Report several outcomes, and claim more in the same round trip if asked. */
  async settle(
    settlements: readonly Settlement[],
    claim?: ClaimOptions,
    call?: CallOptions,
  ): Promise<{ refused: JobId[]; claimed: ClaimedJob[] }> {
    const { refused, claims } = await this.settleAndClaim(settlements, claim ? [claim] : [], call);
    return { refused, claimed: claims.flatMap(({ jobs }) => jobs) };
  }

  /** Report several outcomes and make several claims, all in one round trip. Busy lanes are not waited for. */
  async settleAndClaim(
    settlements: readonly Settlement[],
    claims: readonly ClaimOptions[],
    call?: CallOptions,
  ): Promise<{ refused: JobId[]; claims: Claimed[] }> {
    checkList(settlements, "settlements");
    for (const claim of claims) checkKeys(claim, claimKeys);
    const [only] = claims;
    if (settlements.length === 0 && claims.length === 1 && only)
      return { refused: [], claims: [await this.#claimOnce(only, call)] };
    for (const settlement of settlements) {
      checkKeys(settlement, settlementKeys);
      checkToken(settlement.token);
      checkList(settlement.jobs, "jobs");
      settlement.jobs.forEach(checkId);
      if ("delaySeconds" in settlement && settlement.delaySeconds !== undefined)
        checkSeconds("delaySeconds", settlement.delaySeconds);
    }
    const [row] = await this.#call(
      "job_settle",
      "select :job_settle($1::json, $2::json, $3::boolean) as settled",
      [encodeSettlements(settlements), toJson(claims, "claims"), call?.tx === undefined],
      call,
    );
    const settled = row?.["settled"] as { refused: JobId[]; claims: ClaimColumns[][] };
    return { refused: settled.refused, claims: settled.claims.map(decodeClaims) };
  }

  /** Cancel jobs by id. Returns how many were cancelled; finished ones are left alone. */
  async cancel(ids: readonly JobId[], because?: string, call?: CallOptions): Promise<number> {
    return this.#count(
      "job_cancel",
      "select :job_cancel($1::bigint[], $2::text) as n",
      [encodeIds(ids), because ?? null],
      call,
    );
  }

  /** Cancel all live jobs that match every filter given. */
  async cancelWhere(filter: CancelFilter, call?: CallOptions): Promise<number> {
    checkKeys(filter, new Set(["queue", "type", "tenant", "fingerprint", "because"]));
    return this.#count(
      "job_cancel_where",
      "select :job_cancel_where($1::text, $2::text, $3::text, $4::text, $5::text) as n",
      [
        filter.queue ?? null,
        filter.type ?? null,
        filter.tenant ?? null,
        filter.fingerprint ?? null,
        filter.because ?? null,
      ],
      call,
    );
  }

  /**
   * Give failed and expired jobs more attempts and a renewed expiry: the given ids, or all of a type. Discarded ones
   * are left alone. Returns how many; `decisions` tells who and why.
   */
  async addRetries(
    attempts: number,
    which: ({ readonly ids: readonly JobId[] } | { readonly type: string; readonly queue?: string }) &
      DecisionNote & { readonly perSecond?: number },
    call?: CallOptions,
  ): Promise<number> {
    const byId = "ids" in which;
    checkKeys(which, new Set([...(byId ? ["ids"] : ["type", "queue"]), "by", "because", "perSecond"]));
    return this.#count(
      "job_add_retries",
      "select :job_add_retries($1::int, $2::bigint[], $3::text, $4::text, p_by => $5::text, p_because => $6::text, p_per_second => $7::float8) as n",
      [
        attempts,
        byId ? encodeIds(which.ids) : null,
        byId ? null : which.type,
        byId ? null : (which.queue ?? null),
        which.by ?? null,
        which.because ?? null,
        which.perSecond ?? null,
      ],
      call,
    );
  }

  /**
   * Failed jobs that wait for a decision, those with alike errors together, the most frequent first. Looks at the
   * newest 10,000 that match.
   */
  async failures(filter: FailureFilter = {}, call?: CallOptions): Promise<FailureGroup[]> {
    checkKeys(filter, new Set(["queue", "type", "since", "until", "limit"]));
    const rows = await this.#call(
      "failure_groups",
      `select fingerprint, name, code, message, jobs, first_at, last_at, to_json(types) as types, to_json(queues) as queues, last_job_id::text
         from :failure_groups($1::text, $2::text, $3::timestamptz, $4::timestamptz, $5::int)`,
      [filter.queue ?? null, filter.type ?? null, filter.since ?? null, filter.until ?? null, filter.limit ?? 100],
      call,
    );
    return rows.map(decodeFailureGroup);
  }

  /** Give failed jobs more attempts, oldest first, one batch of them. Ask with `next` until it is null. */
  async retryFailures(which: FailureRetry, call?: CallOptions): Promise<FailuresRetried> {
    checkKeys(
      which,
      new Set(["fingerprint", "queue", "type", "attempts", "perSecond", "limit", "after", "startAt", "by", "because"]),
    );
    const [row] = await this.#call(
      "failure_retry",
      `select retried, after::text, to_json(start_at) as start_at
         from :failure_retry($1::text, $2::text, $3::text, $4::int, $5::float8, $6::int, $7::bigint, $8::timestamptz, $9::text, $10::text)`,
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
      new Set(["from", "to", "queue", "type", "states", "target", "perSecond", "dryRun", "limit", "after", "startAt"]),
    );
    const [row] = await this.#call(
      "job_replay",
      `select replayed, to_json(until) as until, after::text, to_json(start_at) as start_at
         from :job_replay($1::timestamptz, $2::timestamptz, $3::text, $4::text, $5::text[], $6::text, $7::float8, $8::int, $9::boolean, $10::bigint, $11::timestamptz)`,
      [
        which.from,
        which.to ?? null,
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
    return { jobs: replayed, next: after === null ? null : { ...which, to: until, after, startAt } };
  }

  /**
   * Decide that nobody will retry these failed or expired jobs, once and for good. Returns how many; others are left
   * alone.
   */
  async discard(ids: readonly JobId[], note: DecisionNote = {}, call?: CallOptions): Promise<number> {
    checkKeys(note, new Set(["by", "because"]));
    return this.#count(
      "job_discard",
      "select :job_discard($1::bigint[], $2::text, $3::text) as n",
      [encodeIds(ids), note.by ?? null, note.because ?? null],
      call,
    );
  }

  /** What was decided on a job, oldest first. */
  async decisions(id: JobId, call?: CallOptions): Promise<DecisionRecord[]> {
    return (
      await this.#call(
        "decisions",
        "select * from :decisions where job_id = $1::bigint order by id",
        [checkId(id)],
        call,
      )
    ).map(decodeDecision);
  }

  /** Move waiting dead letters back to where they came from, or to `target`. Returns how many. */
  async redrive(
    queue: string,
    options: { readonly target?: string; readonly limit?: number } = {},
    call?: CallOptions,
  ): Promise<number> {
    checkKeys(options, new Set(["target", "limit"]));
    return this.#count(
      "queue_redrive",
      "select :queue_redrive($1::text, $2::text, $3::int) as n",
      [queue, options.target ?? null, options.limit ?? 1000],
      call,
    );
  }

  /** Drop all waiting jobs of a queue, whatever their number, at the same cost. Returns how many. */
  async purge(queue: string, call?: CallOptions): Promise<number> {
    return this.#count("queue_purge", "select :queue_purge($1::text) as n", [queue], call);
  }

  /** One job with its attempts and progress; null when there is none. */
  async get(id: JobId, call?: CallOptions): Promise<JobDetails | null> {
    const [row] = await this.#call("job_get", "select :job_get($1::bigint) as details", [checkId(id)], call);
    const details = row?.["details"] as Parameters<typeof decodeDetails>[1] | null;
    return details ? decodeDetails(id, details) : null;
  }

  /** Those of some jobs that have ended, and how. An id nobody knows has the state `unknown`. */
  async outcomes(ids: readonly JobId[], call?: CallOptions): Promise<JobOutcome[]> {
    const rows = await this.#call(
      "job_outcomes",
      "select job_id::text as id, state, reason, result, error from :job_outcomes($1::bigint[])",
      [encodeIds(ids)],
      call,
    );
    return rows as unknown as JobOutcome[];
  }

  /** Jobs that match every filter given, newest first. */
  async list(filter: ListFilter = {}, call?: CallOptions): Promise<JobRecord[]> {
    checkKeys(
      filter,
      new Set(["queue", "state", "type", "tenant", "undecided", "createdFrom", "createdTo", "before", "limit"]),
    );
    const rows = await this.#call(
      "job_list",
      "select *, id::text as id_text from :job_list($1::text, $2::text, $3::text, $4::text, $5::timestamptz, $6::timestamptz, $7::bigint, $8::int, $9::boolean)",
      [
        filter.queue ?? null,
        filter.state ?? null,
        filter.type ?? null,
        filter.tenant ?? null,
        filter.createdFrom ?? null,
        filter.createdTo ?? null,
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
    checkKeys(filter, new Set(["queue", "type", "tenant", "group", "createdFrom", "createdTo"]));
    const [row] = await this.#call(
      "job_count",
      "select * from :job_count($1::text, $2::text, $3::text, $4::text, $5::timestamptz, $6::timestamptz)",
      [
        filter.queue ?? null,
        filter.type ?? null,
        filter.tenant ?? null,
        filter.group ?? null,
        filter.createdFrom ?? null,
        filter.createdTo ?? null,
      ],
      call,
    );
    return Object.fromEntries(Object.entries(row ?? {}).map(([state, jobs]) => [state, Number(jobs)])) as JobCounts;
  }

  /** How long attempts took, per type and window, from the records of attempts. */
  async runStats(filter: RunStatsFilter = {}, call?: CallOptions): Promise<RunStats[]> {
    checkKeys(filter, new Set(["type", "queue", "windowsSeconds"]));
    const rows = await this.#call(
      "run_stats",
      "select * from :run_stats($1::text, $2::text, $3::float8[])",
      [filter.type ?? null, filter.queue ?? null, filter.windowsSeconds ?? [60, 3600, 86_400]],
      call,
    );
    return rows.map(decodeRunStats);
  }

  /** The jobs a claim would look at next, untouched. */
  async peek(queue = "default", limit = 10, call?: CallOptions): Promise<JobRecord[]> {
    const rows = await this.#call(
      "job_peek",
      "select *, id::text as id_text from :job_peek($1::text, $2::int)",
      [queue, limit],
      call,
    );
    return rows.map(decodeJob);
  }

  /** How much waits and runs, at constant cost. */
  async depth(queue = "default", call?: CallOptions): Promise<Depth> {
    const [row] = await this.#call("queue_depth", "select * from :queue_depth($1::text)", [queue], call);
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

  /**
   * How much of a queue waits, is delayed and runs for each group, the one with the most waiting first. Exact up to
   * 10,000 jobs that wait; beyond that waiting and delayed are estimates from a sample, at a cost that depends neither
   * on the backlog nor on the number of groups.
   */
  async queueGroups(queue = "default", limit = 100, call?: CallOptions): Promise<GroupDepth[]> {
    const rows = await this.#call(
      "queue_groups",
      "select * from :queue_groups($1::text, $2::int)",
      [queue, limit],
      call,
    );
    return rows.map((row) => ({
      group: row["group"] as string | null,
      waiting: Number(row["waiting"]),
      delayed: Number(row["delayed"]),
      running: Number(row["running"]),
      oldestAgeSeconds: row["oldest_age_seconds"] as number | null,
      share: row["share"] as number,
      estimated: row["estimated"] as boolean,
    }));
  }

  /**
   * How much of a queue waits, is delayed and runs for each type, and for how long the oldest waits, at constant cost.
   */
  async queueTypes(queue = "default", call?: CallOptions): Promise<TypeDepth[]> {
    const rows = await this.#call("queue_types", "select * from :queue_types($1::text)", [queue], call);
    return rows.map((row) => ({
      type: row["type"] as string,
      waiting: Number(row["waiting"]),
      delayed: Number(row["delayed"]),
      running: Number(row["running"]),
      oldestAgeSeconds: row["oldest_age_seconds"] as number | null,
    }));
  }

  /** Leave a value for others, and for the job's next attempt. */
  async progressPut(job: Held, value: unknown, call?: CallOptions): Promise<void> {
    const [row] = await this.#call(
      "progress_put",
      "select :progress_put($1::uuid, $2::bigint, $3::json) as held",
      [...encodeHeld(job), toJson(value, "progress", bounds.progressBytes)],
      call,
    );
    if (!row?.["held"]) throw new LeaseLostError([job.id]);
  }

  /** The latest progress of a job; null when there is none. */
  async progressGet(id: JobId, call?: CallOptions): Promise<{ value: Json; updatedAt: Date } | null> {
    const [row] = await this.#call(
      "progress_get",
      "select value, updated_at from :progress_get($1::bigint)",
      [checkId(id)],
      call,
    );
    return row?.["updated_at"] ? { value: row["value"] as Json, updatedAt: asDate(row["updated_at"])! } : null;
  }

  /** Wake workers that sleep on these queues. Jobs are found without it, by polling. */
  async notify(queues: readonly string[], call?: CallOptions): Promise<void> {
    await this.#call("queue_notify", "select :queue_notify($1::text[])", [queues], call);
  }

  /** Create a queue, or change its defaults. Returns them. */
  async queuePut(name: string, defaults: Defaults = {}, call?: CallOptions): Promise<Json> {
    return this.#value(
      "queue_put",
      "select :queue_put($1::text, $2::jsonb) as value",
      [name, encodeDefaults(defaults)],
      call,
    );
  }

  /** All queues with their state and counts, by name. */
  async queueList(call?: CallOptions): Promise<QueueRecord[]> {
    return (await this.#call("queues", "select * from :queues order by name", [], call)).map(decodeQueue);
  }

  /**
   * Hand out no more jobs of a queue, or only of a type or a group of it, until that is resumed. Running ones go on.
   */
  async queuePause(
    name: string,
    why: QueuePart & { readonly by?: string; readonly because?: string } = {},
    call?: CallOptions,
  ): Promise<void> {
    checkKeys(why, new Set(["by", "because", "type", "group"]));
    const values = [name, why.by ?? null, why.because ?? null, why.type ?? null, why.group ?? null];
    await this.#call(
      "queue_pause",
      "select :queue_pause($1::text, $2::text, $3::text, $4::text, $5::text)",
      values,
      call,
    );
  }

  /** Hand out jobs of a paused queue, or of the part of it that was paused, again. */
  async queueResume(name: string, part: QueuePart & DecisionNote = {}, call?: CallOptions): Promise<void> {
    checkKeys(part, new Set(["by", "because", "type", "group"]));
    const values = [name, part.type ?? null, part.group ?? null, part.by ?? null, part.because ?? null];
    await this.#call(
      "queue_resume",
      "select :queue_resume($1::text, $2::text, $3::text, $4::text, $5::text)",
      values,
      call,
    );
  }

  /** Take no more jobs into a queue. It is finished when its last job has ended. */
  async queueClose(name: string, note: DecisionNote = {}, call?: CallOptions): Promise<void> {
    checkKeys(note, new Set(["by", "because"]));
    await this.#call(
      "queue_close",
      "select :queue_close($1::text, $2::text, $3::text)",
      [name, note.by ?? null, note.because ?? null],
      call,
    );
  }

  /** Take jobs into a closed queue again, as long as it has not finished. */
  async queueOpen(name: string, note: DecisionNote = {}, call?: CallOptions): Promise<void> {
    checkKeys(note, new Set(["by", "because"]));
    await this.#call(
      "queue_open",
      "select :queue_open($1::text, $2::text, $3::text)",
      [name, note.by ?? null, note.because ?? null],
      call,
    );
  }

  /**
   * What happened to queues since an earlier call returned this cursor, and the next cursor. Without one: the newest
   * 10,000 events. Nothing is missed, and nothing comes twice.
   */
  async queueEvents(
    since?: string,
    call?: CallOptions,
  ): Promise<{ readonly cursor: string; readonly events: QueueEvent[] }> {
    const [row] = await this.#call(
      "queue_events",
      "select cursor, events from :queue_events($1::text)",
      [since ?? null],
      call,
    );
    return {
      cursor: String(row?.["cursor"]),
      events: ((row?.["events"] ?? []) as Record<string, unknown>[]).map(decodeQueueEvent),
    };
  }

  /** The stages of queues that hold jobs. */
  async stageList(call?: CallOptions): Promise<StageRecord[]> {
    return (await this.#call("stages", "select * from :stages order by queue, stage", [], call)).map(decodeStage);
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
    checkKeys(note, new Set(["by", "because"]));
    const text = `select :${name}($1::text, $2::text, $3::int, $4::text, $5::text) as n`;
    for (let jobs = 0; ;) {
      const some = await this.#count(
        name,
        text,
        [queue, stage, stageBatch, note.by ?? null, note.because ?? null],
        call,
      );
      jobs += some;
      if (some < stageBatch) return jobs;
    }
  }

  /** What is paused: whole queues, and types and groups of them. */
  async pauses(call?: CallOptions): Promise<PauseRecord[]> {
    return (
      await this.#call("pauses", 'select *, job_id::text from :pauses order by queue, type, "group"', [], call)
    ).map(decodePause);
  }

  /** Circuit breakers that have counted something, or hold a type back. */
  async breakers(call?: CallOptions): Promise<BreakerRecord[]> {
    return (await this.#call("breakers", "select * from :breakers order by queue, type", [], call)).map(decodeBreaker);
  }

  /**
   * Close circuit breakers and forget what they have counted: all, or those of a queue, a type, or both. Returns how
   * many.
   */
  async resetBreakers(
    which: { readonly queue?: string; readonly type?: string } = {},
    call?: CallOptions,
  ): Promise<number> {
    checkKeys(which, new Set(["queue", "type"]));
    return this.#count(
      "breaker_reset",
      "select :breaker_reset($1::text, $2::text) as n",
      [which.queue ?? null, which.type ?? null],
      call,
    );
  }

  /**
   * Set what waits in a queue, or only its jobs of a type, aside: jobs that come from now on go first, the others are
   * handed out when there are no such jobs. The cost does not depend on how much it is. Returns how many jobs now wait
   * set aside.
   */
  async queueSetAside(name: string, part: Pick<QueuePart, "type"> = {}, call?: CallOptions): Promise<number> {
    checkKeys(part, new Set(["type"]));
    return this.#count(
      "queue_set_aside",
      "select :queue_set_aside($1::text, $2::text) as n",
      [name, part.type ?? null],
      call,
    );
  }

  /**
   * Drop the waiting jobs of a queue, or only of a type or a group of it, that were enqueued before a time. The cost
   * does not depend on how many are ready. They are cancelled at once. Returns how many were taken out of the depth
   * already; beyond 100,000, and those of groups, follow as claims and maintenance pass over them.
   */
  async queueShed(name: string, before: Date, part: QueuePart = {}, call?: CallOptions): Promise<number> {
    checkKeys(part, new Set(["type", "group"]));
    if (!(before instanceof Date) || Number.isNaN(before.getTime()))
      throw new InvalidArgumentError("before is not a time", "give a Date");
    const values = [name, before.toISOString(), part.type ?? null, part.group ?? null];
    return this.#count(
      "queue_shed",
      "select :queue_shed($1::text, $2::timestamptz, $3::text, $4::text) as n",
      values,
      call,
    );
  }

  /** Set how a group of a queue is treated. Returns what is set now. */
  async groupPut(queue: string, group: string, options: GroupOptions, call?: CallOptions): Promise<GroupOptions> {
    const values = [queue, group, encodeGroupOptions(options)];
    return (await this.#value(
      "group_put",
      "select :group_put($1::text, $2::text, $3::jsonb) as value",
      values,
      call,
    )) as GroupOptions;
  }

  /** The groups that something was set for. */
  async groupList(call?: CallOptions): Promise<GroupRecord[]> {
    const text =
      'select queue, "group", weight, max_running as "maxRunning", rate from :groups order by queue, "group"';
    return (await this.#call("groups", text, [], call)) as unknown as GroupRecord[];
  }

  /** Name something that jobs need while they run, and set its limits. Returns what is set now. */
  async resourcePut(name: string, options: ResourceOptions, call?: CallOptions): Promise<ResourceOptions> {
    const values = [name, encodeResourceOptions(options)];
    return (await this.#value(
      "resource_put",
      "select :resource_put($1::text, $2::jsonb) as value",
      values,
      call,
    )) as ResourceOptions;
  }

  /** All limits that were set, and how much of each is in use. */
  async limits(call?: CallOptions): Promise<LimitRecord[]> {
    const text =
      'select kind, queue, name, max_running as "maxRunning", rate, in_use as "inUse" from :limits order by kind, queue, name';
    return (await this.#call("limits", text, [], call)) as unknown as LimitRecord[];
  }

  /** Set the defaults of a job type, in all queues. */
  async typePut(type: string, defaults: Defaults, call?: CallOptions): Promise<Json> {
    return this.#value(
      "type_put",
      "select :type_put($1::text, $2::jsonb) as value",
      [type, encodeDefaults(defaults)],
      call,
    );
  }

  /** Set the defaults and retention of the whole cell. */
  async cellPut(defaults: Defaults & Retention, call?: CallOptions): Promise<Json> {
    return this.#value("cell_put", "select :cell_put($1::jsonb) as value", [encodeDefaults(defaults)], call);
  }

  /** Let a database role act as producer, worker, reader or admin. */
  async roleGrant(role: string, kind: "producer" | "worker" | "reader" | "admin", call?: CallOptions): Promise<void> {
    await this.#call("role_grant", "select :role_grant($1::name, $2::text)", [role, kind], call);
  }

  /**
   * What any process may do for all, once: promote, reap, expire, fold, finish. With `everySeconds`, unless anybody did
   * within that time.
   */
  async maintain({
    everySeconds,
    ...call
  }: CallOptions & { readonly everySeconds?: number } = {}): Promise<MaintenanceReport> {
    return (await this.#value(
      "maintain",
      "select :maintain($1::float8) as value",
      [everySeconds ?? null],
      call,
    )) as unknown as MaintenanceReport;
  }

  /**
   * Put lanes (types, priorities, sets of resources) that have nothing to rest, in queues that have very many. Returns
   * how many changed.
   */
  async lanesRest(call?: CallOptions): Promise<number> {
    return this.#count("lanes_rest", "select :lanes_rest() as n", [], call);
  }

  /**
   * Give space back: rotate rings, compact control tables. Each step is a transaction of its own, so that no lock is
   * held for long.
   */
  async maintainSpace(options: { readonly compactBound?: number } = {}): Promise<SpaceReport> {
    const bound = options.compactBound ?? 20_000;
    const ticketChildren = await this.#untilZero("ticket_rotate", 8);
    const jobChildren = await this.#untilZero("job_rotate", 32);
    const compacted: string[] = [];
    for (let i = 0; i < 6; i += 1) {
      const table = await this.#value(
        "control_compact",
        "select :control_compact($1::bigint) as value",
        [bound],
        undefined,
      );
      if (table === null) break;
      compacted.push(table as string);
    }
    const groupsForgotten = await this.#count("groups_forget", "select :groups_forget() as n", [], undefined);
    const lanesForgotten = await this.#count("lanes_forget", "select :lanes_forget() as n", [], undefined);
    return { ticketChildren, jobChildren, compacted, groupsForgotten, lanesForgotten };
  }

  async #untilZero(name: "ticket_rotate" | "job_rotate", most: number): Promise<number> {
    for (let done = 0; done < most; done += 1) {
      if ((await this.#count(name, `select :${name}() as n`, [], undefined)) === 0) return done;
    }
    return most;
  }

  /**
   * After a dump was restored into another server: give waiting jobs new tickets. Run it once, while nothing else runs.
   */
  async repair(call?: CallOptions): Promise<number> {
    return this.#count("cell_repair", "select :cell_repair() as n", [], call);
  }

  /**
   * Refuse a payload before anything is sent, so that the caller's transaction stays usable. The server checks again.
   */
  async #checkPayload(bytes: number, call: CallOptions | undefined): Promise<void> {
    const [row] = await this.#call("cell_status", "select payload_limit, restored from :cell_status()", [], call);
    const limit = Number(row?.["payload_limit"]);
    if (bytes >= limit)
      throw new PayloadError(
        `the payload has ${bytes} bytes; the limit is ${limit}, exclusive`,
        "store it elsewhere and enqueue a reference",
      );
  }

  async #report(name: string, text: string, job: Held, rest: unknown[], call: CallOptions | undefined): Promise<void> {
    const [token, id] = encodeHeld(job);
    const [row] = await this.#call(name, text, [token, `{${id}}`, ...rest], call);
    const refused = (row?.["refused"] ?? []) as JobId[];
    if (refused.length > 0) throw new LeaseLostError(refused);
  }

  async #count(name: string, text: string, values: unknown[], call: CallOptions | undefined): Promise<number> {
    const [row] = await this.#call(name, text, values, call);
    return Number(row?.["n"]);
  }

  async #value(name: string, text: string, values: unknown[], call: CallOptions | undefined): Promise<Json> {
    const [row] = await this.#call(name, text, values, call);
    return (row?.["value"] ?? null) as Json;
  }

  /** The one place where the schema's name, checked to be a plain one, enters a statement: as `:function`. */
  #call(
    name: string,
    text: string,
    values: unknown[],
    call?: CallOptions,
  ): Promise<readonly Record<string, unknown>[]> {
    if (call) checkKeys(call, callKeys);
    for (const value of values) checkParameter(value);
    const db: Queryable = call?.tx === undefined ? this.#pool : asQueryable(call.tx);
    const qualified = text.replaceAll(/(?<![:\w]):(?=[a-z_]+)/g, `${this.schema}.`);
    return runQuery(
      db,
      qualified,
      values,
      this.#prepare ? `${statementPrefix(this.schema)}.${name}/${values.length}` : undefined,
    );
  }
}

/**
 * A parameter, or a list of them, that PostgreSQL would not hold as it is, or that the driver would make something else
 * of: an object becomes JSON there.
 */
function checkParameter(value: unknown): void {
  if (Array.isArray(value)) for (const one of value) checkScalar(one);
  else checkScalar(value);
}

function checkScalar(value: unknown): void {
  if (typeof value === "string") checkText(value, "a value");
  else if (
    (typeof value === "object" && value !== null && !(value instanceof Date) && !ArrayBuffer.isView(value)) ||
    typeof value === "function" ||
    typeof value === "symbol"
  )
    throw new InvalidArgumentError(
      `a value cannot be ${shown(value)}`,
      "give a text, a number, or what the documentation asks for",
    );
}

/** What it takes to report on a job. */
export type Held = Pick<ClaimedJob, "id" | "token">;
