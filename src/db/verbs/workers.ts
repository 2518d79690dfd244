import { checkKeys } from "../encode.js";
import type { CallOptions } from "../foreign.js";
import type { DecisionNote, ObeyedOrder, ProcessFacts, ProcessState, WorkerTarget } from "../types.js";
import { FlowVerbs } from "./flow.js";

/** When to come again, and what to obey, as a beat is answered. */
export interface BeatAnswer {
  /** The database has the facts of the process. */
  readonly known: boolean;
  readonly inSeconds: number;
  /** What its workers have to do; absent in a database of an older release. */
  readonly orders?: readonly ObeyedOrder[];
}

/** Which processes run workers, and what they are ordered to do (`sql/workers`). */
export abstract class WorkerVerbs extends FlowVerbs {
  /**
   * A process that runs workers is alive. Its facts are given at first, and when they have changed. Tells whether the
   * database has them, when to come again, and what its workers have to obey.
   */
  async workerBeat(
    id: string,
    facts: ProcessFacts | null,
    { running, memoryBytes, stalledSeconds }: ProcessState,
    call?: CallOptions,
  ): Promise<BeatAnswer> {
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
   * Let workers take no more jobs, until `workerResume`; running handlers go on. Returns how many workers it is for.
   */
  async workerPause(target: WorkerTarget, note: DecisionNote = {}, call?: CallOptions): Promise<number> {
    const text = "select :worker_pause($1::text, $2::text, $3::text, $4::text) as n";
    return this.db.count("worker_pause", text, [...namesOf(target), ...noteValues(note)], call);
  }

  /** As `workerPause`, for workers that shall come to an end: they tell when their last handler has ended. */
  async workerDrain(target: WorkerTarget, note: DecisionNote = {}, call?: CallOptions): Promise<number> {
    const text = "select :worker_drain($1::text, $2::text, $3::text, $4::text) as n";
    return this.db.count("worker_drain", text, [...namesOf(target), ...noteValues(note)], call);
  }

  /** Let workers take jobs again. Returns how many do so because of it. */
  async workerResume(target: WorkerTarget, call?: CallOptions): Promise<number> {
    const text = "select :worker_resume($1::text, $2::text) as n";
    return this.db.count("worker_resume", text, namesOf(target), call);
  }

  /**
   * How many handlers workers may run at once; null gives back what their code says. Returns how many workers it is
   * for.
   */
  async workerConcurrency(
    target: WorkerTarget,
    concurrency: number | null,
    note: DecisionNote = {},
    call?: CallOptions,
  ): Promise<number> {
    const text = "select :worker_concurrency($1::text, $2::text, $3::int, $4::text, $5::text) as n";
    return this.db.count("worker_concurrency", text, [...namesOf(target), concurrency, ...noteValues(note)], call);
  }
}

function namesOf(target: WorkerTarget): (string | null)[] {
  checkKeys(target, new Set(["process", "worker"]));
  return [target.process ?? null, target.worker ?? null];
}

const noteValues = ({ by, because }: DecisionNote): (string | null)[] => [by ?? null, because ?? null];
