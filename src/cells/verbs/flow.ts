import { CellError } from "../../db/errors.js";
import type * as T from "../../db/types.js";
import type { Cell } from "../cell.js";
import type { Address } from "../tenants.js";
import { withHandles } from "../ways.js";
import { CellsStepVerbs } from "./steps.js";
import type { Call } from "./verbs.js";

/** Jobs that wait for each other, in one cell. */
export abstract class CellsFlowVerbs extends CellsStepVerbs {
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
}
