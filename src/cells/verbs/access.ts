import type * as T from "../../db/types.js";
import { CellsLookVerbs } from "./look.js";
import type { Call } from "./verbs.js";

/** What holds for whole cells, and who may do what in them. */
export abstract class CellsAccessVerbs extends CellsLookVerbs {
  override async cellPut(defaults: T.Defaults & T.Retention, call?: Call): Promise<T.Json> {
    const [first] = await this.ways.all(call, (cell, own) => cell.engine.cellPut(defaults, own));
    return first!.answer;
  }

  override async roleGrant(role: string, kind: "producer" | "worker" | "reader" | "admin", call?: Call): Promise<void> {
    await this.ways.all(call, (cell, own) => cell.engine.roleGrant(role, kind, own));
  }
}
