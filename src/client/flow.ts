import { checkObject } from "../db/check-options.js";
import { checkIdOrHandle, checkKeys } from "../db/encode.js";
import { InvalidArgumentError } from "../db/errors.js";
import type { EnqueuedFlow, FlowWhen, JobId, NewFlowJob } from "../db/types.js";
import type { AnyJobDefinition, JobDefinition } from "../job/define-job.js";
import type { JobOptions } from "../job/job-options.js";
import type { EngineJob } from "../job/new-job.js";
import type { TxOptions } from "./call.js";

/** Options of `mill.flow`. */
export interface FlowOptions {
  /** What people know it by. Default none. */
  readonly name?: string;
  /** Where the flow itself is kept; its jobs have queues of their own. Default `default`. */
  readonly queue?: string;
  /** Add to this flow, which has not ended. Default: a new one. */
  readonly to?: JobId | { readonly id: JobId };
}

/** Options of `flow.add`: those of any job but its uniqueness, and what it waits for. */
export interface FlowJobOptions extends Omit<
  JobOptions,
  "fingerprint" | "fingerprintMode" | "fingerprintFor" | "payload" | "contentType"
> {
  /** What has to end first: jobs of this flow, or ids of jobs that are there. Default nothing. */
  readonly after?: readonly (FlowJob | JobId)[];
  /**
   * When it begins: all of it has `succeeded`, some of it has `failed` (or expired, or was cancelled), or all has
   * `ended` somehow. A job that will never begin is cancelled, with the reason. Default `succeeded`.
   */
  readonly when?: FlowWhen;
}

/** A job that was added to a flow, to be waited for by others. */
export interface FlowJob {
  readonly flow: Flow;
  /** Its place among the jobs of the flow. */
  readonly place: number;
}

/** What a flow needs of the client. */
export interface FlowOwner {
  newJob(definition: AnyJobDefinition | string, input: unknown, options: JobOptions): Promise<EngineJob>;
  store(jobs: readonly NewFlowJob[], options: FlowOptions, tx: TxOptions): Promise<EnqueuedFlow>;
}

/**
 * Jobs that wait for each other. They are put together here, and stored all at once, or not at all.
 *
 * @example
 * ```ts
 * const flow = mill.flow({ name: "import-7" });
 * const parts = files.map((file) => flow.add(extract, { file }));
 * const load = flow.add(loadTable, { table: "t" }, { after: parts });
 * flow.add(report, {}, { after: [load], when: "ended" });
 * const { id } = await flow.enqueue({ tx });
 * await mill.result(id); // { succeeded: 4 }
 * ```
 */
export class Flow {
  readonly #owner: FlowOwner;
  readonly #options: FlowOptions;
  readonly #jobs: { readonly job: Promise<EngineJob>; readonly after: (number | JobId)[]; readonly when?: FlowWhen }[] =
    [];
  #isStored = false;

  constructor(owner: FlowOwner, options: FlowOptions) {
    checkKeys(options, new Set(["name", "queue", "to"]));
    if (options.to !== undefined && (options.name !== undefined || options.queue !== undefined))
      throw new InvalidArgumentError("a flow that is added to has its name and queue", "give `to` alone");
    this.#owner = owner;
    this.#options = options;
  }

  /** Add a job. Nothing is stored before `enqueue`. */
  add<In = unknown>(
    definition: JobDefinition<In, unknown> | string,
    input: NoInfer<In>,
    options: FlowJobOptions = {},
  ): FlowJob {
    checkObject(options, "options");
    const { after = [], when, ...jobOptions } = options;
    const places = after.map((one) => this.#placeOf(one));
    const job = this.#owner.newJob(definition, input, jobOptions);
    job.catch(() => {}); // told by enqueue
    this.#jobs.push({ job, after: places, ...(when === undefined ? {} : { when }) });
    return { flow: this, place: this.#jobs.length - 1 };
  }

  #placeOf(one: FlowJob | JobId): number | JobId {
    if (typeof one === "string") return checkIdOrHandle(one);
    if (typeof one === "object" && one?.flow === this) return one.place;
    throw new InvalidArgumentError(
      "a job waits for jobs of its own flow, or for jobs that are there",
      "give what add() returned, or the id of a job",
    );
  }

  /** Store all of it, in your transaction if you give one. */
  async enqueue(options: TxOptions = {}): Promise<EnqueuedFlow> {
    if (this.#isStored) throw new InvalidArgumentError("this flow was stored already", "begin another one");
    const jobs = await Promise.all(
      this.#jobs.map(async ({ job, after, when }): Promise<NewFlowJob> => {
        const { type, input, ...rest } = await job;
        return { type, input, options: rest, after, ...(when === undefined ? {} : { when }) };
      }),
    );
    const stored = await this.#owner.store(jobs, this.#options, options);
    this.#isStored = true;
    return stored;
  }
}
