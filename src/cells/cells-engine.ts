import type { Claimed } from "../db/decode.js";
import { Engine } from "../db/engine.js";
import { upkeepAnswerMs } from "../db/answer-time.js";
import { checkList } from "../db/check-options.js";
import {
  AlertNotFoundError,
  CellError,
  InvalidArgumentError,
  JobNotFoundError,
  MoveRefusedError,
  PartlyEnqueuedError,
  QueueClosedError,
  QueueNotFoundError,
  TokenRefusedError,
  WorkerNotFoundError,
} from "../db/errors.js";
import type { CallOptions } from "../db/foreign.js";
import type { LeftFilter } from "../db/move-engine.js";
import type { ConnectionPool, Queryable } from "../db/queryable.js";
import { payloadWhole, pieceBytes } from "../db/payload.js";
import type * as T from "../db/types.js";
import {
  actMs,
  askAll,
  askOne,
  atMost,
  chosen,
  handOut,
  isAway,
  leaveOut,
  partial,
  patienceMs,
  within,
} from "./ask.js";
import { type Carrying, type InCell, carryLeft, countLeft } from "./carry.js";
import type { Cell } from "./cell.js";
import { CellsSchedules } from "./cells-schedules.js";
import { CellsServer } from "./cells-server.js";
import { CellsSqs } from "./cells-sqs.js";
import { newestOfAll } from "./by-time.js";
import { handleOf, splitHandle } from "./handle.js";
import {
  distinct,
  mergedCounts,
  mergedDepth,
  mergedFailures,
  mergedHistory,
  mergedQueues,
  mergedReasons,
  mergedStages,
  mergedStats,
} from "./merge.js";
import { promptly } from "./promptly.js";
import type { Router } from "./router.js";
import { type Change, changeSpread, purgeSpread } from "./spread.js";
import type { Address } from "./tenants.js";
import { CellsTransaction } from "./transaction.js";
import { Ways, arrivesFrom, beforeIn, compareHandles, isForeign, jobIn, labelled, withHandles } from "./ways.js";

type Call = CallOptions | undefined;

/** Nothing is sent through it: every verb below goes to a cell of its own. */
const nowhere: ConnectionPool = {
  query: () => Promise.reject(new CellError("this is asked of one cell", "use mill.cells.engine(name)")),
  connect: () => Promise.reject(new CellError("this is asked of one cell", "use mill.cells.engine(name)")),
};

/**
 * The engine's verbs over several cells: each goes to the cell of its queue or its job, or to all. Jobs are known by
 * handles (`a:123`) on this side.
 */
export class CellsEngine extends Engine {
  override readonly schedules: CellsSchedules;
  override readonly server: CellsServer;
  override readonly sqs: CellsSqs;
  readonly ways: Ways;

  constructor(
    readonly router: Router,
    schema: string,
  ) {
    super({ pool: nowhere, schema });
    this.ways = new Ways(router);
    this.schedules = new CellsSchedules(this.ways, this.db);
    this.server = new CellsServer(this.ways, this.db);
    this.sqs = new CellsSqs(this.ways, this.db);
  }

  /** The same cells, each on another pool. */
  override onPools(pools: (pool: ConnectionPool, cell: string) => ConnectionPool): CellsEngine {
    return new CellsEngine(
      this.router.like((cell) => ({ ...cell, engine: cell.engine.onPools((pool) => pools(pool, cell.name)) })),
      this.schema,
    );
  }

  override withPool(): never {
    throw new InvalidArgumentError("several cells have no pool in common", "use onPools");
  }

  override async check(): Promise<void> {
    await this.router.members();
  }

  override async transaction<R>(work: (tx: Queryable) => Promise<R>): Promise<R> {
    return this.transactionAfter(async () => {}, work);
  }

  override async transactionAfter<R>(
    first: (tx: Queryable) => Promise<unknown>,
    work: (tx: Queryable) => Promise<R>,
  ): Promise<R> {
    // begun anew where it was refused something because a queue moves
    return this.ways.repeated(async (lingering) => {
      const tx = new CellsTransaction(first, lingering);
      let done: R;
      try {
        done = await work(tx);
      } catch (error) {
        await tx.end(error ?? new Error("taken back"));
        throw error;
      }
      await tx.end();
      return done;
    });
  }

  // Jobs come in.

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
  readonly #whole = new WeakMap<object, Promise<Uint8Array>>();

  override async flowEnqueue(
    jobs: readonly T.NewFlowJob[],
    target: T.FlowTarget = {},
    call?: Call,
  ): Promise<T.EnqueuedFlow> {
    return this.ways.following(call, () => this.#flowIn(jobs, target, call), false);
  }

  async #flowIn(jobs: readonly T.NewFlowJob[], target: T.FlowTarget, call: Call): Promise<T.EnqueuedFlow> {
    const { cell, ids } = await this.#cellOfFlow(jobs, target);
    const own = jobs.map((job) => ({
      ...job,
      ...(job.after === undefined ? {} : { after: job.after.map((one) => ids.get(String(one)) ?? one) }),
    }));
    const to = target.flow === undefined ? target : { ...target, flow: ids.get(target.flow)! };
    return this.ways.to(cell, call, async (at, its) =>
      withHandles(at, await at.engine.flowEnqueue(own, to, its), "id", "jobs"),
    );
  }

