import type { ClaimedJob, JobError, JobId, Settlement } from "../db/types.js";
import { type Outcome, isReported } from "./outcome.js";

/** What succeeded of one claim; results and logs are sent when anybody has one. */
interface Successes {
  readonly ids: JobId[];
  readonly results: unknown[];
  hasResults: boolean;
  readonly logs: (readonly string[] | null)[];
  hasLogs: boolean;
}

/** Outcomes that wait to be reported: what succeeded of a claim together, all else one by one. */
export class Outbox {
  #others: Settlement[] = [];
  readonly #successes = new Map<string, Successes>();
  #size = 0;
  #onTheirWay = 0;
  #oldestAt = 0;

  /** How many outcomes wait. */
  get size(): number {
    return this.#size;
  }

  /** Reports that were taken, and may yet come back. */
  get onTheirWay(): number {
    return this.#onTheirWay;
  }

  /** How long the oldest has waited. */
  get waitedMs(): number {
    return this.#size === 0 ? 0 : performance.now() - this.#oldestAt;
  }

  add({ id, token }: ClaimedJob, outcome: Outcome): void {
    if (!isReported(outcome)) return;
    if (this.#size === 0) this.#oldestAt = performance.now();
    this.#size += 1;
    if (outcome.kind === "succeeded") {
      let group = this.#successes.get(token);
      if (!group)
        this.#successes.set(token, (group = { ids: [], results: [], hasResults: false, logs: [], hasLogs: false }));
      group.ids.push(id);
      group.results.push(outcome.result ?? null);
      group.hasResults ||= outcome.result !== undefined;
      group.logs.push(outcome.log ?? null);
      group.hasLogs ||= outcome.log !== undefined;
    } else if (outcome.kind === "suspended") {
      const { waits, steps } = outcome;
      this.#others.push({ token, outcome: "suspended", jobs: [id], waits, steps });
    } else {
      const delay =
        "delaySeconds" in outcome && outcome.delaySeconds !== undefined ? { delaySeconds: outcome.delaySeconds } : {};
      const error: { error?: JobError } = "error" in outcome ? { error: outcome.error } : {};
      this.#others.push({ token, outcome: outcome.kind, jobs: [id], ...error, ...delay });
    }
  }

  /** Jobs of one claim that never started: they go back together. */
  addUnstarted(token: string, jobs: readonly JobId[]): void {
    if (this.#size === 0) this.#oldestAt = performance.now();
    this.#size += jobs.length;
    this.#others.push({ token, outcome: "released", jobs });
  }

  /** Everything, to be reported now; when that is anything, `returned` must be told how it went. */
  take(): Settlement[] {
    const settlements = this.#others;
    for (const [token, { ids, results, hasResults, logs, hasLogs }] of this.#successes) {
      settlements.push({
        token,
        outcome: "succeeded",
        jobs: ids,
        ...(hasResults ? { results } : {}),
        ...(hasLogs ? { logs } : {}),
      });
    }
    this.#others = [];
    this.#successes.clear();
    this.#size = 0;
    if (settlements.length > 0) this.#onTheirWay += 1;
    return settlements;
  }

  /** A report has ended, but for what is left and must be sent again. */
  returned(left: readonly Settlement[]): void {
    this.#onTheirWay -= 1;
    this.#others.push(...left);
    for (const { jobs } of left) this.#size += jobs.length;
  }
}
