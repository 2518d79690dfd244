import {
  decodeAudit,
  decodeDefinition,
  decodeJob,
  decodeProcess,
  decodeRunning,
  decodeSample,
  decodeUnhandled,
  decodeWorker,
} from "./decode.js";
import { checkId, checkKeys, encodeIds } from "./encode.js";
import { exactText } from "./exact-json.js";
import type { CallOptions } from "./foreign.js";
import type { Queryable } from "./queryable.js";
import type {
  DefinitionRecord,
  AuditFilter,
  AuditRecord,
  CellGroup,
  FindFilter,
  Found,
  JobId,
  JobRecord,
  Json,
  LiveSample,
  LiveSampleOptions,
  ProcessRecord,
  RunningJob,
  SettingsName,
  UnhandledType,
  WorkerRecord,
} from "./types.js";
import { Verbs } from "./verbs/verbs.js";

const findKeys = new Set<string>([
  "queue",
  "state",
  "type",
  "tenant",
  "group",
  "fingerprint",
  "error",
  "failure",
  "input",
  "text",
  "undecided",
  "isLive",
  "since",
  "until",
  "endedSince",
  "endedUntil",
  "before",
  "limit",
  "seconds",
] satisfies (keyof FindFilter)[]);

/**
 * What only a server asks for: jobs that somebody looks for, who does what right now, live samples, the audit, and
 * requests that are repeated.
 */
export class ServerEngine extends Verbs {
  /**
   * Jobs that match every filter given, newest first, as far as a look of some seconds gets: for people who look for
   * something rare among many. `byIds` shows them.
   */
  async find(filter: FindFilter = {}, call?: CallOptions): Promise<Found> {
    checkKeys(filter, findKeys);
    const {
      queue,
      state,
      type,
      tenant,
      group,
      fingerprint,
      error,
      failure,
      input,
      text: words,
      undecided = false,
      isLive = false,
      since,
      until,
      endedSince,
      endedUntil,
      before,
      limit = 100,
      seconds = 2,
    } = filter;
    const values = [
      queue,
      state,
      type,
      tenant,
      group,
      fingerprint,
      error,
      undecided,
      isLive,
      since,
      until,
      before && checkId(before),
      limit,
      seconds,
      input,
      words,
      failure,
      endedSince,
      endedUntil,
    ];
    const text = `select to_json(ids::text[]) as ids, next::text
                    from :job_find($1::text, $2::text, $3::text, $4::text, $5::text, $6::text, $7::text, $8::boolean, $9::boolean, $10::timestamptz, $11::timestamptz, $12::bigint, $13::int, $14::float8, $15::text, $16::text, $17::text, $18::timestamptz, $19::timestamptz)`;
    const [row] = await this.db.rows(
      "job_find",
      text,
      values.map((value) => value ?? null),
      call,
    );
    return row as unknown as Found;
  }

  /**
   * These jobs, newest first, as many as fit into `maxBytes` of inputs, results and errors, but always one; those that
   * are gone are left out. Default 64 MiB.
   */
  async byIds(ids: readonly JobId[], maxBytes = 67_108_864, call?: CallOptions): Promise<JobRecord[]> {
    const text = `select *, id::text as id_text, parent::text as parent_text
                    from (select v.*, row_number() over newest as n, sum(coalesce(octet_length(v.input::text), 0) + coalesce(octet_length(v.result::text), 0) + coalesce(octet_length(v.last_error::text), 0)) over newest as bytes
                            from :jobs v where v.id = any ($1::bigint[]) window newest as (order by v.id desc)) shown
                   where n = 1 or bytes <= $2::bigint order by shown.id desc`;
    return (await this.db.rows("jobs", text, [encodeIds(ids), maxBytes], call)).map(decodeJob);
  }

  /**
   * The same without what lists do not show: inputs, results, headers and the stacks of errors are neither read nor
   * sent, and are null.
   */
  async briefByIds(ids: readonly JobId[], call?: CallOptions): Promise<JobRecord[]> {
    const text = `select id::text as id_text, queue, type, state, reason, priority, "group", tenant, attempts, max_attempts, created_at, updated_at, run_at, expires_at,
                         deadline, last_attempt_at, finished_at, worker, lease_ends_at, lease_ended, discarded_at, attempt_timeout_seconds, retry, fingerprint, schedule,
                         schedule_slot, payload_size, content_type, stage, cost, parent::text as parent_text, waits, suspended_at, resources,
                         null as headers, null as input, null as result, null as source,
                         case when json_typeof(last_error) = 'object'
                              then json_strip_nulls(json_build_object('name', left(last_error ->> 'name', 200), 'code', left(last_error ->> 'code', 200),
                                     'message', left(coalesce(last_error ->> 'message', last_error::text), 500)))
                              else to_json(left(last_error #>> '{}', 500)) end as last_error
                    from :jobs where id = any ($1::bigint[]) order by id desc`;
    return (await this.db.rows("jobs_brief", text, [encodeIds(ids)], call)).map(decodeJob);
  }

