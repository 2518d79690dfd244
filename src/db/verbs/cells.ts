import type { CallOptions } from "../foreign.js";
import type { CellLook, CellMember, HeldCell } from "../types/cells.js";
import { UpkeepVerbs } from "./upkeep.js";

/** Several cells that are used as one (`sql/cells`). */
export abstract class CellVerbs extends UpkeepVerbs {
  /** Who this cell is, and what it knows of the others. */
  async cellLook(): Promise<CellLook> {
    return this.db.value<CellLook>("cell_look", "select :cell_look() as value", [], undefined);
  }

  /** Tell this cell what it is called, and the changes of the list of cells. Returns what it knows then. */
  async cellJoin(self: string, members: readonly CellMember[]): Promise<CellLook> {
    const text = "select :cell_join($1::text, $2::jsonb) as value";
    return this.db.value<CellLook>("cell_join", text, [self, JSON.stringify(members)], undefined);
  }

  /** The cell that a queue is in, as far as this one knows. */
  async queueHome(queue: string): Promise<string | null> {
    return this.db.value<string | null>("queue_home", "select :queue_home($1::text) as value", [queue], undefined);
  }

  /** Say where a new queue is to be. Returns where it is; null when the list of cells has changed. */
  async queuePlace(queue: string, version: number, cell?: string): Promise<string | null> {
    const text = "select :queue_place($1::text, $2::int, $3::text) as value";
    return this.db.value<string | null>("queue_place", text, [queue, version, cell ?? null], undefined);
  }

  /** Those of these tenants of a spread queue whose place is this cell. */
  async tenantsHere(queue: string, tenants: readonly string[]): Promise<string[]> {
    const text = "select to_json(:tenants_here($1::text, $2::text[])) as value";
    return this.db.value<string[]>("tenants_here", text, [queue, tenants], undefined);
  }

  /** Say that new tenants of a spread queue are to be here. Returns those whose place is here then. */
  async tenantsPlace(queue: string, tenants: readonly string[], version: number): Promise<string[]> {
    const text = "select to_json(:tenants_place($1::text, $2::text[], $3::int)) as value";
    return this.db.value<string[]>("tenants_place", text, [queue, tenants, version], undefined);
  }

  /** Keep others from changing what is set for a spread queue until `call.tx` ends. Returns the version of the list. */
  async spreadLock(queue: string, call: CallOptions): Promise<number> {
    return this.db.value<number>("spread_lock", "select :spread_lock($1::text) as value", [queue], call);
  }

  /** A worker serves this cell, or would. */
  async cellHold(
    holder: string,
    way: "keep" | "take" | "spare" | "look" | "leave",
    {
      cells,
      queues,
      seconds,
    }: { readonly cells: number; readonly queues: readonly string[]; readonly seconds: number },
  ): Promise<HeldCell> {
    return this.db.value<HeldCell>(
      "cell_hold",
      "select :cell_hold($1::text, $2::text, $3::int, $4::text[], $5::float8) as value",
      [holder, way, cells, queues, seconds],
      undefined,
    );
  }
}
