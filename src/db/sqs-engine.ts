import { decodeEnqueued } from "./decode.js";
import { checkId, checkToken, encodeDefaults, encodeIds, toJson } from "./encode.js";
import { RawJson } from "./raw-json.js";
import type { Defaults, Enqueued, JobId, Json } from "./types.js";
import { Verbs } from "./verbs/verbs.js";

/** A queue as SQS clients see it. */
export interface SqsQueueRecord {
  /** What clients call it. */
  readonly name: string;
  /** What it is called here. */
  readonly queue: string;
  /** Those that were given. */
  readonly attributes: Readonly<Record<string, string>>;
  readonly tags: Readonly<Record<string, string>>;
  readonly createdAt: string;
  readonly changedAt: string;
}

/** A message that was claimed. Times are in milliseconds. */
export interface SqsMessageRecord {
  readonly id: JobId;
  readonly token: string;
  readonly body: string;
  readonly attempt: number;
  readonly receivedAt: number;
  readonly firstReceivedAt: number;
  readonly group: string | null;
  readonly fingerprint: string | null;
  readonly headers: { readonly [name: string]: Json } | null;
  /** Of a dead letter: the job it is a copy of, the first of them, and how often they were received. */
  readonly source: {
    readonly id: JobId;
    readonly queue: string;
    readonly attempts: number;
    readonly firstId?: JobId;
    readonly attemptsBefore?: number;
  } | null;
}

/** What it takes to delete a message. */
export interface SqsReceipt {
  readonly token: string;
  readonly id: JobId;
  /** Only while it is invisible. */
  readonly strict: boolean;
}

/** How long a message is to be hidden from now on. */
export interface SqsVisibility extends SqsReceipt {
  readonly seconds: number;
  /** When it was received, in milliseconds. */
  readonly receivedAt: number;
}

/** A task that moves dead letters. */
export interface SqsMoveRecord {
  readonly id: string;
  readonly destination: string | null;
  readonly perSecond: number | null;
  readonly status: "RUNNING" | "CANCELLING" | "COMPLETED" | "CANCELLED" | "FAILED";
  readonly failure: string | null;
  readonly startedAt: number;
  readonly toMove: number;
  readonly moved: number;
}

type Values = Readonly<Record<string, string | null>>;