  /** Running jobs, oldest first; with `ids` only those of them. */
  async running(limit = 100, ids?: readonly JobId[], call?: CallOptions): Promise<RunningJob[]> {
    const text = `select *, job_id::text as id_text, extract(epoch from elapsed)::float8 as elapsed_seconds from :claims
                   where $2::bigint[] is null or job_id = any ($2::bigint[]) order by started_at, job_id limit $1::int`;
    const values = [limit, ids === undefined ? null : encodeIds(ids)];
    return (await this.db.rows("claims", text, values, call)).map(decodeRunning);
  }

  /** Processes that run workers, those of one host together. */
  async processes(call?: CallOptions): Promise<ProcessRecord[]> {
    const text = "select * from :workers order by host, pid, id limit 10000";
    return (await this.db.rows("processes", text, [], call)).map(decodeProcess);
  }

  /** Types of which something has been ready for so long, and that no worker takes. */
  async unhandled(minAgeSeconds = 60, call?: CallOptions): Promise<UnhandledType[]> {
    const text = "select * from :types_unhandled($1::float8)";
    return (await this.db.rows("types_unhandled", text, [minAgeSeconds], call)).map(decodeUnhandled);
  }

  /** Who has how much in all queues together, the group with the most waiting first. */
  async cellGroups(limit = 100, call?: CallOptions): Promise<CellGroup[]> {
    const rows = await this.db.rows("cell_groups", "select * from :cell_groups($1::int)", [limit], call);
    return rows.map((row) => ({
      group: row["group"] as string,
      queues: row["queues"] as string[],
      waiting: Number(row["waiting"]),
      ready: Number(row["ready"]),
      blocked: Number(row["blocked"]),
      delayed: Number(row["delayed"]),
      running: Number(row["running"]),
      oldestAgeSeconds: row["oldest_age_seconds"] as number | null,
      estimated: row["estimated"] as boolean,
    }));
  }

  /** What was declared of types after a time, and all of it without one. */
  async schemas(since?: Date, call?: CallOptions): Promise<DefinitionRecord[]> {
    const text = "select * from :definitions where declared_at > coalesce($1::timestamptz, '-infinity')";
    return (await this.db.rows("schemas", text, [since ?? null], call)).map(decodeDefinition);
  }

  /** Who holds jobs, by the names of their claims. */
  async workers(call?: CallOptions): Promise<WorkerRecord[]> {
    const text = `select worker, count(*) as held, count(*) filter (where started) as running, json_agg(distinct type) as types, json_agg(distinct queue) as queues, min(started_at) as since
                    from :claims group by worker order by worker nulls last`;
    return (await this.db.rows("workers", text, [], call)).map(decodeWorker);
  }

  /**
   * What a dashboard shows of all queues, at a cost that depends neither on the backlog nor on the history; see
   * live_sample.sql.
   */
  async liveSample(since: LiveSampleOptions = {}): Promise<LiveSample> {
    checkKeys(since, new Set(["from", "ends", "ages", "failures"]));
    const values = [since.from ?? null, since.ends ?? null, since.ages ?? true, since.failures ?? true];
    const value = valueOf(
      await this.db.rows(
        "live_sample",
        "select :live_sample($1::timestamptz, $2::int[], $3::boolean, $4::boolean) as value",
        values,
      ),
    );
    return decodeSample(value as Record<string, unknown>);
  }

  /** Note what somebody did; in the transaction that does it. */
  async auditAdd(entry: Omit<AuditRecord, "id" | "at">, call?: CallOptions): Promise<void> {
    const values = [
      entry.who,
      entry.action,
      entry.object,
      entry.result,
      entry.count ?? null,
      entry.address ?? null,
      entry.requestId ?? null,
      entry.because ?? null,
      entry.before === undefined || entry.before === null ? null : exactText(entry.before),
      entry.after === undefined || entry.after === null ? null : exactText(entry.after),
    ];
    await this.db.rows(
      "audit_add",
      "select :audit_add($1::text, $2::text, $3::text, $4::text, $5::bigint, $6::text, $7::text, $8::text, $9::json, $10::json)",
      values,
      call,
    );
  }

