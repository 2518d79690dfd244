import type { CallOptions } from "../foreign.js";
import type { MaintenanceReport, SpaceReport } from "../types.js";
import { AlertVerbs } from "./alerts.js";

/** What any process may do for all (`sql/upkeep`). */
export abstract class UpkeepVerbs extends AlertVerbs {
  /**
   * What any process may do for all, once: promote, reap, expire, fold, finish. With `everySeconds`, unless anybody did
   * within that time. With `spaceSeconds` it tells when nobody has given space back for that long.
   */
  async maintain({
    everySeconds,
    spaceSeconds,
    ...call
  }: CallOptions & {
    readonly everySeconds?: number;
    readonly spaceSeconds?: number;
  } = {}): Promise<MaintenanceReport> {
    const values = [everySeconds ?? null, spaceSeconds ?? null];
    return this.db.value("maintain", "select :maintain($1::float8, $2::float8) as value", values, call);
  }

  /**
   * Put lanes (types, priorities, sets of resources) that have nothing to rest, in queues that have very many. Returns
   * how many changed.
   */
  async lanesRest(call?: CallOptions): Promise<number> {
    return this.db.count("lanes_rest", "select :lanes_rest() as n", [], call);
  }

  /**
   * Give space back: rotate rings, compact control tables. Each step is a transaction of its own, so that no lock is
   * held for long.
   */
  async maintainSpace(options: { readonly compactBound?: number } = {}): Promise<SpaceReport> {
    const bound = options.compactBound ?? 20_000;
    const ticketChildren = await this.#untilZero("ticket_rotate", 8);
    const jobChildren = await this.#untilZero("job_rotate", 32);
    const compacted: string[] = [];
    for (let i = 0; i < 6; i += 1) {
      const text = "select :control_compact($1::bigint) as value";
      const table = await this.db.value<string | null>("control_compact", text, [bound], undefined);
      if (table === null) break;
      compacted.push(table);
    }
    const groupsForgotten = await this.db.count("groups_forget", "select :groups_forget() as n", [], undefined);
    const lanesForgotten = await this.db.count("lanes_forget", "select :lanes_forget() as n", [], undefined);
    return { ticketChildren, jobChildren, compacted, groupsForgotten, lanesForgotten };
  }

  async #untilZero(name: "ticket_rotate" | "job_rotate", most: number): Promise<number> {
    for (let done = 0; done < most; done += 1) {
      if ((await this.db.count(name, `select :${name}() as n`, [], undefined)) === 0) return done;
    }
    return most;
  }

  /**
   * After a dump was restored into another server: give waiting jobs new tickets. Run it once, while nothing else runs.
   */
  async cellRepair(call?: CallOptions): Promise<number> {
    return this.db.count("cell_repair", "select :cell_repair() as n", [], call);
  }
}