/** The SQL functions `sqs_…`, one method each. */
export class SqsEngine extends Verbs {
  queueCreate(
    name: string,
    queue: string,
    attributes: Values,
    tags: Values,
    options: Defaults,
    { waitSeconds, adopts }: { readonly waitSeconds: number; readonly adopts: boolean },
  ): Promise<"created" | "exists" | "deleted" | "foreign"> {
    const text =
      "select :sqs_queue_create($1::text, $2::text, $3::jsonb, $4::jsonb, $5::jsonb, $6::float8, $7::boolean) as value";
    return this.#value("sqs_queue_create", text, [
      name,
      queue,
      toJson(attributes),
      toJson(tags),
      encodeDefaults(options),
      waitSeconds,
      adopts,
    ]);
  }

  queueChange(name: string, attributes: Values, tags: Values, options: Defaults): Promise<boolean> {
    const text = "select :sqs_queue_change($1::text, $2::jsonb, $3::jsonb, $4::jsonb) as value";
    return this.#value("sqs_queue_change", text, [name, toJson(attributes), toJson(tags), encodeDefaults(options)]);
  }

  queueDelete(name: string): Promise<boolean> {
    return this.#value("sqs_queue_delete", "select :sqs_queue_delete($1::text) as value", [name]);
  }

  /** A step of emptying a queue. False when it may not be emptied yet. */
  queuePurge(name: string, waitSeconds: number, step: "may" | "drop" | "done"): Promise<boolean> {
    return this.#value("sqs_queue_purge", "select :sqs_queue_purge($1::text, $2::float8, $3::text) as value", [
      name,
      waitSeconds,
      step,
    ]);
  }

  queueGet(name: string): Promise<SqsQueueRecord | null> {
    return this.#value("sqs_queue_get", "select :sqs_queue_get($1::text) as value", [name]);
  }

  queueList(prefix: string, after: string, limit: number, target?: string): Promise<string[]> {
    const text = "select :sqs_queue_list($1::text, $2::text, $3::int, $4::text) as value";
    return this.#value("sqs_queue_list", text, [prefix, after, limit, target ?? null]);
  }

  async depth(
    queue: string,
  ): Promise<{ readonly visible: number; readonly invisible: number; readonly delayed: number }> {
    const [row] = await this.db.rows("sqs_depth", "select * from :sqs_depth($1::text)", [queue]);
    return {
      visible: Number(row?.["visible"]),
      invisible: Number(row?.["invisible"]),
      delayed: Number(row?.["delayed"]),
    };
  }

  inFlight(queue: string): Promise<JobId[]> {
    return this.#value("sqs_in_flight", "select to_json(:sqs_in_flight($1::text)::text[]) as value", [queue]);
  }

  /** What receipts are sealed with; of another cell than the only one, nothing. */
  async secret(cell?: string): Promise<Buffer | undefined> {
    if (cell !== undefined) return undefined;
    return this.#value("sqs_secret_get", "select :sqs_secret_get() as value", []);
  }

  /**
   * Append messages whose JSON is put together already, so that bodies stay as they are. One object of options for all,
   * or one each. Whoever holds a fingerprint in an open transaction is waited for up to `waitMs`; then it fails with
   * 55P03.
   */
  async send(inputs: readonly string[], options: string, waitMs: number): Promise<Enqueued[]> {
    // One statement, and the setting comes first: the function is given what depends on it.
    const [row] = await this.db.rows(
      "sqs_send",
      `select to_json(job_ids::text[]) as job_ids, to_json(duplicates) as duplicates
         from (select set_config('lock_timeout', $3::text, true) as wait) bound
        cross join lateral :job_enqueue_many($1::json, case when bound.wait is not null then $2::json end)`,
      [`[${inputs.join(",")}]`, options, `${waitMs}ms`],
    );
    return decodeEnqueued(row);
  }

  /** Claim messages. `more`: there may be more right now. */
  async receive(
    queue: string,
    limit: number,
    seconds: number,
    groupLimit?: number,
  ): Promise<{ readonly messages: readonly SqsMessageRecord[]; readonly more: boolean }> {
    const text = "select :sqs_receive($1::text, $2::int, $3::float8, $4::int)::text as value";
    const received = await this.#value<string>("sqs_receive", text, [queue, limit, seconds, groupLimit ?? null]);
    const { messages, more } = decodeReceived(received);
    return { messages: groupLimit === undefined ? messages : groupsTogether(messages), more };
  }

  /**
   * Complete messages. Returns the ids that are no longer held. Whoever has one of their claims in an open transaction
   * is waited for up to `waitMs`, 0 as long as it takes; then it fails with 55P03.
   */
  delete(receipts: readonly SqsReceipt[], waitMs = 0): Promise<JobId[]> {
    const claims = new Map<string, { readonly strict: boolean; readonly ids: Set<JobId> }>();
    for (const { token, id, strict } of receipts) {
      const claim = claims.get(checkToken(token)) ?? { strict, ids: new Set() };
      claim.ids.add(checkId(id));
      claims.set(token, claim);
    }
    const inOrder = [...claims].toSorted(([a], [b]) => (a < b ? -1 : 1));
    // The setting comes first, as in `send`.
    const text = `select to_json(late::text[]) as value
         from (select set_config('lock_timeout', $5::text, true) as wait) bound
        cross join lateral :sqs_delete(case when bound.wait is not null then $1::uuid[] end, $2::int[], $3::boolean[],
          $4::bigint[]) late`;
    return this.#value("sqs_delete", text, [
      arrayOf(inOrder.map(([token]) => token)),
      arrayOf(inOrder.map(([, { ids }]) => ids.size)),
      arrayOf(inOrder.map(([, { strict }]) => strict)),
      arrayOf(inOrder.flatMap(([, { ids }]) => [...ids].toSorted(byNumber))),
      `${waitMs}ms`,
    ]);
  }

  /** Cancel messages that were no longer held. Returns the ids of strict ones that still live. */
  deleteLate(ids: readonly JobId[], strict: boolean): Promise<JobId[]> {
    return this.#value(
      "sqs_delete_late",
      "select to_json(:sqs_delete_late($1::bigint[], $2::boolean)::text[]) as value",
      [encodeIds(ids), strict],
    );
  }

  /** Hide a message, wherever it is. */
  visibility({ token, id, strict, seconds, receivedAt }: SqsVisibility): Promise<"ok" | "gone" | "beyond"> {
    const text = "select :sqs_visibility($1::uuid, $2::bigint, $3::float8, $4::float8, $5::boolean) as value";
    return this.#value("sqs_visibility", text, [checkToken(token), checkId(id), seconds, receivedAt, strict]);
  }

  /** Hide messages that their tokens hold; the others are late, and left alone. `waitMs` as in `delete`. */
  visibilityMany(changes: readonly SqsVisibility[], waitMs: number): Promise<("ok" | "beyond" | "late")[]> {
    for (const { token, id } of changes) {
      checkToken(token);
      checkId(id);
    }
    const text = `select to_json(outcomes) as value
         from (select set_config('lock_timeout', $2::text, true) as wait) bound
        cross join lateral :sqs_visibility_many(case when bound.wait is not null then $1::json end) outcomes`;
    return this.#value("sqs_visibility_many", text, [JSON.stringify(changes), `${waitMs}ms`]);
  }

  moveStart(source: string, destination: string | undefined, perSecond: number | undefined): Promise<string | null> {
    const text = "select :sqs_move_start($1::text, $2::text, $3::int)::text as value";
    return this.#value("sqs_move_start", text, [source, destination ?? null, perSecond ?? null]);
  }

  /** How many were moved; -1 when it does not run, null when there is none. */
  async moveCancel(id: string): Promise<number | null> {
    const moved = await this.#value<string | null>("sqs_move_cancel", "select :sqs_move_cancel($1::uuid) as value", [
      checkToken(id),
    ]);
    return moved === null ? null : Number(moved);
  }

  moveList(source: string, limit: number): Promise<SqsMoveRecord[]> {
    return this.#value("sqs_move_list", "select :sqs_move_list($1::text, $2::int) as value", [source, limit]);
  }

  moveStep(): Promise<{ readonly queues: readonly string[]; readonly waitSeconds: number | null }> {
    return this.#value("sqs_move_step", "select :sqs_move_step() as value", []);
  }

  #value<T>(name: string, text: string, values: unknown[]): Promise<T> {
    return this.db.value(name, text, values, undefined);
  }
}

