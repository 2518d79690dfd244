import type { ClaimedJob, JobId } from "../../src/db/types.js";

interface Wanted {
  readonly queue: string;
  readonly group: string | undefined;
  state: "wanted" | "stored" | "maybe" | "duplicate";
}

/** What was asked for and what came of it, over both cells: each job has a key of its own. */
export class MoveBooks {
  readonly violations = new Set<string>();
  delivered = 0;
  readonly #wanted = new Map<number, Wanted>();
  readonly #handles = new Map<number, JobId>();
  readonly #attempts = new Map<JobId, { attempt: number; returned: boolean }>();
  /** Jobs of the limited queue that are surely held, and until when. */
  readonly #held = new Map<JobId, number>();
  readonly #prints = new Map<number, string>();
  /** Jobs of each fingerprint that surely live: their enqueue was confirmed, and their end was not reported yet. */
  readonly #living = new Map<string, Set<JobId>>();
  readonly #ended = new Set<JobId>();
  /** The newest job of each ordered group that was handed out, and whether its end was reported. */
  readonly #newest = new Map<string, { readonly key: number; isOver: boolean }>();

  constructor(readonly limit: number) {}

  get jobs(): number {
    return [...this.#wanted.values()].filter(({ state }) => state === "stored").length;
  }

  wants(key: number, queue: string, group: string | undefined): void {
    this.#wanted.set(key, { queue, group, state: "wanted" });
  }

  /** It has this fingerprint. */
  prints(key: number, fingerprint: string): void {
    this.#prints.set(key, fingerprint);
  }

  stored(key: number, handle: JobId, isDuplicate: boolean): void {
    this.#wanted.get(key)!.state = isDuplicate ? "duplicate" : "stored";
    if (isDuplicate) return;
    this.#handles.set(key, handle);
    const fingerprint = this.#prints.get(key);
    if (fingerprint === undefined || this.#ended.has(handle)) return;
    const living = this.#living.get(fingerprint) ?? new Set();
    const [other] = living;
    if (other !== undefined) this.violations.add(`fingerprint ${fingerprint} lives twice: ${other}, ${handle}`);
    this.#living.set(fingerprint, living.add(handle));
  }

  /** The answer was lost. */
  mayBe(key: number): void {
    this.#wanted.get(key)!.state = "maybe";
  }

  /** `until`: the end of its lease, at the earliest. */
  delivers(cell: string, job: ClaimedJob, until: number): void {
    this.delivered += 1;
    const handle = `${cell}:${job.id}`;
    const { key, group } = job.input as { key: number; group?: string };
    const before = this.#attempts.get(handle);
    if (before && (job.attempt < before.attempt || (job.attempt === before.attempt && !before.returned)))
      this.violations.add(`handed out twice: attempt ${job.attempt}`);
    this.#attempts.set(handle, { attempt: job.attempt, returned: false });
    if (this.#wanted.get(key)?.queue === "limited") this.#hold(handle, until);
    if (group !== undefined) this.#inOrder(group, key);
  }

  #hold(handle: JobId, until: number): void {
    this.#held.set(handle, until);
    const held = [...this.#held.values()].filter((end) => end > Date.now()).length;
    if (held > this.limit) this.violations.add(`${held} jobs are held of ${this.limit} that may run`);
  }

  #inOrder(group: string, key: number): void {
    const newest = this.#newest.get(group);
    if (newest && key < newest.key) this.violations.add(`out of order: a job comes after a younger one of its group`);
    if (newest && key > newest.key && !newest.isOver)
      this.violations.add("out of order: a job comes before the end of the one before it");
    if (!newest || key > newest.key) this.#newest.set(group, { key, isOver: false });
  }

  /** Called before a claim's outcome is sent. */
  lets(cell: string, jobs: readonly ClaimedJob[], isEnd: boolean): void {
    for (const job of jobs) {
      const handle = `${cell}:${job.id}`;
      this.#held.delete(handle);
      const { key, group } = job.input as { key: number; group?: string };
      const newest = group === undefined ? undefined : this.#newest.get(group);
      if (newest?.key === key && isEnd) newest.isOver = true;
      if (isEnd) this.#endOf(key, handle);
      const attempt = this.#attempts.get(handle);
      if (attempt && !isEnd) attempt.returned = true;
    }
  }

  #endOf(key: number, handle: JobId): void {
    const fingerprint = this.#prints.get(key);
    if (fingerprint === undefined) return;
    this.#ended.add(handle);
    this.#living.get(fingerprint)?.delete(handle);
  }

  /** With what the cells have when all is over. */
  compare(rows: readonly { readonly key: number; readonly handle: JobId }[]): void {
    const found = new Map<number, JobId[]>();
    for (const { key, handle } of rows) found.set(key, [...(found.get(key) ?? []), handle]);
    for (const [key, { state, queue }] of this.#wanted) {
      const handles = found.get(key) ?? [];
      if (handles.length > 1) this.violations.add(`a job of ${queue} was stored twice: ${handles.join(", ")}`);
      if (state === "stored" && handles[0] !== this.#handles.get(key))
        this.violations.add(`a confirmed job of ${queue} is lost`);
      if ((state === "wanted" || state === "duplicate") && handles.length > 0)
        this.violations.add(`a job of ${queue} is there that was refused`);
      if (state === "stored" && !this.#attempts.has(handles[0] ?? ""))
        this.violations.add(`a job of ${queue} never ran`);
    }
  }
}
