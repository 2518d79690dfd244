import { upkeepAnswerMs } from "../../db/answer-time.js";
import type { CallOptions } from "../../db/foreign.js";
import type * as T from "../../db/types.js";
import { patienceMs, within } from "../ask.js";
import type { Cell } from "../cell.js";
import { sum } from "../merge.js";
import { promptly } from "../promptly.js";
import { CellsAlertVerbs } from "./alerts.js";

/** What any process may do for all. */
export abstract class CellsUpkeepVerbs extends CellsAlertVerbs {
  override async maintain(
    options: CallOptions & { readonly everySeconds?: number } = {},
  ): Promise<T.MaintenanceReport> {
    const all = await this.#upkeep((cell) => cell.engine.maintain(options));
    return Object.assign({}, ...all.map(({ answer }) => answer).toReversed()) as T.MaintenanceReport;
  }

  /** It takes its time where a cell answers. */
  async #upkeep<R>(ask: (cell: Cell) => Promise<R>): Promise<{ readonly cell: Cell; readonly answer: R }[]> {
    return this.ways.eachThatIsThere(async (cell) => {
      await within(patienceMs, cell, promptly(cell.engine).cellLook());
      return ask(cell);
    }, upkeepAnswerMs);
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
