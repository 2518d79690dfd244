import { checkList } from "../../db/check-options.js";
import { CellError, PartlyEnqueuedError, QueueNotFoundError } from "../../db/errors.js";
import { payloadWhole, pieceBytes } from "../../db/payload.js";
import type * as T from "../../db/types.js";
import type { Cell } from "../cell.js";
import { promptly } from "../promptly.js";
import type { Address } from "../tenants.js";
import { CellsTransaction } from "../transaction.js";
import { withHandles } from "../ways.js";
import { type Call, CellsVerbs } from "./verbs.js";

/** Jobs come in, each into the cell of its queue. */
export abstract class CellsEnqueueVerbs extends CellsVerbs {
  readonly #whole = new WeakMap<object, Promise<Uint8Array>>();

  override async enqueue(job: T.NewJob, call?: Call, wake?: string): Promise<T.Enqueued> {
    return this.ways.following(call, async (lingering) => {
      const old = lingering.cellOf(job);
      if (old !== undefined)
        return this.ways.to(this.router.cell(old), call, async (cell, own) =>
          withHandles(cell, await promptly(cell.engine).moves.enqueueLeft(job, own), "id"),
        );
      return this.ways.queue(job ?? {}, call, async (cell, own) =>
        withHandles(cell, await promptly(cell.engine).enqueue(job, own, wake), "id"),
      );
    });
  }

  override async enqueueMany(
    type: string,
    inputs: readonly unknown[],
    options: Omit<T.EnqueueOptions, "payload"> = {},
    call?: Call,
    wake?: string,
  ): Promise<T.Enqueued[]> {
    const made = await this.ways.following(call, async (lingering) =>
      lingering.cellOf(options) !== undefined
        ? undefined
        : this.ways.queue(options, call, async (cell, own) =>
            (await promptly(cell.engine).enqueueMany(type, inputs, options, own, wake)).map((one) =>
              withHandles(cell, one, "id"),
            ),
          ),
    );
    return made ?? inTurn(inputs, (input) => this.enqueue({ ...options, type, input }, call, wake));
  }

  override async enqueueEncoded(inputs: readonly string[], options: string, wake?: string): Promise<T.Enqueued[]> {
    return this.ways.queue(JSON.parse(options) as Address, undefined, async (cell) =>
      (await promptly(cell.engine).enqueueEncoded(inputs, options, wake)).map((one) => withHandles(cell, one, "id")),
    );
  }

  /**
   * Those of each cell go together, in one statement; the answers come in the order of the jobs. Where one cell has
   * failed and another has not, the error tells which jobs were enqueued.
   */
  override async enqueueEach(jobs: readonly T.NewJob[], call?: Call): Promise<T.Enqueued[]> {
    checkList(jobs, "jobs");
    const cells = await this.router.cellsOf(jobs.map((job) => job ?? {}));
    const parts = new Map<Cell, number[]>();
    for (const [place, cell] of cells.entries()) parts.set(cell, [...(parts.get(cell) ?? []), place]);
    if (parts.size > 1 && call?.tx !== undefined && !(call.tx instanceof CellsTransaction))
      throw new CellError(
        `these jobs belong to several cells: ${[...parts.keys()].map(({ name }) => name).join(", ")}`,
        "a transaction is one of one cell: give the jobs of each cell in a transaction of its own",
        undefined,
        "across",
      );
    const made: (T.Enqueued | undefined)[] = jobs.map(() => undefined);
    const ends = await Promise.allSettled([...parts.values()].map((places) => this.#eachOf(jobs, places, made, call)));
    const failed = ends.find(({ status }) => status === "rejected") as PromiseRejectedResult | undefined;
    if (failed === undefined) return made as T.Enqueued[];
    if (call?.tx !== undefined || made.every((one) => one === undefined)) throw failed.reason;
    throw new PartlyEnqueuedError(made, failed.reason);
  }

  /**
   * Those of one cell, in one statement; then in turn those whose fingerprints live in the cell that their queue comes
   * from. Where a queue has moved meanwhile, they may be of several.
   */
  async #eachOf(
    jobs: readonly T.NewJob[],
    places: readonly number[],
    made: (T.Enqueued | undefined)[],
    call: Call,
  ): Promise<void> {
    const isHere = (place: number): boolean => made[place] === undefined;
    await this.ways.following(call, async (lingering) => {
      const own = places.filter((place) => isHere(place) && lingering.cellOf(jobs[place]) === undefined);
      const cells = await this.router.cellsOf(own.map((place) => jobs[place] ?? {}));
      for (const cell of new Set(cells)) {
        const its = own.filter((_, i) => cells[i] === cell);
        const part = its.map((place) => jobs[place]!);
        const answer = await this.ways
          .to(cell, call, (at, theirs) => promptly(at.engine).enqueueEach(part, theirs))
          .catch((error: unknown) => {
            if (error instanceof QueueNotFoundError)
              for (const { queue } of part) this.router.forget(queue ?? "default");
            throw error;
          });
        for (const [i, place] of its.entries()) made[place] = withHandles(cell, answer[i]!, "id");
      }
    });
    for (const place of places.filter(isHere)) made[place] = await this.enqueue(jobs[place]!, call);
  }

  /** One that is read before it is enqueued, because it is short, is kept in case that its queue moves just now. */
  override async enqueueStream(
    job: T.NewJob,
    size: number,
    bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    call?: Call,
  ): Promise<T.Enqueued> {
    let pieces = bytes;
    if (size <= pieceBytes) {
      let whole = this.#whole.get(bytes);
      if (whole === undefined) this.#whole.set(bytes, (whole = payloadWhole(bytes, size)));
      pieces = [await whole];
    }
    return this.ways.following(
      call,
      () =>
        this.ways.queue(job ?? {}, call, async (cell, own) =>
          withHandles(cell, await cell.engine.enqueueStream(job, size, pieces, own), "id"),
        ),
      false,
    );
  }
}

/** One after another. */
async function inTurn<V, R>(values: readonly V[], work: (value: V) => Promise<R>): Promise<R[]> {
  const done: R[] = [];
  for (const value of values) done.push(await work(value));
  return done;
}
