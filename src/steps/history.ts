import type { JobId, StepRecord } from "../db/types.js";

/** What a run remembers, by step. */
export class History {
  readonly #done = new Map<string, StepRecord>();
  readonly #due = new Map<string, Date>();
  readonly #got = new Map<string, StepRecord>();
  readonly #started = new Map<string, readonly JobId[]>();
  readonly #ended = new Map<string, StepRecord[]>();
  readonly #tries = new Map<string, StepRecord[]>();

  constructor(records: readonly StepRecord[]) {
    for (const record of records) this.#add(record);
  }

  #add(record: StepRecord): void {
    const { key, kind } = record;
    if (kind === "done") this.#done.set(key, record);
    else if (kind === "due") this.#due.set(key, record.until!);
    else if (kind === "got") this.#got.set(record.about!, record);
    else if (kind === "started") this.#started.set(key, record.jobs ?? []);
    else if (kind === "ended") append(this.#ended, key, record);
    else if (kind === "try") append(this.#tries, key, record);
  }

  done(key: string): StepRecord | undefined {
    return this.#done.get(key);
  }

  /** When a sleep or a wait ends that has begun. */
  due(key: string): Date | undefined {
    return this.#due.get(key);
  }

  /** The signal that ended a wait. */
  got(key: string): StepRecord | undefined {
    return this.#got.get(key);
  }

  started(key: string): readonly JobId[] | undefined {
    return this.#started.get(key);
  }

  /** Children of a step that have ended, in the order in which they were started. */
  ended(key: string): readonly StepRecord[] {
    return (this.#ended.get(key) ?? []).toSorted((a, b) => Number(a.n) - Number(b.n));
  }

  tries(key: string): readonly StepRecord[] {
    return this.#tries.get(key) ?? [];
  }
}

function append(map: Map<string, StepRecord[]>, key: string, record: StepRecord): void {
  const list = map.get(key);
  if (list) list.push(record);
  else map.set(key, [record]);
}
