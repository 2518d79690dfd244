import { JobNotFoundError, QueueNotFoundError } from "../../db/errors.js";
import type * as T from "../../db/types.js";
import { askAll } from "../ask.js";
import type { Cell } from "../cell.js";
import { handleOf, splitHandle } from "../handle.js";
import {
  distinct,
  flat,
  mergedCounts,
  mergedDepth,
  mergedFailures,
  mergedQueues,
  mergedReasons,
  mergedStages,
  mergedStats,
} from "../merge.js";
import { beforeIn, compareHandles, jobIn, labelled, withHandles } from "../ways.js";
import { CellsQueueVerbs } from "./queue.js";
import type { Call } from "./verbs.js";

/** What is there, of one cell or of all together. */
export abstract class CellsLookVerbs extends CellsQueueVerbs {
  override async jobOf(queue: string, fingerprint: string, call?: Call): Promise<T.JobId | null> {
    const found = await this.ways.everywhere(queue, call, (cell, own) => cell.engine.jobOf(queue, fingerprint, own));
    for (const { cell, answer } of found) if (answer !== null) return handleOf(cell.name, answer);
    return null;
  }

  override async liveJobOf(queue: string, fingerprint: string, call?: Call): Promise<T.JobId> {
    const id = await this.jobOf(queue, fingerprint, call);
    if (id !== null) return id;
    throw new JobNotFoundError(
      `no live job of queue "${queue}" has the fingerprint "${fingerprint}"`,
      "it may have ended, or has not been enqueued yet",
    );
  }

  override async get(handle: T.JobId, call?: Call): Promise<T.JobDetails | null> {
    return this.ways.job(handle, call, async (cell, id, own) => detailsIn(cell, await cell.engine.get(id, own)));
  }

  override async getBrief(handle: T.JobId, call?: Call): Promise<T.JobDetails | null> {
    return this.ways.job(handle, call, async (cell, id, own) => detailsIn(cell, await cell.engine.getBrief(id, own)));
  }

  override async steps(handle: T.JobId, filter: T.JobStepsFilter = {}, call?: Call): Promise<T.JobStep[]> {
    return this.ways.job(handle, call, async (cell, id, own) =>
      // of a rewind it is the step that it went back to
      (await cell.engine.steps(id, filter, own)).map((step) =>
        step.kind === "rewind" ? step : withHandles(cell, step, "other"),
      ),
    );
  }

  override async children(
    handle: T.JobId,
    { after, ...page }: { readonly after?: T.JobId; readonly limit?: number } = {},
    call?: Call,
  ): Promise<T.ChildRecord[]> {
    const from = after === undefined ? {} : { after: splitHandle(after).id };
    return this.ways.job(handle, call, async (cell, id, own) =>
      (await cell.engine.children(id, { ...page, ...from }, own)).map((one) => withHandles(cell, one, "id")),
    );
  }

  override async below(handle: T.JobId, call?: Call): Promise<{ readonly count: number; readonly isExact: boolean }> {
    return this.ways.job(handle, call, (cell, id, own) => cell.engine.below(id, own));
  }

  override async list({ before, ...filter }: T.ListFilter = {}, call?: Call): Promise<T.JobRecord[]> {
    const from = before === undefined ? undefined : splitHandle(before);
    const found = await this.ways.lookFor(filter.queue, call, (cell, own) =>
      cell.engine.list({ ...filter, ...(from === undefined ? {} : { before: beforeIn(cell, from) }) }, own),
    );
    return found
      .flatMap(({ cell, answer }) => answer.map((job) => jobIn(cell, job)))
      .toSorted((a, b) => compareHandles(a.id, b.id))
      .slice(0, filter.limit ?? 100);
  }

  override async count(filter: T.CountFilter, call?: Call): Promise<T.JobCounts> {
    return mergedCounts(await this.ways.lookFor(filter?.queue, call, (cell, own) => cell.engine.count(filter, own)));
  }

  override async peek(queue = "default", limit = 10, call?: Call): Promise<T.JobRecord[]> {
    const found = await this.ways.everywhere(queue, call, (cell, own) => cell.engine.peek(queue, limit, own));
    return found.flatMap(({ cell, answer }) => answer.map((job) => jobIn(cell, job))).slice(0, limit);
  }

  override async outcomes(handles: readonly T.JobId[], call?: Call): Promise<T.JobOutcome[]> {
    const found = await this.ways.jobs(handles, call, (cell, ids, own) => cell.engine.outcomes(ids, own));
    return found.flatMap(({ cell, answer }) => answer.map((one) => withHandles(cell, one, "id")));
  }

  override async decisions(handle: T.JobId, call?: Call): Promise<T.DecisionRecord[]> {
    return this.ways.job(handle, call, async (cell, id, own) =>
      (await cell.engine.decisions(id, own)).map((one) => withHandles(cell, one, "jobId")),
    );
  }

  override async failures(filter: T.FailureFilter = {}, call?: Call): Promise<T.FailureGroup[]> {
    const found = await this.ways.lookFor(filter.queue, call, (cell, own) => cell.engine.failures(filter, own));
    return mergedFailures(found).slice(0, filter.limit ?? 100);
  }

  override async durations(filter: T.RunStatsFilter = {}, call?: Call): Promise<T.RunStats[]> {
    return mergedStats(await this.ways.lookFor(filter.queue, call, (cell, own) => cell.engine.durations(filter, own)));
  }

