import type * as T from "../../db/types.js";
import { mergedHistory, sum } from "../merge.js";
import { CellsWorkerVerbs } from "./workers.js";
import type { Call } from "./verbs.js";

/** The history of all cells. */
export abstract class CellsHistoryVerbs extends CellsWorkerVerbs {
  override async historySample(): Promise<number> {
    return sum(await this.ways.eachThatIsThere((cell) => cell.engine.historySample()));
  }

  override async historyGet(filter: T.HistoryFilter = {}, call?: Call): Promise<T.HistoryPoint[]> {
    return mergedHistory(
      await this.ways.lookFor(filter.queue, call, (cell, own) => cell.engine.historyGet(filter, own)),
    );
  }
}
