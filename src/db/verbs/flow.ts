import { checkList } from "../check-options.js";
import { asDate } from "../decode.js";
import { checkId, checkType, encodeOptions, toJson } from "../encode.js";
import { InvalidArgumentError } from "../errors.js";
import type { CallOptions } from "../foreign.js";
import { bounds } from "../limits.js";
import type { EnqueuedFlow, FlowGraph, FlowTarget, JobId, Json, NewFlowJob, WaitedJob } from "../types.js";
import { StepVerbs } from "./steps.js";

/** Jobs that wait for each other (`sql/flow`). */
export abstract class FlowVerbs extends StepVerbs {
  /** Store jobs that wait for each other, all of them or none. */
  async flowEnqueue(jobs: readonly NewFlowJob[], target: FlowTarget = {}, call?: CallOptions): Promise<EnqueuedFlow> {
    checkList(jobs, "jobs");
    const stored = await this.db.value<{ flow: JobId; jobs: JobId[] }>(
      "flow_enqueue",
      "select :flow_enqueue($1::json, $2::json) as value",
      [`[${jobs.map(encodeFlowJob).join(",")}]`, toJson(target, "flow")],
      call,
    );
    return { id: stored.flow, jobs: stored.jobs };
  }

  /** A flow with its jobs and what each waits for; null when there is none. */
  async flowGet(id: JobId, limit = 1000, call?: CallOptions): Promise<FlowGraph | null> {
    const [row] = await this.db.rows(
      "flow_get",
      "select :flow_get($1::bigint, $2::int) as flow",
      [checkId(id), limit],
      call,
    );
    const found = row?.["flow"] as ({ flow: JobId } & Record<string, unknown>) | null;
    if (!found) return null;
    const { flow, createdAt, finishedAt, ...rest } = found;
    return { ...rest, id: flow, createdAt: asDate(createdAt)!, finishedAt: asDate(finishedAt) } as FlowGraph;
  }

  /** The jobs that a job of a flow has waited for, and how each has ended. */
  async waited(id: JobId, call?: CallOptions): Promise<WaitedJob[]> {
    const rows = await this.db.rows(
      "job_waited",
      "select job_id::text, type, state, result, error from :job_waited($1::bigint)",
      [checkId(id)],
      call,
    );
    return rows.map((row) => ({
      id: String(row["job_id"]),
      type: String(row["type"]),
      state: String(row["state"]),
      result: row["result"] as Json,
      error: row["error"] as Json,
    }));
  }
}

function encodeFlowJob({ type, input, options = {}, after = [], when }: NewFlowJob): string {
  if ("payload" in options)
    throw new InvalidArgumentError("a job of a flow takes no payload", "give it a reference as its input");
  const place = { type: checkType(type), after, when };
  return `${JSON.stringify(place).slice(0, -1)},"input":${toJson(input, "input", bounds.inputBytes)},"options":${encodeOptions(options)}}`;
}
