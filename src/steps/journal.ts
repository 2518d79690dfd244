import { Combine } from "../db/combine.js";
import type { Engine } from "../db/engine.js";
import { DatabaseUnavailableError, LeaseLostError } from "../db/errors.js";
import type { Held, JobId, NewStep, RunRead, RunSteps } from "../db/types.js";

const maxRuns = 1000;
/**
 * Of values in one statement. What is read ends there too, after a run at least: so what a database answers with is
 * bounded by what one run may remember, not by how many begin at the same time.
 */
const maxBytes = 4_000_000;
const firstPauseMs = 50;
const longestPauseMs = 2000;

/**
 * Where the runs of a worker write down what they have done, and read what they did before. What many of them write at
 * the same time goes in one statement, and in one commit.
 */
export class Journal {
  readonly #puts: Combine<RunSteps, boolean>;
  readonly #gets: Combine<JobId, RunRead>;

  constructor(readonly engine: Engine) {
    this.#puts = new Combine(
      async (runs) => {
        const refused = new Set(await engine.stepsPut(runs));
        return runs.map(({ job }) => !refused.has(job));
      },
      { maxCalls: maxRuns, maxSize: maxBytes, isForAll },
    );
    this.#gets = new Combine(
      async (jobs): Promise<readonly RunRead[]> => {
        const found = new Map<JobId, RunRead>();
        for (let left = jobs; left.length > 0; left = left.filter((job) => !found.has(job)))
          for (const [job, run] of await engine.runsGet(left, maxBytes)) found.set(job, run);
        return jobs.map((job) => found.get(job)!);
      },
      { maxCalls: maxRuns, isForAll },
    );
  }

  /**
   * Resolves when the steps are in the database. Rejects with LeaseLostError when the job is somebody else's by now.
   * While the database is away it is tried again: what was written the first time is left as it is.
   */
  async put({ id, token }: Held, steps: readonly NewStep[], signal: AbortSignal): Promise<void> {
    const run = { token, job: id, steps };
    const size = steps.reduce((sum, { json = "" }) => sum + json.length, 0);
    const isHeld = await whileAway(() => this.#puts.add(run, size), signal);
    if (!isHeld) throw new LeaseLostError([id]);
  }

  /** Enqueue children of a step, once. As `put` when the job is somebody else's, or the database is away. */
  async start(
    { id, token }: Held,
    key: string,
    children: Parameters<Engine["stepStart"]>[2],
    detached: boolean,
    signal: AbortSignal,
  ): Promise<readonly JobId[]> {
    return whileAway(() => this.engine.stepStart({ id, token }, key, children, { detached, wake: true }), signal);
  }

  /** The callback token of a step. As `put` when the job is somebody else's, or the database is away. */
  async token(job: Held, key: string, name: string, seconds: number, signal: AbortSignal): Promise<string> {
    return whileAway(() => this.engine.stepToken(job, key, name, seconds), signal);
  }

  async read(job: JobId, signal: AbortSignal): Promise<RunRead> {
    return whileAway(() => this.#gets.add(job), signal);
  }
}

const isForAll = (error: unknown): boolean => error instanceof DatabaseUnavailableError;

/** The same was sent before, on a connection that was lost, and was committed just now: it will be found. */
const isUnderWay = (error: unknown): boolean => (error as { readonly code?: string } | null)?.code === "23505";

async function whileAway<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    try {
      return await work();
    } catch (error) {
      if (!(isForAll(error) || isUnderWay(error)) || signal.aborted) throw error;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}
