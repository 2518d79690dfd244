import { DatabaseUnavailableError, InvalidArgumentError } from "../db/errors.js";
import {
  SqsEngine,
  type SqsMessageRecord,
  type SqsMoveRecord,
  type SqsQueueRecord,
  type SqsReceipt,
  type SqsVisibility,
} from "../db/sqs-engine.js";
import type { Statements } from "../db/statements.js";
import type { Defaults, Enqueued, JobId } from "../db/types.js";
import { handOut, partial, patienceMs, within } from "./ask.js";
import type { Cell } from "./cell.js";
import { handleOf } from "./handle.js";
import { type Ways, withHandles } from "./ways.js";

/** What is told of a message beside its body. */
interface Message {
  readonly type?: string;
  readonly queue?: string;
  readonly fingerprint?: string;
}

const isList = (options: Message | readonly Message[]): options is readonly Message[] => Array.isArray(options);

type Values = Readonly<Record<string, string | null>>;

/** What SQS clients need, over several cells. A queue of theirs is in the cell of the queue it stands for. */
export class CellsSqs extends SqsEngine {
  #turn = 0;
  /** The queues that names stood for, when they were last looked up. */
  readonly #queueOf = new Map<string, string>();
  /** Cells whose step of moving dead letters has not ended. */
  readonly #stepping = new Set<Cell>();

  constructor(
    readonly ways: Ways,
    db: Statements,
  ) {
    super(db);
  }

  /** The cell that has a queue of this name for SQS clients; the one that would get it when none has. */
  async #at<R>(name: string, ask: (cell: Cell) => Promise<R>): Promise<R> {
    return this.ways.to(await this.#cellOf(name), undefined, ask);
  }

