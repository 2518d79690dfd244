import { ScheduleNotFoundError } from "../db/errors.js";
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
import { type Ways, labelled, withHandles } from "./ways.js";

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
    const cell = (await this.#find(name)) ?? (await this.ways.router.cellOf({}));
    try {
      return await this.ways.to(cell, call, ask);
    } catch (error) {
      if (error instanceof ScheduleNotFoundError) this.#cellOf.delete(name);
      throw error;
    }
  }

  override async now(call?: Call): Promise<Date> {
    if (call?.tx !== undefined) return super.now(call);
    const [first] = await this.ways.all(undefined, (cell) => cell.engine.schedules.now());
    return first!.answer;
  }

  /** One whose queue is in another cell than before moves there: removed where it was, then declared anew. */
  override async put(name: string, schedule: PutSchedule, call?: Call): Promise<ScheduleChange> {
    const cell = await this.ways.router.cellOf(schedule.job);
    const before = await this.#find(name);
    if (before && before !== cell)
      await before.engine.schedules.remove(name, { because: `its queue is in cell "${cell.name}"` });
    const change = await this.ways.to(cell, call, (at, own) => at.engine.schedules.put(name, schedule, own));
    this.#cellOf.set(name, cell);
    return change;
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
    if (filter.name !== undefined) return this.#at(filter.name, call, ask);
    const found = await this.ways.all(call, ask);
    return found
      .flatMap(({ answer }) => answer)
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .slice(0, filter.limit ?? 1000);
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