/** An array of PostgreSQL, of what needs no quotes. */
const arrayOf = (values: readonly (string | number | boolean)[]): string => `{${values.join(",")}}`;

const byNumber = (a: JobId, b: JobId): number => a.length - b.length || (a < b ? -1 : 1);

/** What `sqs_receive` returns of a claim, but for the bodies. */
interface ReceivedClaim {
  readonly token?: string;
  readonly claimedAt: string;
  readonly ids: readonly JobId[];
  readonly attempts?: readonly number[];
  readonly extras?: readonly (Partial<Pick<SqsMessageRecord, "group" | "fingerprint" | "headers" | "source">> | null)[];
  readonly more?: boolean;
  readonly busy?: boolean;
}

/** Read what `sqs_receive` returned: an object or a list is a body as it is, everything else was sent as a text. */
function decodeReceived(text: string): { readonly messages: SqsMessageRecord[]; readonly more: boolean } {
  const json = new RawJson(text);
  const claims: { readonly claim: ReceivedClaim; readonly bodies: readonly string[] }[] = [];
  let first: Readonly<Record<JobId, number | null>> | null = null;
  let more: boolean | null = null;
  json.members((name) => {
    if (name === "claims") json.items(() => claims.push(readClaim(json)));
    else if (name === "first") first = json.value() as typeof first;
    else more = json.value() as typeof more;
  });
  const messages = claims.flatMap(({ claim, bodies }) =>
    claim.token === undefined ? [] : messagesOf(claim, claim.token, bodies, first ?? {}),
  );
  return { messages, more: more ?? claims.some(({ claim }) => claim.more || claim.busy) };
}

function readClaim(json: RawJson): { readonly claim: ReceivedClaim; readonly bodies: readonly string[] } {
  const claim: Record<string, unknown> = {};
  const bodies: string[] = [];
  json.members((name) => {
    if (name === "inputs") json.items(() => bodies.push(json.raw()));
    else claim[name] = json.value();
  });
  return { claim: claim as unknown as ReceivedClaim, bodies };
}

function messagesOf(
  { ids, claimedAt, attempts, extras }: ReceivedClaim,
  token: string,
  bodies: readonly string[],
  first: Readonly<Record<JobId, number | null>>,
): SqsMessageRecord[] {
  const receivedAt = Date.parse(claimedAt);
  return ids.map((id, i) => {
    const { group = null, fingerprint = null, headers = null, source } = extras?.[i] ?? {};
    const body = bodies[i]!;
    return {
      id,
      token,
      body: body.startsWith('"') ? (JSON.parse(body) as string) : body,
      attempt: attempts?.[i] ?? 1,
      receivedAt,
      firstReceivedAt: first[id] ?? receivedAt,
      group,
      fingerprint,
      headers,
      source: typeof source?.attempts === "number" ? source : null,
    };
  });
}

/** What came back of a group, and what is new, go together: with the claim that has the first of them. */
function groupsTogether(messages: readonly SqsMessageRecord[]): SqsMessageRecord[] {
  const claims = new Map<string, number>();
  const turns = new Map<string | null, number>();
  for (const { token, group } of messages) {
    if (!claims.has(token)) claims.set(token, claims.size);
    if (!turns.has(group)) turns.set(group, claims.get(token)!);
  }
  return messages.toSorted((a, b) => turns.get(a.group)! - turns.get(b.group)!);
}