  /** Where it was, it still is, unless it has moved or gone; else all are asked. */
  async #cellOf(name: string): Promise<Cell> {
    const before = this.#queueOf.get(name);
    if (before !== undefined) {
      const cell = await this.ways.router.cellOf({ queue: before });
      if (await this.ways.to(cell, undefined, (at) => at.engine.sqs.queueGet(name))) return cell;
    }
    const { answer: found, missing } = await partial(() =>
      this.ways.all(undefined, (cell) => cell.engine.sqs.queueGet(name)),
    );
    const known = found.find(({ answer }) => answer !== null);
    if (known) this.#queueOf.set(name, known.answer!.queue);
    else this.#queueOf.delete(name);
    if (!known && missing[0]) throw new DatabaseUnavailableError(missing[0].because); // it may be there
    if (!known) return this.ways.router.cellOf({ queue: name });
    const home = await this.ways.router.cellOf({ queue: known.answer!.queue });
    return found.some(({ cell, answer }) => cell === home && answer !== null) ? home : known.cell;
  }

  override async queueCreate(
    name: string,
    queue: string,
    attributes: Values,
    tags: Values,
    options: Defaults,
    how: { readonly waitSeconds: number; readonly adopts: boolean },
  ): Promise<"created" | "exists" | "deleted" | "foreign"> {
    const cell = await this.ways.router.place(queue);
    if (!cell)
      throw new InvalidArgumentError(`queue "${queue}" is spread by tenant`, "messages have none: use another");
    return this.ways.to(cell, undefined, (at) =>
      at.engine.sqs.queueCreate(name, queue, attributes, tags, options, how),
    );
  }

  override async queueChange(name: string, attributes: Values, tags: Values, options: Defaults): Promise<boolean> {
    return this.#at(name, (cell) => cell.engine.sqs.queueChange(name, attributes, tags, options));
  }

  /** Wherever it is known: a queue that has moved is known in both cells. */
  override async queueDelete(name: string): Promise<boolean> {
    const found = await this.ways.all(undefined, (cell) => cell.engine.sqs.queueDelete(name));
    return found.some(({ answer }) => answer);
  }

  override async queuePurge(name: string, waitSeconds: number, step: "may" | "drop" | "done"): Promise<boolean> {
    if (step !== "drop") return this.#at(name, (cell) => cell.engine.sqs.queuePurge(name, waitSeconds, step));
    const found = await this.ways.all(undefined, (cell) => cell.engine.sqs.queuePurge(name, waitSeconds, step));
    return found.some(({ answer }) => answer);
  }

  override async queueGet(name: string): Promise<SqsQueueRecord | null> {
    return this.#at(name, (cell) => cell.engine.sqs.queueGet(name));
  }

  override async queueList(prefix: string, after: string, limit: number, target?: string): Promise<string[]> {
    const { answer: found, missing } = await partial(() =>
      this.ways.all(undefined, (cell) => cell.engine.sqs.queueList(prefix, after, limit, target)),
    );
    if (missing[0]) throw new DatabaseUnavailableError(missing[0].because); // a list says that there are no others
    return [...new Set(found.flatMap(({ answer }) => answer))].toSorted().slice(0, limit);
  }

  override async depth(
    queue: string,
  ): Promise<{ readonly visible: number; readonly invisible: number; readonly delayed: number }> {
    const found = await this.ways.everywhere(queue, undefined, (cell) => cell.engine.sqs.depth(queue));
    const total = (key: "visible" | "invisible" | "delayed"): number =>
      found.reduce((sum, { answer }) => sum + answer[key], 0);
    return { visible: total("visible"), invisible: total("invisible"), delayed: total("delayed") };
  }

  override async inFlight(queue: string): Promise<JobId[]> {
    const found = await this.ways.everywhere(queue, undefined, (cell) => cell.engine.sqs.inFlight(queue));
    return found.flatMap(({ cell, answer }) => answer.map((id) => handleOf(cell.name, id)));
  }

  /** Each cell has one of its own. One from before there were several cells is of the first. */
  override async secret(name?: string): Promise<Buffer | undefined> {
    const { router } = this.ways;
    const { founder } = await router.members();
    const cell = router.cells.get(name ?? founder ?? "");
    return cell && this.ways.to(cell, undefined, (at) => at.engine.sqs.secret());
  }

  /** Messages of one statement are of one queue, or each says its own: those of each cell go together. */
  override async send(inputs: readonly string[], options: string, waitMs: number): Promise<Enqueued[]> {
    const given = JSON.parse(options) as { queue?: string } | { queue?: string }[];
    if (!Array.isArray(given)) return this.#sendTo(given.queue, inputs, options, waitMs);
    const parts = new Map<string | undefined, number[]>();
    for (const [place, { queue }] of given.entries()) parts.set(queue, [...(parts.get(queue) ?? []), place]);
    if (parts.size === 1) return this.#sendTo(given[0]?.queue, inputs, options, waitMs);
    const made: Enqueued[] = Array.from({ length: inputs.length });
    await Promise.all(
      [...parts].map(async ([queue, places]) => {
        const own = JSON.stringify(places.map((place) => given[place]));
        const texts = places.map((place) => inputs[place]!);
        const answers = await this.#sendTo(queue, texts, own, waitMs);
        for (const [i, place] of places.entries()) made[place] = answers[i]!;
      }),
    );
    return made;
  }

  /** Those of one queue; one by one, where it comes from, those whose fingerprints live there. */
  async #sendTo(
    queue: string | undefined,
    inputs: readonly string[],
    text: string,
    waitMs: number,
  ): Promise<Enqueued[]> {
    const options = JSON.parse(text) as Message | Message[];
    const optionsAt = (place: number): Message => (isList(options) ? options[place]! : options);
    const made: Enqueued[] = Array.from({ length: inputs.length });
    const places = [...inputs.keys()];
    await this.ways.following(undefined, async (lingering) => {
      const own = places.filter((place) => !made[place] && lingering.cellOf(optionsAt(place)) === undefined);
      if (own.length > 0) {
        const isAll = own.length === places.length;
        const told = isAll ? text : JSON.stringify(isList(options) ? own.map(optionsAt) : options);
        const texts = own.map((place) => inputs[place]!);
        await this.ways.queue({ queue }, undefined, async (cell) => {
          const sent = await cell.engine.sqs.send(texts, told, waitMs);
          for (const [i, place] of own.entries()) made[place] = withHandles(cell, sent[i]!, "id");
        });
      }
      for (const place of places.filter((one) => !made[one])) {
        const message = optionsAt(place);
        const cell = this.ways.router.cell(lingering.cellOf(message)!);
        const sent = await this.ways.to(cell, undefined, (at) =>
          at.engine.moves.enqueueLeftEncoded(message.type!, inputs[place]!, JSON.stringify(message), waitMs),
        );
        made[place] = withHandles(cell, sent, "id");
      }
    });
    return made;
  }

  /**
   * From the queue's own cell, and from another one in which something of it is left, by turns. What one has handed out
   * is received whatever becomes of the next: nobody else would see it before its time is over.
   */
  override async receive(
    queue: string,
    limit: number,
    seconds: number,
    groupLimit?: number,
  ): Promise<{ readonly messages: readonly SqsMessageRecord[]; readonly more: boolean }> {
    // who receives is not stopped by a cell that the queue has left, and that is away
    const { answer: found } = await partial(() => this.ways.everywhere(queue, undefined, async (cell) => cell));
    const cells = found.map(({ cell }) => cell);
    const first = (this.#turn += 1) % cells.length;
    const messages: SqsMessageRecord[] = [];
    let hasMore = false;
    let failure: { readonly error: unknown } | undefined;
    for (const cell of [...cells.slice(first), ...cells.slice(0, first)]) {
      if (messages.length >= limit) return { messages, more: true };
      try {
        const got = await this.#receiveIn(cell, cells.length > 1, (at) =>
          at.engine.sqs.receive(queue, limit - messages.length, seconds, groupLimit),
        );
        messages.push(...got.messages.map((message) => messageIn(cell, message)));
        hasMore ||= got.more;
      } catch (error) {
        failure ??= { error };
      }
    }
    if (failure && messages.length === 0) throw failure.error;
    return { messages, more: hasMore };
  }

  async #receiveIn<R extends { readonly messages: readonly SqsMessageRecord[] }>(
    cell: Cell,
    hasOthers: boolean,
    receive: (cell: Cell) => Promise<R>,
  ): Promise<R> {
    if (!hasOthers) return this.ways.to(cell, undefined, receive);
    return handOut(cell, (isLate) =>
      this.ways.to(cell, undefined, async (at) => {
        const got = await receive(at);
        if (isLate())
          await at.engine.settle(got.messages.map(({ token, id }) => ({ token, outcome: "released", jobs: [id] })));
        return got;
      }),
    );
  }

  override async delete(receipts: readonly SqsReceipt[], waitMs = 0): Promise<JobId[]> {
    return this.#each(receipts, (cell, own) => cell.engine.sqs.delete(own, waitMs));
  }

  async #each<R extends { readonly id: JobId }>(
    receipts: readonly R[],
    ask: (cell: Cell, receipts: R[]) => Promise<JobId[]>,
  ): Promise<JobId[]> {
    const parts = new Map<Cell, R[]>();
    for (const receipt of receipts) {
      const { cell, id } = await this.ways.router.jobAt(receipt.id);
      parts.set(cell, [...(parts.get(cell) ?? []), { ...receipt, id }]);
    }
    const answers = await Promise.all(
      [...parts].map(async ([cell, own]) =>
        (await this.ways.to(cell, undefined, (at) => ask(at, own))).map((id) => handleOf(cell.name, id)),
      ),
    );
    return answers.flat();
  }

  override async deleteLate(handles: readonly JobId[], strict: boolean): Promise<JobId[]> {
    const late = await this.ways.jobs(handles, undefined, (cell, ids) => cell.engine.sqs.deleteLate(ids, strict));
    return late.flatMap(({ cell, answer }) => answer.map((id) => handleOf(cell.name, id)));
  }

  override async visibility(change: SqsVisibility): Promise<"ok" | "gone" | "beyond"> {
    return this.ways.job(change.id, undefined, (cell, id) => cell.engine.sqs.visibility({ ...change, id }));
  }

  override async visibilityMany(
    changes: readonly SqsVisibility[],
    waitMs: number,
  ): Promise<("ok" | "beyond" | "late")[]> {
    const parts = new Map<Cell, { readonly changes: SqsVisibility[]; readonly places: number[] }>();
    for (const [place, change] of changes.entries()) {
      const { cell, id } = await this.ways.router.jobAt(change.id);
      const part = parts.get(cell) ?? { changes: [], places: [] };
      parts.set(cell, part);
      part.changes.push({ ...change, id });
      part.places.push(place);
    }
    const outcomes: ("ok" | "beyond" | "late")[] = Array.from({ length: changes.length });
    await Promise.all(
      [...parts].map(async ([cell, part]) => {
        const own = await this.ways.to(cell, undefined, (at) => at.engine.sqs.visibilityMany(part.changes, waitMs));
        for (const [i, place] of part.places.entries()) outcomes[place] = own[i]!;
      }),
    );
    return outcomes;
  }

  /** Dead letters and where they go are in one cell. */
  override async moveStart(source: string, destination?: string, perSecond?: number): Promise<string | null> {
    return this.#at(source, (cell) => cell.engine.sqs.moveStart(source, destination, perSecond));
  }

  override async moveCancel(id: string): Promise<number | null> {
    const found = await this.ways.all(undefined, (cell) => cell.engine.sqs.moveCancel(id));
    return found.find(({ answer }) => answer !== null)?.answer ?? null;
  }

  override async moveList(source: string, limit: number): Promise<SqsMoveRecord[]> {
    return this.#at(source, (cell) => cell.engine.sqs.moveList(source, limit));
  }

  override async moveStep(): Promise<{ readonly queues: readonly string[]; readonly waitSeconds: number | null }> {
    await this.ways.router.ready();
    const free = this.ways.router.list.filter((cell) => !this.#stepping.has(cell));
    const found = await Promise.all(free.map((cell) => this.#step(cell)));
    const waits = found.map(({ waitSeconds }) => waitSeconds).filter((seconds) => seconds !== null);
    return {
      queues: found.flatMap(({ queues }) => queues),
      waitSeconds: waits.length === 0 ? null : Math.min(...waits),
    };
  }

  /** What one that hangs would move is moved when it goes on; the others do not wait for it. */
  async #step(cell: Cell): Promise<{ readonly queues: readonly string[]; readonly waitSeconds: number | null }> {
    this.#stepping.add(cell);
    const step = cell.engine.sqs.moveStep().finally(() => this.#stepping.delete(cell));
    return within(patienceMs, cell, step).catch((error: unknown) => {
      if (error instanceof DatabaseUnavailableError) return { queues: [], waitSeconds: null };
      throw error;
    });
  }
}

/** A dead letter is in the cell of the message that it is a copy of. */
function messageIn(cell: Cell, message: SqsMessageRecord): SqsMessageRecord {
  const { source } = message;
  return { ...withHandles(cell, message, "id"), source: source && withHandles(cell, source, "id", "firstId") };
}
