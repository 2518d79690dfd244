import { checkKeys } from "../encode.js";
import type { CallOptions } from "../foreign.js";
import { decodeHistory } from "../decode.js";
import type { HistoryFilter, HistoryPoint } from "../types.js";
import { WorkerVerbs } from "./workers.js";

/** What it looked like, by the minute and by the hour (`sql/history`). */
export abstract class HistoryVerbs extends WorkerVerbs {
  /** Write down what the last minute was, if nobody has. Returns how many minutes were written. */
  async historySample(call?: CallOptions): Promise<number> {
    return this.db.count("history_sample", "select :history_sample() as n", [], call);
  }

  /**
   * The history of all queues, of a queue, or of a type of it: by the minute up to a day, by the hour up to thirty
   * days. Where nobody looked there is no point.
   */
  async historyGet(filter: HistoryFilter = {}, call?: CallOptions): Promise<HistoryPoint[]> {
    checkKeys(filter, new Set(["queue", "type", "seconds"]));
    const text = "select * from :history_get($1::text, $2::text, $3::float8)";
    const values = [filter.queue ?? null, filter.type ?? null, filter.seconds ?? 3600];
    return (await this.db.rows("history_get", text, values, call)).map(decodeHistory);
  }
}