  /** What was noted, newest first; before an id when paging. */
  async audit(filter: AuditFilter = {}, call?: CallOptions): Promise<AuditRecord[]> {
    checkKeys(
      filter,
      new Set<string>([
        "before",
        "limit",
        "who",
        "action",
        "object",
        "result",
        "since",
        "until",
      ] satisfies (keyof AuditFilter)[]),
    );
    const text = `select *, id::text as id_text from :audits
                   where ($1::bigint is null or id < $1) and ($3::text is null or who = $3)
                     and ($4::text is null or strpos(lower(action), lower($4)) > 0)
                     and ($5::text is null or strpos(lower(object), lower($5)) > 0 or strpos(lower(because), lower($5)) > 0)
                     and ($6::text is null or (result = 'done') = ($6 = 'done'))
                     and ($7::timestamptz is null or at >= $7) and ($8::timestamptz is null or at < $8)
                   order by audits.id desc limit $2::int`;
    const values = [
      filter.before === undefined ? null : checkId(filter.before),
      filter.limit ?? 100,
      filter.who ?? null,
      filter.action ?? null,
      filter.object ?? null,
      filter.result ?? null,
      filter.since ?? null,
      filter.until ?? null,
    ];
    return (await this.db.rows("audits", text, values, call)).map(decodeAudit);
  }

  /** The kind of a job's last error, as `failures` has it; null when it has none. */
  async failureOf(id: JobId, call?: CallOptions): Promise<string | null> {
    const text = "select failure as value from :job_failure_of($1::bigint) as failure";
    return valueOf(await this.db.rows("job_failure_of", text, [checkId(id)], call)) as string | null;
  }

  /** Names of queues, types, groups or tenants with a part in them, those that begin with it first. */
  async names(
    kind: "queue" | "type" | "group" | "tenant",
    part = "",
    limit = 20,
    call?: CallOptions,
  ): Promise<readonly string[]> {
    const text = "select name from :name_find($1::text, $2::text, $3::int) as name";
    return (await this.db.rows("name_find", text, [kind, part, limit], call)).map(({ name }) => String(name));
  }

  /** What is set of something, as one object; null when there is nothing. */
  async settings([kind, name, part]: SettingsName, call?: CallOptions): Promise<Readonly<Record<string, Json>> | null> {
    return valueOf(
      await this.db.rows(
        "settings_get",
        "select :settings_get($1::text, $2::text, $3::text) as value",
        [kind, name, part ?? null],
        call,
      ),
    ) as Readonly<Record<string, Json>> | null;
  }

  /**
   * Do something once for a key, however often it is asked for: whoever asks again within a day gets the first answer,
   * and whoever asks meanwhile waits for it. All of it is in the transaction `call.tx`. `request` tells one request
   * from another; null when the key was used for another one.
   */
  async once<T extends Json>(
    key: string,
    request: string,
    work: () => Promise<T>,
    call: { readonly tx: Queryable },
  ): Promise<{ readonly answer: T; readonly isNew: boolean } | null> {
    const found = valueOf(
      await this.db.rows(
        "idempotent_begin",
        "select :idempotent_begin($1::text, $2::text) as value",
        [key, request],
        call,
      ),
    );
    if (found !== null)
      return (found as { other?: boolean }).other ? null : { answer: (found as { value: T }).value, isNew: false };
    const answer = await work();
    await this.db.rows(
      "idempotent_end",
      "select :idempotent_end($1::text, $2::json)",
      [key, JSON.stringify({ value: answer })],
      call,
    );
    return { answer, isNew: true };
  }

  /** As `peek` of the engine, as lists show jobs: inputs are not read. */
  async peekBrief(queue: string, limit: number): Promise<JobRecord[]> {
    const text = "select id::text as id_text from :job_peek($1::text, $2::int) with ordinality p order by ordinality";
    const ids = (await this.db.rows("job_peek_ids", text, [queue, limit])).map((row) => row["id_text"] as JobId);
    const found = new Map((await this.briefByIds(ids)).map((job) => [job.id, job]));
    return ids.flatMap((id) => found.get(id) ?? []);
  }

  /** As `peek` of the engine, but no more than so many bytes of inputs and errors; always one. */
  async peek(queue: string, limit: number, maxBytes: number): Promise<JobRecord[]> {
    const text = `select *, id::text as id_text, parent::text as parent_text
                    from (select p.*, sum(coalesce(octet_length(p.input::text), 0) + coalesce(octet_length(p.last_error::text), 0)) over (order by p.ordinality) as bytes
                            from :job_peek($1::text, $2::int) with ordinality p) shown
                   where ordinality = 1 or bytes <= $3::bigint order by ordinality`;
    return (await this.db.rows("job_peek", text, [queue, limit, maxBytes])).map(decodeJob);
  }
}

function valueOf([row]: readonly Record<string, unknown>[]): Json {
  return (row?.["value"] ?? null) as Json;
}
