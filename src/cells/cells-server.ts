import { CellError } from "../db/errors.js";
import type { CallOptions } from "../db/foreign.js";
import type { Queryable } from "../db/queryable.js";
import { ServerEngine } from "../db/server-engine.js";
import type { Statements } from "../db/statements.js";
import type {
  AuditFilter,
  AuditRecord,
  CellGroup,
  DefinitionRecord,
  FindFilter,
  Found,
  JobId,
  JobRecord,
  Json,
  ProcessRecord,
  RunningJob,
  SettingsName,
  UnhandledType,
  WorkerRecord,
} from "../db/types.js";
import type { Cell } from "./cell.js";
import { handleOf, splitHandle } from "./handle.js";
import { winner } from "./rendezvous.js";
import { CellsTransaction } from "./transaction.js";
import { actMs, atMost, lookLimit } from "./ask.js";
import { newestOfAll } from "./by-time.js";
import { type Ways, beforeIn, compareHandles, jobIn, labelled, withHandles } from "./ways.js";

type Call = CallOptions | undefined;

/** What only a server asks for, of all cells. */
export class CellsServer extends ServerEngine {
  constructor(
    readonly ways: Ways,
    db: Statements,
  ) {
    super(db);
  }

  override async cellGroups(limit = 100, call?: Call): Promise<CellGroup[]> {
    const groups = new Map<string, CellGroup>();
    for (const { answer } of await this.ways.all(call, (cell, own) => cell.engine.server.cellGroups(limit, own)))
      for (const one of answer) {
        const known = groups.get(one.group);
        groups.set(one.group, known ? bothGroups(known, one) : one);
      }
    return [...groups.values()].toSorted((a, b) => b.waiting - a.waiting).slice(0, limit);
  }

  override async names(
    kind: "queue" | "type" | "group" | "tenant",
    part = "",
    limit = 20,
    call?: Call,
  ): Promise<readonly string[]> {
    const found = await this.ways.all(call, (cell, own) => cell.engine.server.names(kind, part, limit, own));
    const begins = (name: string): number => (name.startsWith(part) ? 0 : 1);
    return [...new Set(found.flatMap(({ answer }) => answer))]
      .toSorted((a, b) => begins(a) - begins(b) || (a < b ? -1 : 1))
      .slice(0, limit);
  }

  /** Of a type that several cells know, what was declared last. */
  override async schemas(since?: Date, call?: Call): Promise<DefinitionRecord[]> {
    const newest = new Map<string, DefinitionRecord>();
    for (const { answer } of await this.ways.all(call, (cell, own) => cell.engine.server.schemas(since, own)))
      for (const one of answer) {
        const known = newest.get(one.type);
        if (known === undefined || known.declaredAt < one.declaredAt) newest.set(one.type, one);
      }
    return [...newest.values()];
  }

  /** A cell whose look was too short goes on where it stopped: so far all others are shown too, and no further. */
  override async find({ before, limit = 100, ...filter }: FindFilter = {}, call?: Call): Promise<Found> {
    const from = before === undefined ? undefined : splitHandle(before);
    const ask = (cell: Cell, own: Call): Promise<Found> =>
      cell.engine.server.find(
        { ...lookLimit(), ...filter, limit, ...(from === undefined ? {} : { before: beforeIn(cell, from) }) },
        own,
      );
    const found = await (filter.queue === undefined
      ? this.ways.all(call, ask)
      : this.ways.everywhere(filter.queue, call, ask));
    const all = found
      .flatMap(({ cell, answer }) => answer.ids.map((id) => handleOf(cell.name, id)))
      .toSorted(compareHandles);
    const nexts = found
      .filter(({ answer }) => answer.next !== null)
      .map(({ cell, answer }) => handleOf(cell.name, answer.next!))
      .toSorted(compareHandles);
    // beyond the first place where a cell stopped, not all is known
    const known = nexts[0] === undefined ? all : all.filter((one) => compareHandles(one, nexts[0]!) <= 0);
    if (known.length > limit) return { ids: known.slice(0, limit), next: known[limit - 1]! };
    return { ids: known, next: nexts[0] ?? null };
  }

