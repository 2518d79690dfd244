import { QueueMovedError, ScheduleNotFoundError } from "../db/errors.js";
import type { CallOptions } from "../db/foreign.js";
import {
  type PutSchedule,
  type ScheduleChange,
  ScheduleEngine,
  type ScheduleFilter,
  type ScheduleEvent,
  type ScheduleRecord,
  type ScheduleRunRecord,
  type ScheduleStats,
} from "../db/schedule-engine.js";
import type { Statements } from "../db/statements.js";
import type { DecisionNote, JobId } from "../db/types.js";
import type { Cell } from "./cell.js";
import { handleOf } from "./handle.js";
import { longestWay } from "./router.js";
import { type Ways, arrivesFrom, isForeign, labelled, withHandles } from "./ways.js";

type Call = CallOptions | undefined;

/** The verbs on schedules over several cells. A schedule is in the cell of its jobs, by queue and tenant. */
export class CellsSchedules extends ScheduleEngine {
  readonly #cellOf = new Map<string, Cell>();

  constructor(
    readonly ways: Ways,
    db: Statements,
  ) {
    super(db);
  }

  /** The cell that has a schedule; it is looked for in all the first time. */
  async #find(name: string): Promise<Cell | undefined> {
    const known = this.#cellOf.get(name);
    if (known) return known;
    const found = await this.ways.all(undefined, (cell) => cell.engine.schedules.list({ name, brief: true }));
    const cell = found.find(({ answer }) => answer.length > 0)?.cell;
    if (cell) this.#cellOf.set(name, cell);
    return cell;
  }

  async #at<R>(name: string, call: Call, ask: (cell: Cell, call: Call) => Promise<R>): Promise<R> {
    const wasKnown = this.#cellOf.has(name);
    const cell = (await this.#find(name)) ?? (await this.ways.router.cellOf({}));
    try {
      return await this.ways.to(cell, call, ask);
    } catch (error) {
      if (!(error instanceof ScheduleNotFoundError)) throw error;
      this.#cellOf.delete(name);
      if (!wasKnown || isForeign(call)) throw error;
      const next = await this.#find(name);
      if (!next || next === cell) throw error;
      return this.ways.to(next, call, ask);
    }
  }

  override async now(call?: Call): Promise<Date> {
    if (call?.tx !== undefined) return super.now(call);
    const [first] = await this.ways.all(undefined, (cell) => cell.engine.schedules.now());
    return first!.answer;
  }

  /**
   * One whose queue is in another cell than before goes there: removed where it was, then declared anew. One that is to
   * come along with its queue is changed where it is, so that it keeps its slots, and the end of its run is waited for.
   */
  override async put(name: string, schedule: PutSchedule, call?: Call): Promise<ScheduleChange> {
    for (let tries = 1; ; tries += 1) {
      const cell = await this.#placeFor(name, schedule);
      try {
        const change = await this.ways.to(cell, call, (at, own) => at.engine.schedules.put(name, schedule, own));
        this.#cellOf.set(name, cell);
        return change;
      } catch (error) {
        if (!(error instanceof QueueMovedError)) throw error;
        this.ways.router.moved(error.queue, error.cell); // and the schedule has come along by now
        this.#cellOf.delete(name);
        if (tries === longestWay || isForeign(call)) throw error;
      }
    }
  }

  /** The cell that a schedule is to be declared in. */
  async #placeFor(name: string, schedule: PutSchedule): Promise<Cell> {
    const cell = await this.ways.router.cellOf(schedule.job);
    const list = (at: Cell): Promise<ScheduleRecord[]> =>
      this.ways.to(at, undefined, () => at.engine.schedules.list({ name }));
    if ((await list(cell)).length > 0) return cell;
    if (this.#cellOf.get(name) === cell) this.#cellOf.delete(name);
    const before = await this.#find(name);
    const [was] = before ? await list(before) : [];
    if (!before || !was) return cell;
    if (await this.#comesAlong(was, schedule, before, cell)) return before;
    // it may be the queue that has moved since it was looked for, and not the schedule that is in the wrong place
    this.ways.router.forget(schedule.job.queue ?? "default");
    if ((await this.ways.router.cellOf(schedule.job)) !== cell) return this.#placeFor(name, schedule);
    const because = `its queue is in cell "${cell.name}"`;
    await before.engine.schedules.remove(name, { because }).catch((error: unknown) => {
      if (!(error instanceof ScheduleNotFoundError)) throw error;
    });
    return cell;
  }

  /** It is one of a queue that is moving from the one cell to the other. */
  async #comesAlong(was: ScheduleRecord, { job }: PutSchedule, from: Cell, to: Cell): Promise<boolean> {
    const queue = job.queue ?? "default";
    return (was.job.queue ?? "default") === queue && (await arrivesFrom(to, queue)) === from.name;
  }

  override async remove(name: string, note: DecisionNote = {}, call?: Call): Promise<void> {
    await this.#at(name, call, (cell, own) => cell.engine.schedules.remove(name, note, own));
    this.#cellOf.delete(name);
  }

  override async pause(name: string, note: DecisionNote = {}, call?: Call): Promise<void> {
    return this.#at(name, call, (cell, own) => cell.engine.schedules.pause(name, note, own));
  }

  override async resume(
    name: string,
    note: DecisionNote & { readonly catchUp?: boolean } = {},
    call?: Call,
  ): Promise<void> {
    return this.#at(name, call, (cell, own) => cell.engine.schedules.resume(name, note, own));
  }

  override async trigger(name: string, note: DecisionNote = {}, call?: Call): Promise<JobId> {
    return this.#at(name, call, async (cell, own) =>
      handleOf(cell.name, await cell.engine.schedules.trigger(name, note, own)),
    );
  }

  override async backfill(
    name: string,
    slots: readonly Date[],
    concurrency: number,
    note: DecisionNote = {},
    call?: Call,
  ): Promise<number> {
    return this.#at(name, call, (cell, own) => cell.engine.schedules.backfill(name, slots, concurrency, note, own));
  }

  override async calendarPut(name: string, days: readonly string[], call?: Call): Promise<void> {
    await this.ways.all(call, (cell, own) => cell.engine.schedules.calendarPut(name, days, own));
  }

  override async blockedDays(calendars: readonly string[], call?: Call): Promise<string[]> {
    if (calendars.length === 0) return [];
    if (call?.tx !== undefined) return super.blockedDays(calendars, call);
    const [first] = await this.ways.all(undefined, (cell) => cell.engine.schedules.blockedDays(calendars));
    return first!.answer;
  }

  override async list(filter: ScheduleFilter = {}, call?: Call): Promise<ScheduleRecord[]> {
    const ask = async (cell: Cell, own: Call): Promise<ScheduleRecord[]> =>
      (await cell.engine.schedules.list(filter, own)).map((one) => ({
        ...withHandles(cell, one, "openJobs"),
        cell: cell.name,
      }));
    if (filter.name !== undefined) return this.#byName(filter.name, call, ask);
    const found = await this.ways.all(call, ask);
    return found
      .flatMap(({ answer }) => answer)
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .slice(0, filter.limit ?? 1000);
  }

  async #byName(name: string, call: Call, ask: (cell: Cell, call: Call) => Promise<ScheduleRecord[]>) {
    const wasKnown = this.#cellOf.has(name);
    const found = await this.#at(name, call, ask);
    if (found.length > 0) return found;
    this.#cellOf.delete(name);
    return wasKnown && !isForeign(call) ? this.#at(name, call, ask) : found;
  }

  override async undeclared(app: string, names: readonly string[], call?: Call): Promise<string[]> {
    const found = await this.ways.all(call, (cell, own) => cell.engine.schedules.undeclared(app, names, own));
    return found.flatMap(({ answer }) => answer).toSorted();
  }

  override async runs(name: string, limit = 100, call?: Call): Promise<ScheduleRunRecord[]> {
    return this.#at(name, call, async (cell, own) =>
      (await cell.engine.schedules.runs(name, limit, own)).map((run) => withHandles(cell, run, "jobId")),
    );
  }

  override async events(name?: string, limit = 100, call?: Call): Promise<ScheduleEvent[]> {
    const found = await this.ways.all(call, (cell, own) => cell.engine.schedules.events(name, limit, own));
    return labelled(found)
      .toSorted((a, b) => b.at.getTime() - a.at.getTime())
      .slice(0, limit);
  }

  override async durations(
    name: string,
    options: { readonly runs?: number; readonly windows?: readonly number[] } = {},
    call?: Call,
  ): Promise<ScheduleStats[]> {
    return this.#at(name, call, (cell, own) => cell.engine.schedules.durations(name, options, own));
  }
}
