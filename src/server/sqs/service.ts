import { WakeUp } from "../../client/wake-up.js";
import { Combine } from "../../db/combine.js";
import type { Engine } from "../../db/engine.js";
import { DatabaseUnavailableError } from "../../db/errors.js";
import type { SqsMessageRecord, SqsReceipt, SqsVisibility } from "../../db/sqs-engine.js";
import type { Enqueued, JobId } from "../../db/types.js";
import { type Line, NoRoomError } from "../http/shares.js";
import type { Log } from "../log.js";
import { type SqsQueue, isFifoName, readQueue } from "./attributes.js";
import type { ActionContext } from "./context.js";
import { EachCell } from "./each-cell.js";
import type { Prepared } from "./message.js";
import { queueNameOf } from "./names.js";
import { Receipts } from "./receipt.js";
import { type ReceiveRequest, Reception } from "./reception.js";
import { isHeld, refusalOf } from "./refusal.js";
import { SqsError } from "./wire/errors.js";

/** What another server changed of a queue is known after this long at the latest. */
const knownMs = 1000;
/** How long the answer to an attempt is remembered. */
const attemptMs = 300_000;
/** Whoever names more attempts than fit in here gets other messages when one of the first is repeated. */
const maxAttempts = 10_000;
const maxAttemptBytes = 67_108_864;
/** The database is away, or there is no room for us: nobody's message is at fault. */
const isForAll = (error: unknown): boolean => error instanceof DatabaseUnavailableError || error instanceof NoRoomError;
const sending = { maxCalls: 500, maxSize: 4_000_000, isForAll };
/**
 * How long messages wait together for somebody who has one of them, or its fingerprint, in an open transaction; and how
 * long a send that is held waits alone.
 */
const heldMs = 250;
const heldAloneMs = 5000;
const changing = { maxCalls: 500, isForAll };

interface Known {
  readonly queue: Promise<SqsQueue | undefined>;
  readonly since: number;
}

/** What a receive that named its attempt got. */
interface Attempt {
  readonly records: Promise<readonly SqsMessageRecord[]>;
  readonly since: number;
  /** Of the bodies, once they are known. */
  bytes: number;
}

/** What became of a message that was to be deleted. */
type Deleted = "deleted" | "expired";

/**
 * What all actions share: queues as they are known, those who wait for messages, and what is sent and deleted together.
 */
export class SqsService {
  readonly #known = new Map<string, Known>();
  readonly #receptions = new Map<string, Reception>();
  readonly #sends = new Map<string, Combine<Prepared, JobId>>();
  readonly #deletes: EachCell<SqsReceipt, "deleted" | "late" | "held">;
  readonly #lateDeletes: EachCell<Pick<SqsReceipt, "id" | "strict">, Deleted>;
  readonly #hides: EachCell<SqsVisibility, "ok" | "beyond" | "late" | "held">;
  readonly #attempts = new Map<string, Attempt>();
  readonly #heeded = new WeakSet<AbortSignal>();
  readonly #wakeUp: WakeUp;
  /** Handles of messages. */
  readonly receipts: Receipts;
  #isStopping = false;

  constructor(
    readonly engine: Engine,
    private readonly log: Log,
    /** For what may have to wait for somebody's transaction, and holds a connection meanwhile. */
    private readonly waits: Line,
  ) {
    this.#wakeUp = new WakeUp(engine);
    this.receipts = new Receipts((cell) => this.engine.sqs.secret(cell));
    this.#deletes = new EachCell((receipts) => this.#delete(receipts), changing);
    this.#lateDeletes = new EachCell((receipts) => this.#deleteLate(receipts), changing);
    this.#hides = new EachCell((changes) => this.#hide(changes), changing);
  }

  /** The queue a request is about. */
  async queueOf(
    input: { readonly QueueUrl?: string | undefined },
    context: Pick<ActionContext, "pathQueue">,
  ): Promise<SqsQueue> {
    return this.queueNamed(queueNameOf(input, context));
  }

  /** The same, as it is now: for whoever reads or changes the queue itself. */
  async currentQueueOf(
    input: { readonly QueueUrl?: string | undefined },
    context: Pick<ActionContext, "pathQueue">,
  ): Promise<SqsQueue> {
    const name = queueNameOf(input, context);
    this.forget(name);
    return this.queueNamed(name);
  }

  async queueNamed(name: string): Promise<SqsQueue> {
    const queue = await this.findQueue(name);
    if (!queue) throw new SqsError("QueueDoesNotExist");
    return queue;
  }

