import type { ProcessFacts, ProcessState } from "../db/types.js";

/** What one beat tells the database: sql/workers/worker_beat.sql. */
export interface ProcessBeat {
  readonly id: string;
  /** The database hears of a change of these at once. */
  readonly facts: ProcessFacts;
  readonly state: ProcessState;
  /** Handlers that run, by worker, where there are several: they go along with the next beat. */
  readonly runs?: readonly number[];
}

/** What is told beside numbers of the process. One worker alone runs what its process runs: that is told anyway. */
export function factsOf({ facts, runs }: ProcessBeat): ProcessFacts {
  if (!runs) return facts;
  return { ...facts, workers: facts.workers.map((worker, place) => ({ ...worker, running: runs[place] ?? 0 })) };
}