  async #of(
    handles: readonly JobId[],
    call: Call,
    ask: (cell: Cell, ids: JobId[], call: Call) => Promise<JobRecord[]>,
  ) {
    const found = await this.ways.jobs(handles, call, ask);
    return found
      .flatMap(({ cell, answer }) => answer.map((job) => jobIn(cell, job)))
      .toSorted((a, b) => compareHandles(a.id, b.id));
  }

  override async byIds(handles: readonly JobId[], maxBytes = 67_108_864, call?: Call): Promise<JobRecord[]> {
    const jobs = await this.#of(handles, call, (cell, ids, own) => cell.engine.server.byIds(ids, maxBytes, own));
    // where one cell had no room for all of its jobs, the page ends there, so that the next one begins with them
    const shown = new Set(jobs.map(({ id }) => id));
    const missing = handles.toSorted(compareHandles).find((handle) => !shown.has(handle));
    if (missing === undefined || jobs.length === 0) return jobs;
    const upTo = jobs.filter(({ id }) => compareHandles(id, missing) < 0);
    return upTo.length > 0 ? upTo : jobs.slice(0, 1);
  }

  override async briefByIds(handles: readonly JobId[], call?: Call): Promise<JobRecord[]> {
    return this.#of(handles, call, (cell, ids, own) => cell.engine.server.briefByIds(ids, own));
  }

  override async running(limit = 100, handles?: readonly JobId[], call?: Call): Promise<RunningJob[]> {
    const found = handles
      ? await this.ways.jobs(handles, call, (cell, ids, own) => cell.engine.server.running(limit, ids, own))
      : await this.ways.all(call, (cell, own) => cell.engine.server.running(limit, undefined, own));
    return found
      .flatMap(({ cell, answer }) => answer.map((job) => ({ ...withHandles(cell, job, "id"), cell: cell.name })))
      .toSorted((a, b) => a.startedAt.getTime() - b.startedAt.getTime())
      .slice(0, limit);
  }

  override async processes(call?: Call): Promise<ProcessRecord[]> {
    return labelled(await this.ways.all(call, (cell, own) => cell.engine.server.processes(own)));
  }

  override async unhandled(minAgeSeconds = 60, call?: Call): Promise<UnhandledType[]> {
    return labelled(await this.ways.all(call, (cell, own) => cell.engine.server.unhandled(minAgeSeconds, own)));
  }

  override async workers(call?: Call): Promise<WorkerRecord[]> {
    const workers = new Map<string | null, WorkerRecord>();
    for (const one of labelled(await this.ways.all(call, (cell, own) => cell.engine.server.workers(own)))) {
      const known = workers.get(one.name);
      workers.set(
        one.name,
        known
          ? {
              ...known,
              held: known.held + one.held,
              running: known.running + one.running,
              types: [...new Set([...known.types, ...one.types])],
              queues: [...new Set([...known.queues, ...one.queues])],
              since: known.since < one.since ? known.since : one.since,
              cell: `${known.cell}, ${one.cell}`,
            }
          : one,
      );
    }
    return [...workers.values()];
  }

  override async liveSample(): Promise<never> {
    throw new CellError("samples go on from each other, by the clock and the logs of one server", "ask a cell");
  }

  /** Where the act was; without one, in any cell that is there. */
  override async auditAdd(entry: Omit<AuditRecord, "id" | "at">, call?: Call): Promise<void> {
    const begun = call?.tx instanceof CellsTransaction ? call.tx.sound : undefined;
    if (begun) return this.ways.to(begun, call, (cell, own) => cell.engine.server.auditAdd(entry, own));
    await this.ways.router.ready();
    let failure: unknown;
    for (const cell of this.ways.router.list) {
      try {
        return await atMost(actMs, () => this.ways.to(cell, call, (at, own) => at.engine.server.auditAdd(entry, own)));
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }

  /** The `id` of an entry is its place among those of all cells. */
  override async audit({ before, limit, ...filter }: AuditFilter = {}, call?: Call): Promise<AuditRecord[]> {
    return newestOfAll({ before, limit }, (startOf) =>
      this.ways.all(call, (cell, own) => {
        const { until, ...from } = startOf(cell);
        const earlier = until && (filter.until === undefined || until < filter.until) ? { until } : {};
        return cell.engine.server.audit({ ...filter, ...from, ...earlier, ...(limit && { limit }) }, own);
      }),
    );
  }

  override async failureOf(handle: JobId, call?: Call): Promise<string | null> {
    return this.ways.job(handle, call, (cell, id, own) => cell.engine.server.failureOf(id, own));
  }

  /**
   * Of a queue in its cell, of a schedule in the one that has it; of all else in any. What is changed in all cells is
   * read where it is changed, so that it is seen as it will be.
   */
  override async settings(what: SettingsName, call?: Call): Promise<Readonly<Record<string, Json>> | null> {
    const [kind, name] = what;
    const isOfQueue = kind === "queue" || kind === "group";
    if (isOfQueue)
      return this.ways.to(await this.ways.router.settingsOf(name), call, (cell, own) =>
        cell.engine.server.settings(what, own),
      );
    const isOfAll = kind === "alertRule" || kind === "hook" || kind === "worker";
    const found = await this.ways.all(isOfAll ? call : undefined, async (cell, own) => {
      try {
        return await cell.engine.server.settings(what, isOfAll ? own : undefined);
      } catch (error) {
        if (!isAborted(error)) throw error;
        return null; // it did not know what was to be changed: nothing of it is
      }
    });
    return found.find(({ answer }) => answer !== null)?.answer ?? null;
  }

  /** Keys of requests are kept by the cell that their hash gives them to. */
  override async once<R extends Json>(
    key: string,
    request: string,
    work: () => Promise<R>,
    call: { readonly tx: Queryable },
  ): Promise<{ readonly answer: R; readonly isNew: boolean } | null> {
    const cell = this.ways.router.cell(winner(key, (await this.ways.router.members()).names));
    return this.ways.to(cell, call, (at, own) =>
      at.engine.server.once(key, request, work, own as unknown as { readonly tx: Queryable }),
    );
  }

  override async peekBrief(queue: string, limit: number): Promise<JobRecord[]> {
    return this.#peeked(queue, limit, (cell) => cell.engine.server.peekBrief(queue, limit));
  }

  override async peek(queue: string, limit: number, maxBytes: number): Promise<JobRecord[]> {
    return this.#peeked(queue, limit, (cell) => cell.engine.server.peek(queue, limit, maxBytes));
  }

  async #peeked(queue: string, limit: number, ask: (cell: Cell) => Promise<JobRecord[]>): Promise<JobRecord[]> {
    const found = await this.ways.everywhere(queue, undefined, ask);
    return found.flatMap(({ cell, answer }) => answer.map((job) => jobIn(cell, job))).slice(0, limit);
  }
}

/** Of a transaction in which something was refused before. */
const isAborted = (error: unknown): boolean => (error as { readonly code?: unknown }).code === "25P02";

function bothGroups(a: CellGroup, b: CellGroup): CellGroup {
  const ages = [a.oldestAgeSeconds, b.oldestAgeSeconds].filter((age) => age !== null);
  return {
    group: a.group,
    queues: [...new Set([...a.queues, ...b.queues])].toSorted(),
    waiting: a.waiting + b.waiting,
    ready: a.ready + b.ready,
    blocked: a.blocked + b.blocked,
    delayed: a.delayed + b.delayed,
    running: a.running + b.running,
    oldestAgeSeconds: ages.length === 0 ? null : Math.max(...ages),
    estimated: a.estimated || b.estimated,
  };
}
