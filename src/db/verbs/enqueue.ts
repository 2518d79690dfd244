import { checkList, checkObject, checkPayload } from "../check-options.js";
import { decodeEnqueued } from "../decode.js";
import { checkType, encodeJob, encodeOptions, hasLargePayload, toJson, toJsonList } from "../encode.js";
import { withCellsOf } from "../elsewhere.js";
import { InvalidArgumentError, PayloadError } from "../errors.js";
import type { CallOptions } from "../foreign.js";
import { bounds } from "../limits.js";
import { payloadChunks, payloadWhole, pieceBytes, wrongLength } from "../payload.js";
import type { Queryable } from "../queryable.js";
import type { EnqueueOptions, Enqueued, JobId, NewJob } from "../types.js";
import { Verbs } from "./verbs.js";

/** A queue whose workers the commit wakes, as the n-th parameter. Another text, told by the number of its values. */
function woken(wake: string | undefined, n: number): { told: string; more: string[] } {
  return wake === undefined ? { told: "", more: [] } : { told: `, :queue_notify(array[$${n}::text])`, more: [wake] };
}

/** Jobs come in (`sql/enqueue`). */
export abstract class EnqueueVerbs extends Verbs {
  /**
   * Append one job. Returns its id before anything commits. `wake`: a queue whose sleeping workers this very commit
   * wakes.
   */
  async enqueue(job: NewJob, call?: CallOptions, wake?: string): Promise<Enqueued> {
    checkObject(job, "the job");
    const { type, input, payload, ...options } = job;
    checkPayload(payload);
    const values = [checkType(type), toJson(input, "input", bounds.inputBytes), encodeOptions(options)];
    if (payload) await this.#checkPayload(payload.length, call);
    return this.#enqueue(values, payload, call, wake);
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

  /**
   * Append jobs that share their options, all of it encoded already: the JSON text of each input, and of the options
   * with their type. `wake` as in `enqueue`.
   */
  async enqueueEncoded(inputs: readonly string[], options: string, wake?: string): Promise<Enqueued[]> {
    return this.#enqueueMany(`[${inputs.join(",")}]`, options, undefined, wake);
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
    return this.db.inTransaction(call, async (tx) => {
      const enqueued = await this.#enqueueMany(inputs, options, { tx });
      for (const [i, { id, duplicate }] of enqueued.entries()) {
        if (!duplicate && hasLargePayload(jobs[i]!)) await this.#appendPayload(id, [jobs[i]!.payload!], tx);
      }
      return enqueued;
    });
  }

  /**
   * Append one job whose payload comes as a stream, a piece of 1 MiB at a time. `size` is its exact length in bytes.
   * Job and payload commit together; up to one piece they are one statement.
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
    const isWhole = size <= pieceBytes;
    const told = encodeOptions(options, isWhole ? undefined : size);
    const values = [checkType(type), toJson(input, "input", bounds.inputBytes), told];
    await this.#checkPayload(size, call);
    if (isWhole) return this.#enqueue(values, await payloadWhole(bytes, size), call);
    return this.db.inTransaction(call, async (tx) => {
      const enqueued = await this.#enqueue(values, undefined, { tx });
      if (enqueued.duplicate) return enqueued;
      const seen = await this.#appendPayload(enqueued.id, bytes, tx);
      if (seen !== size) throw wrongLength(seen, size);
      return enqueued;
    });
  }

  async #enqueue(
    values: readonly string[],
    payload: Uint8Array | undefined,
    call: CallOptions | undefined,
    wake?: string,
  ): Promise<Enqueued> {
    const { told, more } = woken(wake, 5);
    const [row] = await this.db.rows(
      "job_enqueue",
      `select job_id::text, duplicate${told} from :job_enqueue($1::text, $2::json, $3::json, $4::bytea)`,
      [...values, payload ?? null, ...more],
      call,
    );
    const enqueued = { id: String(row?.["job_id"]), duplicate: row?.["duplicate"] === true };
    return enqueued.duplicate ? (await withCellsOf(this.db, [enqueued], call))[0]! : enqueued;
  }

  async #enqueueMany(inputs: string, options: string, call?: CallOptions, wake?: string): Promise<Enqueued[]> {
    const { told, more } = woken(wake, 3);
    const [row] = await this.db.rows(
      "job_enqueue_many",
      `select to_json(job_ids::text[]) as job_ids, to_json(duplicates) as duplicates${told} from :job_enqueue_many($1::json, $2::json)`,
      [inputs, options, ...more],
      call,
    );
    return withCellsOf(this.db, decodeEnqueued(row), call);
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
      const text = "select :payload_append($1::bigint, $2::int, $3::bytea)";
      await this.db.rows("payload_append", text, [id, piece, chunk], { tx });
      piece += 1;
    }
    return seen;
  }

  /**
   * Refuse a payload before anything is sent, so that the caller's transaction stays usable. The server checks again,
   * and where there is no such transaction that is early enough for a piece.
   */
  async #checkPayload(bytes: number, call: CallOptions | undefined): Promise<void> {
    if (bytes <= pieceBytes && call?.tx === undefined) return;
    const [row] = await this.db.rows("cell_status", "select payload_limit, restored from :cell_status()", [], call);
    const limit = Number(row?.["payload_limit"]);
    if (bytes >= limit)
      throw new PayloadError(
        `the payload has ${bytes} bytes; the limit is ${limit}, exclusive`,
        "store it elsewhere and enqueue a reference",
      );
  }
}
