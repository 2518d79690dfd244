import type { CallOptions } from "../foreign.js";
import type { MaintenanceReport, ProcessFacts, ProcessState, SpaceReport } from "../types.js";
import { FlowVerbs } from "./flow.js";

/** What any process may do for all (`sql/upkeep`). */
export abstract class UpkeepVerbs extends FlowVerbs {
  /**
   * What any process may do for all, once: promote, reap, expire, fold, finish. With `everySeconds`, unless anybody did
   * within that time.
   */
  async maintain({
    everySeconds,
    ...call
  }: CallOptions & { readonly everySeconds?: number } = {}): Promise<MaintenanceReport> {
    return this.db.value("maintain", "select :maintain($1::float8) as value", [everySeconds ?? null], call);
  }

  /**
   * A process that runs workers is alive. Its facts are given at first, and when they have changed. Tells whether the
   * database has them, and when to come again.
   */
  async workerBeat(
    id: string,
    facts: ProcessFacts | null,
    { running, memoryBytes, stalledSeconds }: ProcessState,
    call?: CallOptions,
  ): Promise<{ readonly known: boolean; readonly inSeconds: number }> {
    return this.db.value(
      "worker_beat",
      "select :worker_beat($1::text, $2::jsonb, $3::int, $4::bigint, $5::float8) as value",
      [id, facts === null ? null : JSON.stringify(facts), running, memoryBytes, stalledSeconds],
      call,
    );
  }

  /** The process runs no workers any more. */
  async workerLeave(id: string, call?: CallOptions): Promise<void> {
    await this.db.rows("worker_leave", "select :worker_leave($1::text)", [id], call);
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
  async repair(call?: CallOptions): Promise<number> {
    return this.db.count("cell_repair", "select :cell_repair() as n", [], call);
  }
}