  findQueue(name: string): Promise<SqsQueue | undefined> {
    const known = this.#known.get(name);
    if (known && performance.now() - known.since < knownMs) return known.queue;
    const queue = this.engine.sqs.queueGet(name).then((record) => (record ? readQueue(record) : undefined));
    this.#known.set(name, { queue, since: performance.now() });
    // Only what is there is remembered: one that is not may be made any moment.
    queue.then(
      (found) => found || this.#known.delete(name),
      () => this.#known.delete(name),
    );
    return queue;
  }

  /** Something of a queue was changed here. */
  forget(name: string): void {
    this.#known.delete(name);
  }

  send(queue: SqsQueue, messages: readonly Prepared[]): Promise<PromiseSettledResult<JobId>[]> {
    let sends = this.#sends.get(queue.queue);
    if (!sends) this.#sends.set(queue.queue, (sends = new Combine((some) => this.#send(queue.queue, some), sending)));
    return Promise.allSettled(messages.map((message) => sends.add(message, message.bytes)));
  }

  async #send(queue: string, messages: readonly Prepared[]): Promise<JobId[]> {
    const sent = await this.#append(messages, heldMs).catch((error: unknown) => {
      // those who were sent together are tried alone, in their order
      if (!isHeld(error) || messages.length > 1) throw error;
      return this.waits(() => this.#append(messages, heldAloneMs));
    });
    for (const {
      options: { delaySeconds },
    } of messages)
      if (typeof delaySeconds === "number") this.reception(queue).expect(delaySeconds);
    this.wake(queue);
    return sent.map(({ id }) => id);
  }

  #append(messages: readonly Prepared[], waitMs: number): Promise<Enqueued[]> {
    const options = messages.map((message) => JSON.stringify(message.options));
    const isSame = options.every((one) => one === options[0]) && messages[0]!.options["fingerprint"] === undefined;
    return this.engine.sqs.send(
      messages.map(({ input }) => input),
      isSame ? options[0]! : `[${options.join(",")}]`,
      waitMs,
    );
  }

  /**
   * Most are held by their tokens still. Of the others, strict ones are refused if they live, and the rest is cancelled
   * wherever it is. What may wait for somebody's transaction does so apart, and holds up nobody.
   */
  async delete(queue: string, receipt: SqsReceipt): Promise<Deleted> {
    let deleted = await this.#deletes.add(receipt);
    if (deleted === "held") {
      const late = await this.waits(() => this.engine.sqs.delete([receipt]));
      deleted = late.length > 0 ? "late" : "deleted";
    }
    if (receipt.strict) this.wake(queue);
    return deleted === "late" ? this.#lateDeletes.add(receipt) : deleted;
  }

  async #delete(receipts: readonly SqsReceipt[]): Promise<readonly ("deleted" | "late" | "held")[]> {
    try {
      const late = new Set(await this.engine.sqs.delete(receipts, heldMs));
      return receipts.map(({ id }) => (late.has(id) ? "late" : "deleted"));
    } catch (error) {
      return heldAlone(error, receipts);
    }
  }

  async #deleteLate(receipts: readonly Pick<SqsReceipt, "id" | "strict">[]): Promise<Deleted[]> {
    const expired = new Set<JobId>();
    for (const isStrict of [false, true]) {
      const late = [...new Set(receipts.filter(({ strict }) => strict === isStrict).map(({ id }) => id))];
      if (late.length > 0) for (const id of await this.engine.sqs.deleteLate(late, isStrict)) expired.add(id);
    }
    return receipts.map(({ id }) => (expired.has(id) ? "expired" : "deleted"));
  }

  /** The same for a message that is to be hidden for another time than it was. */
  async hide(change: SqsVisibility): Promise<"ok" | "gone" | "beyond"> {
    const outcome = await this.#hides.add(change);
    if (outcome !== "late" && outcome !== "held") return outcome;
    return this.waits(() => this.engine.sqs.visibility(change));
  }

  async #hide(changes: readonly SqsVisibility[]): Promise<readonly ("ok" | "beyond" | "late" | "held")[]> {
    try {
      return await this.engine.sqs.visibilityMany(changes, heldMs);
    } catch (error) {
      return heldAlone(error, changes);
    }
  }

  /**
   * A receive that names its attempt gets the same again when it is repeated, as long as all of it is still in flight,
   * and its time begins anew.
   */
  async receive(queue: SqsQueue, request: ReceiveRequest, attemptId?: string): Promise<readonly SqsMessageRecord[]> {
    const receive = () => this.reception(queue.queue).receive(request);
    if (attemptId === undefined) return receive();
    const key = `${queue.queue} ${attemptId}`;
    const before = this.#attempts.get(key);
    if (before && performance.now() - before.since < attemptMs) {
      const records = await before.records;
      if (records.length > 0 && (await this.#prolong(records, request.visibilitySeconds))) return records;
    }
    const records = receive();
    const attempt: Attempt = { records, since: performance.now(), bytes: 0 };
    this.#attempts.delete(key);
    this.#attempts.set(key, attempt);
    records.then(
      (got) => {
        attempt.bytes = got.reduce((sum, { body }) => sum + body.length, 0);
        this.#forgetAttempts();
      },
      () => this.#attempts.delete(key),
    );
    return records;
  }

  /** Those that are too old, and the oldest when all together are too large. */
  #forgetAttempts(): void {
    let bytes = 0;
    for (const attempt of this.#attempts.values()) bytes += attempt.bytes;
    for (const [key, attempt] of this.#attempts) {
      if (
        performance.now() - attempt.since < attemptMs &&
        bytes <= maxAttemptBytes &&
        this.#attempts.size <= maxAttempts
      )
        break;
      this.#attempts.delete(key);
      bytes -= attempt.bytes;
    }
  }

  async #prolong(records: readonly SqsMessageRecord[], seconds: number): Promise<boolean> {
    for (const { id, token, receivedAt } of records) {
      if ((await this.hide({ id, token, strict: true, seconds, receivedAt })) !== "ok") return false;
    }
    return true;
  }

  reception(queue: string): Reception {
    let reception = this.#receptions.get(queue);
    if (!reception) {
      reception = new Reception(this.engine.sqs, queue, isFifoName(queue), (messages) => this.release(queue, messages));
      if (this.#isStopping) reception.stop();
      this.#receptions.set(queue, reception);
    }
    return reception;
  }

  /**
   * What the sender of one entry of a batch is told; what is ours to blame is logged, since the batch itself succeeds.
   */
  refusal(error: unknown): SqsError {
    const refusal = refusalOf(error);
    if (refusal.status >= 500)
      this.log("error", "an entry of a batch failed", { error: String((error as Error)?.stack ?? error) });
    return refusal;
  }

  /** Give messages back that nobody got: as if they had not been received. */
  async release(queue: string, messages: readonly Pick<SqsMessageRecord, "id" | "token">[]): Promise<void> {
    try {
      await this.engine.settle(messages.map(({ token, id }) => ({ token, outcome: "released", jobs: [id] })));
      this.wake(queue);
    } catch (error) {
      // Their visibility timeout ends all the same.
      this.log("warn", "messages that were not delivered could not be given back", {
        queue,
        messages: messages.length,
        error: String(error),
      });
    }
  }

  /** A message that nobody can be given fails for good, on record: it would come back for ever. */
  async putAside(queue: string, { id, token }: Pick<SqsMessageRecord, "id" | "token">, reason: unknown): Promise<void> {
    const message = `it cannot be shown as a message: ${reason instanceof Error ? reason.message : String(reason)}`;
    this.log("error", "a message was put aside", { queue, job: id, error: String((reason as Error)?.stack ?? reason) });
    try {
      await this.engine.settle([{ token, outcome: "failed", jobs: [id], error: { message } }]);
    } catch (error) {
      // It comes back after its visibility timeout, and is put aside then.
      this.log("warn", "a message could not be put aside", { queue, job: id, error: String(error) });
    }
  }

  /** There is something new in a queue: told to those who wait here at once, and to all other processes. */
  wake(queue: string): void {
    this.#receptions.get(queue)?.wake();
    this.#wakeUp.tell(queue);
  }

  /** Another process says so; or all of them may have, while nobody listened. */
  hear(queue: string | undefined): void {
    if (queue !== undefined) this.#receptions.get(queue)?.wake();
    else for (const reception of this.#receptions.values()) reception.wake();
  }

  /** From now on nobody waits, once this fires. */
  heed(stopping: AbortSignal): void {
    if (this.#heeded.has(stopping)) return;
    this.#heeded.add(stopping);
    const stop = () => {
      this.#isStopping = true;
      for (const reception of this.#receptions.values()) reception.stop();
    };
    if (stopping.aborted) stop();
    else stopping.addEventListener("abort", stop, { once: true });
  }

  async close(): Promise<void> {
    await this.#wakeUp.close();
  }
}

/** Of several, one that is held is found by trying them apart; alone it is left to whoever asked for it. */
function heldAlone(error: unknown, calls: readonly unknown[]): readonly ["held"] {
  if (!isHeld(error) || calls.length > 1) throw error;
  return ["held"];
}