  override async progress(handle: T.JobId, call?: Call): Promise<{ value: T.Json; updatedAt: Date } | null> {
    return this.ways.job(handle, call, (cell, id, own) => cell.engine.progress(id, own));
  }

  override async log(handle: T.JobId, call?: Call): Promise<T.JobLog> {
    return this.ways.job(handle, call, (cell, id, own) => cell.engine.log(id, own));
  }

  override async payloadRead(handle: T.JobId, offset = 0, length = 1_048_576, call?: Call): Promise<Uint8Array | null> {
    return this.ways.job(handle, call, (cell, id, own) => cell.engine.payloadRead(id, offset, length, own));
  }

  override async *payloadStream(handle: T.JobId, call?: Call): AsyncGenerator<Uint8Array> {
    const { cell, id } = await this.router.jobAt(handle);
    yield* cell.engine.payloadStream(id, call);
  }

  override async queueDepth(queue = "default", call?: Call): Promise<T.Depth> {
    return mergedDepth(await this.ways.everywhere(queue, call, (cell, own) => cell.engine.queueDepth(queue, own)));
  }

  /** Each of them must be somewhere. */
  override async queuesCheck(queues: readonly string[]): Promise<void> {
    await this.router.ready();
    const question = { cells: 0, queues, seconds: 1 };
    const found = await askAll(this.router.list, (cell) => cell.engine.cellHold("nobody", "look", question));
    const known = new Set(found.flatMap(({ answer }) => answer.queues));
    const missing = queues.find((queue) => !known.has(queue));
    if (missing !== undefined)
      throw new QueueNotFoundError(`there is no queue "${missing}"`, "create it with mill.queues.put(name)");
  }

  override async queueGroups(queue = "default", limit = 100, call?: Call): Promise<T.GroupDepth[]> {
    const found = await this.ways.everywhere(queue, call, (cell, own) => cell.engine.queueGroups(queue, limit, own));
    const groups = new Map<string | null, T.GroupDepth>();
    for (const one of found.flatMap(({ answer }) => answer)) {
      const known = groups.get(one.group);
      groups.set(one.group, known ? { ...known, ...summed(known, one) } : one);
    }
    return [...groups.values()].toSorted((a, b) => b.waiting - a.waiting).slice(0, limit);
  }

  override async queueTypes(queue = "default", call?: Call): Promise<T.TypeDepth[]> {
    const found = await this.ways.everywhere(queue, call, (cell, own) => cell.engine.queueTypes(queue, own));
    const types = new Map<string, T.TypeDepth>();
    for (const one of found.flatMap(({ answer }) => answer)) {
      const known = types.get(one.type);
      types.set(one.type, known ? { ...known, ...summed(known, one) } : one);
    }
    return [...types.values()];
  }

  override async queues(call?: Call): Promise<T.QueueRecord[]> {
    return mergedQueues(await this.ways.all(call, (cell, own) => cell.engine.queues(own)));
  }

  override async why(handle: T.JobId, call?: Call): Promise<T.Reason[] | null> {
    return this.ways.job(handle, call, (cell, id, own) => cell.engine.why(id, own));
  }

  override async queueWhy(queue = "default", part: T.QueuePart = {}, call?: Call): Promise<T.Reason[]> {
    return mergedReasons(
      await this.ways.everywhere(queue, call, (cell, own) => cell.engine.queueWhy(queue, part, own)),
    );
  }

  override async stages(call?: Call): Promise<T.StageRecord[]> {
    return mergedStages(await this.ways.all(call, (cell, own) => cell.engine.stages(own)));
  }

  override async pauses(call?: Call): Promise<T.PauseRecord[]> {
    const found = await this.ways.all(call, (cell, own) => cell.engine.pauses(own));
    const pauses = found.flatMap(({ cell, answer }) =>
      answer.map((one) => ({ ...withHandles(cell, one, "jobId"), cell: cell.name })),
    );
    return distinct(pauses, ({ pausedAt: _at, cell: _cell, ...pause }) => pause);
  }

  override async breakers(call?: Call): Promise<T.BreakerRecord[]> {
    return labelled(await this.ways.all(call, (cell, own) => cell.engine.breakers(own)));
  }

  override async groups(call?: Call): Promise<T.GroupRecord[]> {
    const found = await this.ways.all(call, (cell, own) => cell.engine.groups(own));
    return distinct(flat(found), (group) => group);
  }

  override async limits(call?: Call): Promise<T.LimitRecord[]> {
    return labelled(await this.ways.all(call, (cell, own) => cell.engine.limits(own)));
  }
}

/** A job as it is told, with handles. */
function detailsIn(cell: Cell, details: T.JobDetails | null): T.JobDetails | null {
  return (
    details && {
      ...details,
      job: jobIn(cell, details.job),
      attempts: details.attempts.map((one) => withHandles(cell, one, "jobId")),
    }
  );
}

type Waits = Pick<T.TypeDepth, "waiting" | "ready" | "blocked" | "delayed" | "running" | "oldestAgeSeconds">;

function summed(a: Waits, b: Waits): Waits {
  const ages = [a.oldestAgeSeconds, b.oldestAgeSeconds].filter((age) => age !== null);
  return {
    waiting: a.waiting + b.waiting,
    ready: a.ready + b.ready,
    blocked: a.blocked + b.blocked,
    delayed: a.delayed + b.delayed,
    running: a.running + b.running,
    oldestAgeSeconds: ages.length === 0 ? null : Math.max(...ages),
  };
}