  /** Jobs wait for each other in one cell. The flow itself is kept with them, unless it is told where. */
  async #cellOfFlow(
    jobs: readonly T.NewFlowJob[],
    target: T.FlowTarget,
  ): Promise<{ readonly cell: Cell; readonly ids: ReadonlyMap<string, T.JobId> }> {
    const found = new Map<Cell, string>();
    const ids = new Map<string, T.JobId>();
    const handles = jobs.flatMap(({ after = [] }) => after.filter((one) => typeof one === "string"));
    for (const handle of target.flow === undefined ? handles : [target.flow, ...handles]) {
      const { cell, id } = await this.router.jobAt(handle);
      ids.set(handle, id);
      found.set(cell, `job ${handle}`);
    }
    const addresses = new Map<string, Address & { readonly queue: string }>();
    for (const { queue, tenant } of [...jobs.map(({ options }) => options ?? {}), { ...target, tenant: undefined }])
      if (typeof queue === "string") addresses.set(`${queue}/${tenant}`, { queue, tenant });
    for (const address of addresses.values()) found.set(await this.router.cellOf(address), `queue "${address.queue}"`);
    if (found.size > 1)
      throw new CellError(
        `a flow has jobs of several cells: ${[...found].map(([cell, what]) => `${what} in "${cell.name}"`).join(", ")}`,
        "use queues of one cell, or move one of them",
        undefined,
        "across",
      );
    const [cell] = found.keys();
    return { cell: cell ?? (await this.router.cellOf({})), ids };
  }

  // Jobs are looked at.

  override async jobOf(queue: string, fingerprint: string, call?: Call): Promise<T.JobId | null> {
    const found = await this.ways.everywhere(queue, call, (cell, own) => cell.engine.jobOf(queue, fingerprint, own));
    for (const { cell, answer } of found) if (answer !== null) return handleOf(cell.name, answer);
    return null;
  }

  override async liveJobOf(queue: string, fingerprint: string, call?: Call): Promise<T.JobId> {
    const id = await this.jobOf(queue, fingerprint, call);
    if (id !== null) return id;
    throw new JobNotFoundError(
      `no live job of queue "${queue}" has the fingerprint "${fingerprint}"`,
      "it may have ended, or has not been enqueued yet",
    );
  }

  override async get(handle: T.JobId, call?: Call): Promise<T.JobDetails | null> {
    return this.ways.job(handle, call, async (cell, id, own) => detailsIn(cell, await cell.engine.get(id, own)));
  }

  override async getBrief(handle: T.JobId, call?: Call): Promise<T.JobDetails | null> {
    return this.ways.job(handle, call, async (cell, id, own) => detailsIn(cell, await cell.engine.getBrief(id, own)));
  }

  override async steps(handle: T.JobId, filter: T.JobStepsFilter = {}, call?: Call): Promise<T.JobStep[]> {
    return this.ways.job(handle, call, async (cell, id, own) =>
      // of a rewind it is the step that it went back to
      (await cell.engine.steps(id, filter, own)).map((step) =>
        step.kind === "rewind" ? step : withHandles(cell, step, "other"),
      ),
    );
  }

  override async children(
    handle: T.JobId,
    { after, ...page }: { readonly after?: T.JobId; readonly limit?: number } = {},
    call?: Call,
  ): Promise<T.ChildRecord[]> {
    const from = after === undefined ? {} : { after: splitHandle(after).id };
    return this.ways.job(handle, call, async (cell, id, own) =>
      (await cell.engine.children(id, { ...page, ...from }, own)).map((one) => withHandles(cell, one, "id")),
    );
  }

  override async below(handle: T.JobId, call?: Call): Promise<{ readonly count: number; readonly isExact: boolean }> {
    return this.ways.job(handle, call, (cell, id, own) => cell.engine.below(id, own));
  }

  override async list({ before, ...filter }: T.ListFilter = {}, call?: Call): Promise<T.JobRecord[]> {
    const from = before === undefined ? undefined : splitHandle(before);
    const found = await this.#lookFor(filter.queue, call, (cell, own) =>
      cell.engine.list({ ...filter, ...(from === undefined ? {} : { before: beforeIn(cell, from) }) }, own),
    );
    return found
      .flatMap(({ cell, answer }) => answer.map((job) => jobIn(cell, job)))
      .toSorted((a, b) => compareHandles(a.id, b.id))
      .slice(0, filter.limit ?? 100);
  }

  /** What is found in all cells, or in those that have a queue. */
  async #lookFor<R>(
    queue: string | undefined,
    call: Call,
    ask: (cell: Cell, call: Call) => Promise<R>,
  ): Promise<{ readonly cell: Cell; readonly answer: R }[]> {
    return queue === undefined ? this.ways.all(call, ask) : this.ways.everywhere(queue, call, ask);
  }

  override async count(filter: T.CountFilter, call?: Call): Promise<T.JobCounts> {
    return mergedCounts(await this.#lookFor(filter?.queue, call, (cell, own) => cell.engine.count(filter, own)));
  }

  override async peek(queue = "default", limit = 10, call?: Call): Promise<T.JobRecord[]> {
    const found = await this.ways.everywhere(queue, call, (cell, own) => cell.engine.peek(queue, limit, own));
    return found.flatMap(({ cell, answer }) => answer.map((job) => jobIn(cell, job))).slice(0, limit);
  }

  override async outcomes(handles: readonly T.JobId[], call?: Call): Promise<T.JobOutcome[]> {
    const found = await this.ways.jobs(handles, call, (cell, ids, own) => cell.engine.outcomes(ids, own));
    return found.flatMap(({ cell, answer }) => answer.map((one) => withHandles(cell, one, "id")));
  }

  override async decisions(handle: T.JobId, call?: Call): Promise<T.DecisionRecord[]> {
    return this.ways.job(handle, call, async (cell, id, own) =>
      (await cell.engine.decisions(id, own)).map((one) => withHandles(cell, one, "jobId")),
    );
  }

  override async failures(filter: T.FailureFilter = {}, call?: Call): Promise<T.FailureGroup[]> {
    const found = await this.#lookFor(filter.queue, call, (cell, own) => cell.engine.failures(filter, own));
    return mergedFailures(found).slice(0, filter.limit ?? 100);
  }

  override async durations(filter: T.RunStatsFilter = {}, call?: Call): Promise<T.RunStats[]> {
    return mergedStats(await this.#lookFor(filter.queue, call, (cell, own) => cell.engine.durations(filter, own)));
  }

  override async progress(handle: T.JobId, call?: Call): Promise<{ value: T.Json; updatedAt: Date } | null> {
    return this.ways.job(handle, call, (cell, id, own) => cell.engine.progress(id, own));
  }

  override async log(handle: T.JobId, call?: Call): Promise<T.JobLog> {
    return this.ways.job(handle, call, (cell, id, own) => cell.engine.log(id, own));
  }

  override async why(handle: T.JobId, call?: Call): Promise<T.Reason[] | null> {
    return this.ways.job(handle, call, (cell, id, own) => cell.engine.why(id, own));
  }

  override async queueWhy(queue = "default", part: T.QueuePart = {}, call?: Call): Promise<T.Reason[]> {
    return mergedReasons(
      await this.ways.everywhere(queue, call, (cell, own) => cell.engine.queueWhy(queue, part, own)),
    );
  }

  override async payloadRead(handle: T.JobId, offset = 0, length = 1_048_576, call?: Call): Promise<Uint8Array | null> {
    return this.ways.job(handle, call, (cell, id, own) => cell.engine.payloadRead(id, offset, length, own));
  }

  override async *payloadStream(handle: T.JobId, call?: Call): AsyncGenerator<Uint8Array> {
    const { cell, id } = await this.router.jobAt(handle);
    yield* cell.engine.payloadStream(id, call);
  }

  override async flowGet(handle: T.JobId, limit = 1000, call?: Call): Promise<T.FlowGraph | null> {
    return this.ways.job(handle, call, async (cell, id, own) => {
      const graph = await cell.engine.flowGet(id, limit, own);
      return (
        graph && {
          ...withHandles(cell, graph, "id"),
          jobs: graph.jobs.map((one) => withHandles(cell, one, "id", "after")),
          others: graph.others.map((one) => withHandles(cell, one, "id", "flow")),
        }
      );
    });
  }

  override async waited(handle: T.JobId, call?: Call): Promise<T.WaitedJob[]> {
    return this.ways.job(handle, call, async (cell, id, own) =>
      (await cell.engine.waited(id, own)).map((one) => withHandles(cell, one, "id")),
    );
  }

  // Queues are looked at.

  override async queueDepth(queue = "default", call?: Call): Promise<T.Depth> {
    return mergedDepth(await this.ways.everywhere(queue, call, (cell, own) => cell.engine.queueDepth(queue, own)));
  }

  /** Each of them must be somewhere. */
  override async queuesCheck(queues: readonly string[]): Promise<void> {
    await this.router.ready();
    const question = { cells: 0, queues, seconds: 1 };
    const found = await askAll(this.router.list, (cell) => cell.engine.cellHold("nobody", "look", question));
    const known = new Set(found.flatMap(({ answer }) => answer.queues));
    const missing = queues.find((queue) => !known.has(queue));
    if (missing !== undefined)
      throw new QueueNotFoundError(`there is no queue "${missing}"`, "create it with mill.queues.put(name)");
  }

  override async queueGroups(queue = "default", limit = 100, call?: Call): Promise<T.GroupDepth[]> {
    const found = await this.ways.everywhere(queue, call, (cell, own) => cell.engine.queueGroups(queue, limit, own));
    const groups = new Map<string | null, T.GroupDepth>();
    for (const one of found.flatMap(({ answer }) => answer)) {
      const known = groups.get(one.group);
      groups.set(one.group, known ? { ...known, ...summed(known, one) } : one);
    }
    return [...groups.values()].toSorted((a, b) => b.waiting - a.waiting).slice(0, limit);
  }

  override async queueTypes(queue = "default", call?: Call): Promise<T.TypeDepth[]> {
    const found = await this.ways.everywhere(queue, call, (cell, own) => cell.engine.queueTypes(queue, own));
    const types = new Map<string, T.TypeDepth>();
    for (const one of found.flatMap(({ answer }) => answer)) {
      const known = types.get(one.type);
      types.set(one.type, known ? { ...known, ...summed(known, one) } : one);
    }
    return [...types.values()];
  }

  override async queues(call?: Call): Promise<T.QueueRecord[]> {
    return mergedQueues(await this.ways.all(call, (cell, own) => cell.engine.queues(own)));
  }

  override async stages(call?: Call): Promise<T.StageRecord[]> {
    return mergedStages(await this.ways.all(call, (cell, own) => cell.engine.stages(own)));
  }

  override async pauses(call?: Call): Promise<T.PauseRecord[]> {
    const found = await this.ways.all(call, (cell, own) => cell.engine.pauses(own));
    const pauses = found.flatMap(({ cell, answer }) =>
      answer.map((one) => ({ ...withHandles(cell, one, "jobId"), cell: cell.name })),
    );
    return distinct(pauses, ({ pausedAt: _at, cell: _cell, ...pause }) => pause);
  }

  override async breakers(call?: Call): Promise<T.BreakerRecord[]> {
    return labelled(await this.ways.all(call, (cell, own) => cell.engine.breakers(own)));
  }

  override async groups(call?: Call): Promise<T.GroupRecord[]> {
    const found = await this.ways.all(call, (cell, own) => cell.engine.groups(own));
    return distinct(flat(found), (group) => group);
  }

  override async limits(call?: Call): Promise<T.LimitRecord[]> {
    return labelled(await this.ways.all(call, (cell, own) => cell.engine.limits(own)));
  }

  /** One cursor for all: that of each cell, by its name. */
  override async queueEvents(
    since?: string,
    call?: Call,
  ): Promise<{ readonly cursor: string; readonly events: T.QueueEvent[] }> {
    const cursors = since === undefined ? {} : readCursors(since);
    const found = await this.ways.all(call, async (cell, own) => cell.engine.queueEvents(cursors[cell.name], own));
    const next = { ...cursors, ...Object.fromEntries(found.map(({ cell, answer }) => [cell.name, answer.cursor])) };
    const events = found.flatMap(({ cell, answer }) =>
      answer.events.map((one) => ({ ...withHandles(cell, one, "jobId"), cell: cell.name })),
    );
    return { cursor: JSON.stringify(next), events: events.toSorted((a, b) => a.at.getTime() - b.at.getTime()) };
  }

  // What is decided on jobs.

  override async cancel(
    handles: readonly T.JobId[],
    because?: string,
    call: CallOptions & Pick<T.DecisionNote, "by"> = {},
  ): Promise<number> {
    return sum(await this.ways.jobs(handles, call, (cell, ids, own) => cell.engine.cancel(ids, because, own)));
  }

  override async cancelWhere(filter: T.CancelFilter, call?: Call): Promise<number> {
    return sum(await this.#lookFor(filter?.queue, call, (cell, own) => cell.engine.cancelWhere(filter, own)));
  }

  override async retry(
    attempts: number,
    which: ({ readonly ids: readonly T.JobId[] } | { readonly type: string; readonly queue?: string }) &
      T.DecisionNote & {
        readonly perSecond?: number;
        readonly startAt?: Date | string;
        readonly skipFinished?: boolean;
      },
    call?: Call,
  ): Promise<number> {
    const done =
      "ids" in which
        ? await this.ways.jobs(which.ids, call, (cell, ids, own) =>
            this.#retryIn(cell, attempts, { ...which, ids }, own, call),
          )
        : await this.#lookFor(which.queue, call, (cell, own) => this.#retryIn(cell, attempts, which, own, call));
    return sum(done);
  }

  /** One that was carried before is left alone, as one that was discarded. */
  async #retryIn(
    cell: Cell,
    attempts: number,
    which: Parameters<Engine["retry"]>[1],
    own: Call,
    given: Call,
  ): Promise<number> {
    if (isForeign(given)) return cell.engine.retry(attempts, which, own);
    const hasMoved = (await cell.engine.moves.list()).some(({ drainedAt }) => drainedAt !== null);
    const skipFinished = which.skipFinished === true || hasMoved;
    const retried = await cell.engine.retry(attempts, { ...which, skipFinished }, own);
    return retried + (hasMoved ? await this.#carry(cell, which, { ...which, attempts }, given) : 0);
  }

  /** Failed jobs that a queue has left behind in a cell, into the one that it has moved to. */
  async #carry(cell: Cell, filter: LeftFilter, how: Carrying, call: Call): Promise<number> {
    // in our own transaction: it may have locks that another connection would wait for
    const inCell: InCell = (at, ask) => this.ways.to(at, call, (_, own) => ask(own));
    return carryLeft(cell, (name, queue) => this.router.moved(queue, name), inCell, filter, how);
  }

  /** Cell after cell: where one has no more, the next page begins with the next cell. */
  override async failureRetry(which: T.FailureRetry, call?: Call): Promise<T.FailuresRetried> {
    const { jobs, next } = await this.#inTurn(which, (cell, own) =>
      this.ways.to(cell, call, async (at, its) => {
        const answer = await at.engine.failureRetry(own, its);
        if (answer.next !== null || isForeign(call)) return answer;
        const carried = which.dryRun
          ? await countLeft(at, which)
          : await this.#carry(at, which, { ...which, attempts: which.attempts ?? 1 }, call);
        return { ...answer, jobs: answer.jobs + carried };
      }),
    );
    return { jobs, next };
  }

  override async replay(which: T.Replay, call?: Call): Promise<T.Replayed> {
    const { jobs, next } = await this.#inTurn(which, (cell, own) =>
      this.ways.to(cell, call, (at, its) => at.engine.replay(own, its)),
    );
    return { jobs, next };
  }

  async #inTurn<W extends { readonly after?: T.JobId; readonly queue?: string }>(
    which: W,
    ask: (cell: Cell, which: W) => Promise<{ readonly jobs: number; readonly next: W | null }>,
  ): Promise<{ readonly jobs: number; readonly next: W | null }> {
    await this.router.ready();
    const cells = chosen(this.router.list).toSorted((a, b) => (a.name < b.name ? -1 : 1));
    const from = which.after === undefined ? undefined : splitHandle(which.after);
    const at = from?.cell === undefined ? 0 : cells.findIndex(({ name }) => name === from.cell);
    const cell = cells[Math.max(at, 0)]!;
    const { after: _after, ...rest } = which;
    const own = { ...rest, ...(from === undefined || from.id === "0" ? {} : { after: from.id }) } as W;
    const { jobs, next } = await ask(cell, own).catch((error: unknown) => {
      if (error instanceof QueueNotFoundError) return { jobs: 0, next: null };
      throw error;
    });
    if (next !== null) return { jobs, next: { ...next, after: handleOf(cell.name, next.after ?? "0") } };
    const following = cells[cells.indexOf(cell) + 1];
    return { jobs, next: following ? ({ ...rest, after: handleOf(following.name, "0") } as W) : null };
  }

  override async discard(handles: readonly T.JobId[], note: T.DecisionNote = {}, call?: Call): Promise<number> {
    return sum(await this.ways.jobs(handles, call, (cell, ids, own) => cell.engine.discard(ids, note, own)));
  }

  override async runNow(handles: readonly T.JobId[], call?: Call): Promise<number> {
    return sum(await this.ways.jobs(handles, call, (cell, ids, own) => cell.engine.runNow(ids, own)));
  }

  override async stageRelease(queue: string, stage: string, note: T.DecisionNote = {}, call?: Call): Promise<number> {
    return sum(
      await this.ways.everywhere(queue, call, (cell, own) => cell.engine.stageRelease(queue, stage, note, own)),
    );
  }

  override async stageCancel(queue: string, stage: string, note: T.DecisionNote = {}, call?: Call): Promise<number> {
    return sum(
      await this.ways.everywhere(queue, call, (cell, own) => cell.engine.stageCancel(queue, stage, note, own)),
    );
  }

  /** The token does not tell its cell. In the caller's transaction it must be one of that database's cell. */
  override async answer(token: string, value?: unknown, call?: Call): Promise<T.Answered> {
    let refusal: unknown;
    let away: unknown;
    for (const cell of await this.ways.mayKnow(call)) {
      try {
        return await atMost(actMs, () =>
          this.ways.to(cell, call, async (at, own) =>
            withHandles(at, await at.engine.answer(token, value, own), "job"),
          ),
        );
      } catch (error) {
        if (isAway(error)) {
          away ??= error; // another one may have given it out
          continue;
        }
        if (!(error instanceof TokenRefusedError)) throw error;
        if (error.reason !== "unknown") throw error; // it was given out there
        refusal = error;
      }
    }
    throw away ?? refusal;
  }

  override async tell(
    handle: T.JobId,
    name: string,
    value?: unknown,
    call: CallOptions & { readonly id?: string } = {},
  ): Promise<boolean> {
    return this.ways.job(handle, call, (cell, id, own) => cell.engine.tell(id, name, value, own));
  }

  override async rewind(handle: T.JobId, to: string, call: CallOptions & T.DecisionNote = {}): Promise<string> {
    return this.ways.job(handle, call, (cell, id, own) => cell.engine.rewind(id, to, own));
  }

  override async rewindMany(
    handles: readonly T.JobId[],
    to: string,
    call: CallOptions & T.DecisionNote & { readonly dryRun?: boolean } = {},
  ): Promise<{ readonly count: number; readonly queues: readonly string[] }> {
    const done = await this.ways.jobs(handles, call, (cell, ids, own) => cell.engine.rewindMany(ids, to, own));
    return {
      count: done.reduce((total, { answer }) => total + answer.count, 0),
      queues: [...new Set(done.flatMap(({ answer }) => answer.queues))],
    };
  }

  // Queues are changed.

  override async transactionsEnded(): Promise<never> {
    throw new CellError("numbers of transactions are those of one server", "ask a cell");
  }

  /** Those of a spread queue are told in each cell: who asks does not say of which tenant. */
  override async queueNotify(queues: readonly string[], call?: Call): Promise<void> {
    const parts = new Map<Cell, string[]>();
    for (const queue of queues) {
      const home = await this.router.homeOf(queue);
      for (const cell of home ? [home] : await this.router.spreadCells())
        parts.set(cell, [...(parts.get(cell) ?? []), queue]);
    }
    await Promise.all(
      [...parts].map(([cell, own]) => this.ways.to(cell, call, (at, its) => at.engine.queueNotify(own, its))),
    );
  }

  /** A new queue is placed first. One that names others, such as dead letters, is placed beside them. */
  override async queuePut(name: string, defaults: T.Defaults = {}, call?: Call): Promise<T.Json> {
    const beside = await this.#beside(name, defaults);
    const cell = await this.router.place(name, beside?.name);
    if (cell === undefined || defaults?.spread) return this.#putSpread(name, defaults, call);
    if (beside && beside !== cell)
      throw new CellError(
        `queue "${name}" is in cell "${cell.name}", what it names is in "${beside.name}"`,
        "a queue, its dead letters and what it waits for are in one cell: name others, or move one of them",
        undefined,
        "across",
        cell.name,
      );
    const put = await this.ways
      .queue({ queue: name }, call, (at, own) => at.engine.queuePut(name, defaults, own))
      .catch((error: unknown) => {
        if (!(error instanceof MoveRefusedError && error.reason === "cell")) throw error;
        this.router.forget(name); // its cell was removed before it was made there
        this.router.forgetMembers();
        if (call?.tx !== undefined) throw error;
        return this.queuePut(name, defaults);
      });
    // it was placed here, and made by somebody else meanwhile
    if ((put as T.Defaults).spread) return this.#putSpread(name, defaults, call);
    const left = isForeign(call) ? undefined : await this.#leftBy(name);
    if (left) await askOne(left, () => left.engine.moves.putLeft(name, defaults));
    return put;
  }

  async #putSpread(name: string, defaults: T.Defaults, call: Call): Promise<T.Json> {
    this.router.forget(name);
    const [first] = await changeSpread(this.ways, name, call, {
      ask: (cell, own) => cell.engine.queuePut(name, defaults, own),
      makes: true,
    });
    return first!.answer;
  }

  /** The cell that a queue leaves, while it moves: what is set for it holds for its jobs there too. */
  async #leftBy(name: string): Promise<Cell | undefined> {
    const home = await this.router.cellOf({ queue: name });
    const old = await arrivesFrom(home, name);
    return old !== undefined && old !== home.name ? this.router.cell(old) : undefined;
  }

  async #beside(name: string, defaults: T.Defaults): Promise<Cell | undefined> {
    const { deadLetterQueue, waitsFor } = defaults as { deadLetterQueue?: string | null; waitsFor?: string[] | null };
    const others = [deadLetterQueue, ...(waitsFor ?? [])].filter((one) => typeof one === "string" && one !== name);
    let beside: Cell | undefined;
    for (const other of others) {
      const cell = await this.router.homeOf(other as string);
      if (!cell) continue; // it is spread, and so in each
      if (beside && cell !== beside)
        throw new CellError(
          `queue "${name}" names queues of several cells: ${others.join(", ")}`,
          "name queues of one cell, or move one of them",
          undefined,
          "across",
        );
      beside = cell;
    }
    return beside;
  }

  override async typePut(type: string, defaults: T.Defaults, call?: Call): Promise<T.Json> {
    const [first] = await this.ways.all(call, (cell, own) => cell.engine.typePut(type, defaults, own));
    return first!.answer;
  }

  override async typeDeclare(definitions: readonly T.DeclaredType[], by?: string, call?: Call): Promise<string[]> {
    const found = await this.ways.all(call, (cell, own) => cell.engine.typeDeclare(definitions, by, own));
    return [...new Set(flat(found))];
  }

  override async definitions(type?: string, call?: Call): Promise<T.DefinitionRecord[]> {
    const newest = new Map<string, T.DefinitionRecord>();
    for (const one of flat(await this.ways.all(call, (cell, own) => cell.engine.definitions(type, own)))) {
      const known = newest.get(one.type);
      if (!known || known.version < one.version) newest.set(one.type, one);
    }
    return [...newest.values()].toSorted((a, b) => (a.type < b.type ? -1 : 1));
  }

  override async groupPut(queue: string, group: string, options: T.GroupOptions, call?: Call): Promise<T.GroupOptions> {
    const ask = (cell: Cell, own: Call): Promise<T.GroupOptions> => cell.engine.groupPut(queue, group, options, own);
    if (!(await this.router.homeOf(queue))) {
      const [first] = await changeSpread(this.ways, queue, call, { ask });
      return first!.answer;
    }
    const set = await this.ways.queue({ queue }, call, ask); // which may refuse it
    if (!isForeign(call)) await this.#elsewhere(queue, (cell) => cell.engine.moves.groupPutLeft(queue, group, options));
    return set;
  }

  /** What is left of a queue in other cells than its own. */
  async #elsewhere<R>(queue: string, ask: (cell: Cell, call: Call) => Promise<R>): Promise<R[]> {
    const home = await this.router.cellOf({ queue });
    const found = await this.ways.everywhere(queue, undefined, async (cell, own) =>
      cell === home ? undefined : ask(cell, own),
    );
    return found.map(({ answer }) => answer).filter((one) => one !== undefined);
  }

  /** In all cells that have the queue. */
  async #change<R>(
    queue: string,
    call: Call,
    change: Change<R>,
  ): Promise<{ readonly cell: Cell; readonly answer: R }[]> {
    return (await this.router.homeOf(queue))
      ? this.ways.everywhere(queue, call, change.ask)
      : changeSpread(this.ways, queue, call, change);
  }

  /** In each cell: a limit holds for the jobs of a cell. */
  override async resourcePut(name: string, options: T.ResourceOptions, call?: Call): Promise<T.ResourceOptions> {
    const [first] = await this.ways.all(call, (cell, own) => cell.engine.resourcePut(name, options, own));
    return first!.answer;
  }

  override async queuePause(
    name: string,
    why: T.QueuePart & { readonly by?: string; readonly because?: string } = {},
    call?: Call,
  ): Promise<void> {
    await this.#change(name, call, { ask: (cell, own) => cell.engine.queuePause(name, why, own) });
  }

  override async queueResume(name: string, part: T.QueuePart & T.DecisionNote = {}, call?: Call): Promise<void> {
    const ask = (cell: Cell, own: Call): Promise<void> => cell.engine.queueResume(name, part, own);
    const isMade = (error: unknown): boolean => error instanceof InvalidArgumentError; // it is not paused
    if (!(await this.router.homeOf(name))) return void (await changeSpread(this.ways, name, call, { ask, isMade }));
    // a failure may have paused it in one cell only
    const refusals: unknown[] = [];
    const asked = await this.ways.everywhere(name, call, async (cell, own) => {
      await ask(cell, own).catch((error: unknown) => {
        if (!isMade(error) || isForeign(own)) throw error;
        refusals.push(error);
      });
    });
    if (refusals.length === asked.length) throw refusals[0];
  }

  override async queueClose(name: string, note: T.DecisionNote = {}, call?: Call): Promise<void> {
    await this.#openOrClose(name, call, {
      ask: (cell, own) => cell.engine.queueClose(name, note, own),
      isMade: (error) => error instanceof QueueClosedError,
    });
  }

  override async queueOpen(name: string, note: T.DecisionNote = {}, call?: Call): Promise<void> {
    await this.#openOrClose(name, call, {
      ask: (cell, own) => cell.engine.queueOpen(name, note, own),
      isMade: (error) => error instanceof InvalidArgumentError, // it is not closed
    });
  }

  /** A queue that moves is closed where it was by the move, and stays so. */
  async #openOrClose(name: string, call: Call, change: Change<void>): Promise<void> {
    if (await this.router.homeOf(name)) await this.ways.queue({ queue: name }, call, change.ask);
    else await changeSpread(this.ways, name, call, change);
  }

  override async queueSetAside(name: string, part: Pick<T.QueuePart, "type"> = {}, call?: Call): Promise<number> {
    return sum(await this.ways.everywhere(name, call, (cell, own) => cell.engine.queueSetAside(name, part, own)));
  }

  override async queueShed(name: string, before: Date, part: T.QueuePart = {}, call?: Call): Promise<number> {
    return sum(await this.ways.everywhere(name, call, (cell, own) => cell.engine.queueShed(name, before, part, own)));
  }

  override async queuePurge(queue: string, call?: Call): Promise<number> {
    return sum(await this.ways.everywhere(queue, call, (cell, own) => cell.engine.queuePurge(queue, own)));
  }

  override async queuePurgeStep(queue: string, from: T.PurgeStep = {}, call?: Call): Promise<T.PurgeStepped> {
    if (!(await this.router.homeOf(queue))) return purgeSpread(this.ways, queue, from, call);
    // what is left in other cells goes with the first step
    const isFirst = from.before === undefined && !isForeign(call);
    const left = isFirst ? await this.#elsewhere(queue, (cell) => cell.engine.queuePurge(queue)) : [];
    const step = await this.ways.queue({ queue }, call, (cell, own) => cell.engine.queuePurgeStep(queue, from, own));
    return { ...step, jobs: left.reduce((total, jobs) => total + jobs, step.jobs) };
  }

  override async queueRedrive(
    queue: string,
    options: { readonly target?: string; readonly limit?: number } = {},
    call?: Call,
  ): Promise<number> {
    return sum(await this.ways.everywhere(queue, call, (cell, own) => cell.engine.queueRedrive(queue, options, own)));
  }

  override async breakerReset(
    which: { readonly queue?: string; readonly type?: string } = {},
    call?: Call,
  ): Promise<number> {
    return which.queue === undefined
      ? sum(await this.ways.all(call, (cell, own) => cell.engine.breakerReset(which, own)))
      : sum(await this.ways.everywhere(which.queue, call, (cell, own) => cell.engine.breakerReset(which, own)));
  }

  override async cellPut(defaults: T.Defaults & T.Retention, call?: Call): Promise<T.Json> {
    const [first] = await this.ways.all(call, (cell, own) => cell.engine.cellPut(defaults, own));
    return first!.answer;
  }

  override async roleGrant(role: string, kind: "producer" | "worker" | "reader" | "admin", call?: Call): Promise<void> {
    await this.ways.all(call, (cell, own) => cell.engine.roleGrant(role, kind, own));
  }

  // Jobs are handed out, to those who are no workers of the library.

  override async claim(options: T.ClaimOptions = {}, call?: Call): Promise<T.ClaimedJob[]> {
    return this.#claimFrom(options, call, (cell, own, its) => cell.engine.claim(own, its));
  }

  /** From one cell after another, each time another one first, until there are enough. */
  async #claimFrom(
    { queues = ["default"], limit = 1, ...rest }: T.ClaimOptions,
    call: Call,
    claim: (cell: Cell, options: T.ClaimOptions, call: Call) => Promise<readonly T.ClaimedJob[]>,
  ): Promise<T.ClaimedJob[]> {
    await this.router.ready();
    const cells = this.router.list;
    const first = (this.#turn += 1) % cells.length;
    const jobs: T.ClaimedJob[] = [];
    const known = new Set<string>();
    let failure: unknown;
    let hasAnswered = false;
    for (const cell of [...cells.slice(first), ...cells.slice(0, first)]) {
      if (jobs.length >= limit) return jobs;
      try {
        const here = await this.ways.look(cell, queues);
        for (const queue of here) known.add(queue);
        if (here.length === 0) continue;
        const own = { ...rest, queues: here, limit: limit - jobs.length };
        for (const job of await this.#claimIn(cell, call, (at, its) => claim(at, own, its)))
          jobs.push(claimedIn(cell, job));
        hasAnswered = true;
      } catch (error) {
        failure = error; // the others go on
      }
    }
    if (failure !== undefined && !hasAnswered) throw failure;
    if (jobs.length === 0 && failure === undefined && known.size < new Set(queues).size) await this.queuesCheck(queues);
    return jobs;
  }
  #turn = 0;

  async #claimIn(
    cell: Cell,
    call: Call,
    claim: (cell: Cell, call: Call) => Promise<readonly T.ClaimedJob[]>,
  ): Promise<readonly T.ClaimedJob[]> {
    if (isForeign(call)) return this.ways.to(cell, call, claim);
    return handOut(cell, (isLate) =>
      this.ways.to(cell, call, async (at, own) => {
        const jobs = await claim(at, own);
        if (isLate()) for (const job of jobs) await at.engine.release(job, 0, own);
        return jobs;
      }),
    );
  }

  /** What one that does not answer holds is unknown and not lost: where some token is nowhere else, that is told. */
  override async claimExtend(
    tokens: readonly string[],
    seconds?: number,
    call?: Call,
  ): Promise<Map<string, { leaseEndsAt: Date; jobIds: T.JobId[] }>> {
    const extended = new Map<string, { leaseEndsAt: Date; jobIds: T.JobId[] }>();
    const { answer: found, missing } = await partial(() =>
      this.ways.all(call, (at, own) => promptly(at.engine).claimExtend(tokens, seconds, own)),
    );
    for (const { cell, answer } of found)
      for (const [token, { leaseEndsAt, jobIds }] of answer)
        extended.set(token, { leaseEndsAt, jobIds: jobIds.map((id) => handleOf(cell.name, id)) });
    if (!tokens.every((token) => extended.has(token))) leaveOut(missing);
    return extended;
  }

  async #held<R>(job: T.Held, call: Call, ask: (cell: Cell, job: T.Held, call: Call) => Promise<R>): Promise<R> {
    return this.ways.job(job?.id, call, (cell, id, own) => ask(cell, { token: job.token, id }, own));
  }

  override async start(job: T.Held, call?: Call): Promise<void> {
    return this.#held(job, call, (cell, held, own) => cell.engine.start(held, own));
  }

  override async complete(job: T.Held, result?: unknown, call?: Call): Promise<void> {
    return this.#held(job, call, (cell, held, own) => cell.engine.complete(held, result, own));
  }

  override async completeMany(
    token: string,
    handles: readonly T.JobId[],
    results?: readonly unknown[],
    call?: Call,
  ): Promise<T.JobId[]> {
    const done = await this.ways.jobs(handles, call, (cell, ids, own) =>
      cell.engine.completeMany(
        token,
        ids,
        results && ids.map((id) => results[handles.indexOf(handleOf(cell.name, id))]),
        own,
      ),
    );
    return done.flatMap(({ cell, answer }) => answer.map((id) => handleOf(cell.name, id)));
  }

  override async fail(job: T.Held, error?: T.JobError, call?: Call): Promise<void> {
    return this.#held(job, call, (cell, held, own) => cell.engine.fail(held, error, own));
  }

  override async retryLater(job: T.Held, error?: T.JobError, delaySeconds?: number, call?: Call): Promise<void> {
    return this.#held(job, call, (cell, held, own) => cell.engine.retryLater(held, error, delaySeconds, own));
  }

  override async release(job: T.Held, delaySeconds = 0, call?: Call): Promise<void> {
    return this.#held(job, call, (cell, held, own) => cell.engine.release(held, delaySeconds, own));
  }

  override async deadLetter(job: T.Held, queue: string, error?: T.JobError, call?: Call): Promise<void> {
    return this.#held(job, call, (cell, held, own) => cell.engine.deadLetter(held, queue, error, own));
  }

  override async setVisibility(job: T.Held, seconds: number, call?: Call): Promise<Date> {
    return this.#held(job, call, (cell, held, own) => cell.engine.setVisibility(held, seconds, own));
  }

  override async progressPut(job: T.Held, value: unknown, call?: Call): Promise<void> {
    return this.#held(job, call, (cell, held, own) => cell.engine.progressPut(held, value, own));
  }

  override async settle(
    settlements: readonly T.Settlement[],
    claim?: T.ClaimOptions,
    call?: Call,
  ): Promise<{ refused: T.JobId[]; claimed: T.ClaimedJob[] }> {
    const parts = new Map<Cell, T.Settlement[]>();
    for (const settlement of settlements) {
      const { cell } = await this.router.jobAt(settlement.jobs[0] ?? "");
      const jobs = await Promise.all(settlement.jobs.map((handle) => this.#idIn(cell, handle)));
      parts.set(cell, [...(parts.get(cell) ?? []), { ...settlement, jobs } as T.Settlement]);
    }
    const refused = await Promise.all(
      [...parts].map(async ([cell, own]) => {
        const answer = await this.ways.to(cell, call, (at, its) => at.engine.settle(own, undefined, its));
        return answer.refused.map((id) => handleOf(cell.name, id));
      }),
    );
    return { refused: refused.flat(), claimed: claim ? await this.claim(claim, call) : [] };
  }

  async #idIn(cell: Cell, handle: T.JobId): Promise<T.JobId> {
    const at = await this.router.jobAt(handle);
    if (at.cell === cell) return at.id;
    throw new CellError(
      `job ${handle} is not one of cell "${cell.name}"`,
      "a claim holds jobs of one cell: report those of each by themselves",
      undefined,
      "foreign",
      at.cell.name,
    );
  }

  override async settleAndClaim(
    settlements: readonly T.Settlement[],
    claims: readonly T.ClaimOptions[],
    call?: Call,
  ): Promise<{ refused: T.JobId[]; claims: Claimed[]; delivered: boolean }> {
    const { refused } = await this.settle(settlements, undefined, call);
    const claimed: Claimed[] = [];
    for (const options of claims)
      claimed.push({ jobs: await this.claim(options, call), more: false, busy: false, limited: false });
    return { refused, claims: claimed, delivered: false };
  }

  // Workers are told something, in the cells that know them.

  override async workerPause(target: T.WorkerTarget, note: T.DecisionNote = {}, call?: Call): Promise<number> {
    return this.#tellWorkers(call, (cell, own) => cell.engine.workerPause(target, note, own));
  }

  override async workerDrain(target: T.WorkerTarget, note: T.DecisionNote = {}, call?: Call): Promise<number> {
    return this.#tellWorkers(call, (cell, own) => cell.engine.workerDrain(target, note, own));
  }

  override async workerResume(target: T.WorkerTarget, call?: Call): Promise<number> {
    return this.#tellWorkers(call, (cell, own) => cell.engine.workerResume(target, own));
  }

  override async workerConcurrency(
    target: T.WorkerTarget,
    concurrency: number | null,
    note: T.DecisionNote = {},
    call?: Call,
  ): Promise<number> {
    return this.#tellWorkers(call, (cell, own) => cell.engine.workerConcurrency(target, concurrency, note, own));
  }

  async #tellWorkers(call: Call, tell: (cell: Cell, call: Call) => Promise<number>): Promise<number> {
    return (await this.#whereKnown(call, WorkerNotFoundError, tell)).reduce((total, workers) => total + workers, 0);
  }

  // What somebody wants to be told of: each cell looks at what it has.

  override async alerts(call?: Call): Promise<T.AlertRecord[]> {
    return labelled(await this.ways.all(call, (cell, own) => cell.engine.alerts(own)));
  }

  override async alertRules(call?: Call): Promise<T.AlertRuleRecord[]> {
    const rules = labelled(await this.ways.all(call, (cell, own) => cell.engine.alertRules(own)));
    return rules.toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  }

  override async alertEvents(
    { before, limit, until }: { readonly before?: string; readonly until?: Date; readonly limit?: number } = {},
    call?: Call,
  ): Promise<T.AlertEvent[]> {
    return newestOfAll({ before, limit }, (startOf) =>
      this.ways.all(call, (cell, own) =>
        cell.engine.alertEvents({ ...(until && { until }), ...startOf(cell), ...(limit && { limit }) }, own),
      ),
    );
  }

  override async alertPut(name: string, rule: T.AlertRule, by?: string, call?: Call): Promise<T.Json> {
    const [first] = await this.ways.all(call, (cell, own) => cell.engine.alertPut(name, rule, by, own));
    return first!.answer;
  }

  override async alertRemove(name: string, by?: string, call?: Call): Promise<void> {
    await this.#whereKnown(call, AlertNotFoundError, (cell, own) => cell.engine.alertRemove(name, by, own));
  }

  override async alertSilence(name: string, seconds: number, note: T.SilenceNote = {}, call?: Call): Promise<void> {
    await this.#whereKnown(call, AlertNotFoundError, (cell, own) => cell.engine.alertSilence(name, seconds, note, own));
  }

  override async hooks(call?: Call): Promise<T.HookRecord[]> {
    return labelled(await this.ways.all(call, (cell, own) => cell.engine.hooks(own)));
  }

  override async hookGet(name: string, call?: Call): Promise<{ readonly url: string; readonly secret: string } | null> {
    const found = await this.ways.all(call, (cell, own) => cell.engine.hookGet(name, own));
    return found.find(({ answer }) => answer !== null)?.answer ?? null;
  }

  /** One secret for all cells, so that a receiver need not know which of them sends. */
  override async hookPut(
    name: string,
    hook: { readonly url: string; readonly secret?: string },
    by?: string,
    call?: Call,
  ): Promise<{ readonly secret?: string }> {
    await this.router.ready();
    const [first, ...others] = chosen(this.router.list);
    const made = await this.ways.to(first!, call, (cell, own) => cell.engine.hookPut(name, hook, by, own));
    for (const other of others)
      await this.ways.to(other, call, (cell, own) => cell.engine.hookPut(name, { ...hook, ...made }, by, own));
    return made;
  }

  override async hookRemove(name: string, by?: string, call?: Call): Promise<void> {
    await this.#whereKnown(call, AlertNotFoundError, (cell, own) => cell.engine.hookRemove(name, by, own));
  }

  /** From the first cell that knows it. */
  override async hookTest(name: string, by?: string, call?: Call): Promise<T.JobId> {
    await this.router.ready();
    let unknown: unknown;
    let away: unknown;
    for (const cell of chosen(this.router.list)) {
      try {
        return await atMost(actMs, () =>
          this.ways.to(cell, call, async (at, own) => handleOf(at.name, await at.engine.hookTest(name, by, own))),
        );
      } catch (error) {
        if (isAway(error)) away ??= error;
        else if (error instanceof AlertNotFoundError) unknown = error;
        else throw error;
      }
    }
    throw away ?? unknown;
  }

  /** In all cells; one that does not know what it is about is fine, as long as another one does. */
  async #whereKnown<R>(
    call: Call,
    isUnknown: new (...of: never[]) => Error,
    tell: (cell: Cell, call: Call) => Promise<R>,
  ): Promise<R[]> {
    const unknown: unknown[] = [];
    const told = await this.ways.all(undefined, async (cell) => {
      try {
        return [await this.ways.to(cell, call, tell)];
      } catch (error) {
        if (!(error instanceof isUnknown)) throw error;
        unknown.push(error);
        return [];
      }
    });
    if (unknown.length === told.length) throw unknown[0];
    return flat(told);
  }

  // What any process may do for all.

  override async noticesDeliver(): Promise<{ notices: number; resumed: number }> {
    // signals of the other cells are waited for by somebody
    const all = (await this.#eachThatIsThere((cell) => cell.engine.noticesDeliver())).map(({ answer }) => answer);
    return {
      notices: all.reduce((total, { notices }) => total + notices, 0),
      resumed: all.reduce((total, { resumed }) => total + resumed, 0),
    };
  }

  /** Whoever serves a cell that is away does it when it is back. The others wait for it no longer than this. */
  async #eachThatIsThere<R>(
    ask: (cell: Cell) => Promise<R>,
    ms = patienceMs,
  ): Promise<{ readonly cell: Cell; readonly answer: R }[]> {
    await this.router.ready();
    const answers = await Promise.all(
      this.router.list.map((cell) =>
        within(ms, cell, ask(cell)).then(
          (answer) => ({ cell, answer }),
          () => undefined,
        ),
      ),
    );
    return answers.filter((one) => one !== undefined);
  }

  override async maintain(
    options: CallOptions & { readonly everySeconds?: number } = {},
  ): Promise<T.MaintenanceReport> {
    const all = await this.#upkeep((cell) => cell.engine.maintain(options));
    return Object.assign({}, ...all.map(({ answer }) => answer).toReversed()) as T.MaintenanceReport;
  }

  /** It takes its time where a cell answers. */
  async #upkeep<R>(ask: (cell: Cell) => Promise<R>): Promise<{ readonly cell: Cell; readonly answer: R }[]> {
    return this.#eachThatIsThere(async (cell) => {
      await within(patienceMs, cell, promptly(cell.engine).cellLook());
      return ask(cell);
    }, upkeepAnswerMs);
  }

  override async alertsCheck(): Promise<number> {
    return sum(await this.#eachThatIsThere((cell) => cell.engine.alertsCheck()));
  }

  override async historySample(): Promise<number> {
    return sum(await this.#eachThatIsThere((cell) => cell.engine.historySample()));
  }

  override async historyGet(filter: T.HistoryFilter = {}, call?: Call): Promise<T.HistoryPoint[]> {
    return mergedHistory(await this.#lookFor(filter.queue, call, (cell, own) => cell.engine.historyGet(filter, own)));
  }

  override async lanesRest(): Promise<number> {
    return sum(await this.#upkeep((cell) => cell.engine.lanesRest()));
  }

  override async maintainSpace(options: { readonly compactBound?: number } = {}): Promise<T.SpaceReport> {
    const all = (await this.#upkeep((cell) => cell.engine.maintainSpace(options))).map(({ answer }) => answer);
    const total = (key: Exclude<keyof T.SpaceReport, "compacted">): number =>
      all.reduce((so, report) => so + report[key], 0);
    return {
      ticketChildren: total("ticketChildren"),
      jobChildren: total("jobChildren"),
      compacted: all.flatMap(({ compacted }) => compacted),
      groupsForgotten: total("groupsForgotten"),
      lanesForgotten: total("lanesForgotten"),
    };
  }
}

/** One after another. */
async function inTurn<V, R>(values: readonly V[], work: (value: V) => Promise<R>): Promise<R[]> {
  const done: R[] = [];
  for (const value of values) done.push(await work(value));
  return done;
}

/** A job as it is told, with handles. */
function detailsIn(cell: Cell, details: T.JobDetails | null): T.JobDetails | null {
  return (
    details && {
      ...details,
      job: jobIn(cell, details.job),
      attempts: details.attempts.map((one) => withHandles(cell, one, "jobId")),
    }
  );
}

/** A claimed job; those of a class keep it. */
export function claimedIn(cell: Cell, job: T.ClaimedJob): T.ClaimedJob {
  return withHandles(cell, job, "id", "parent");
}

const flat = <R>(found: readonly { readonly answer: readonly R[] }[]): R[] => found.flatMap(({ answer }) => answer);
const sum = (found: readonly { readonly answer: number }[]): number =>
  found.reduce((total, { answer }) => total + answer, 0);

type Waits = Pick<T.TypeDepth, "waiting" | "ready" | "blocked" | "delayed" | "running" | "oldestAgeSeconds">;

function summed(a: Waits, b: Waits): Waits {
  const ages = [a.oldestAgeSeconds, b.oldestAgeSeconds].filter((age) => age !== null);
  return {
    waiting: a.waiting + b.waiting,
    ready: a.ready + b.ready,
    blocked: a.blocked + b.blocked,
    delayed: a.delayed + b.delayed,
    running: a.running + b.running,
    oldestAgeSeconds: ages.length === 0 ? null : Math.max(...ages),
  };
}

function readCursors(since: string): Record<string, string> {
  try {
    const cursors: unknown = JSON.parse(since);
    if (typeof cursors === "object" && cursors !== null && !Array.isArray(cursors)) return cursors as never;
  } catch {
    // told below
  }
  throw new InvalidArgumentError("this is no cursor over several cells", "use one that queueEvents returned");
}
