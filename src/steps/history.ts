import type { JobId, StepRecord } from "../db/types.js";

/** What a run remembers, by step. */
export class History {
  readonly #done = new Map<string, StepRecord>();
  readonly #due = new Map<string, Date>();
  readonly #got = new Map<string, StepRecord>();
  readonly #signals: StepRecord[] = [];
  /** Signals that were got, and the ids of such. */
  readonly #taken = new Set<string>();
  readonly #started = new Map<string, readonly JobId[]>();
  readonly #ended = new Map<string, StepRecord[]>();
  readonly #tries = new Map<string, StepRecord[]>();
  /** The key by which each step was written down. */
  readonly #keys = new Map<string, string>();
  #rewinds = 0;

  constructor(records: readonly StepRecord[]) {
    for (const record of records) this.#add(record);
    for (const { key, kind, n } of records) if (kind === "got") this.#take(key, n);
  }

  /**
   * The first signal of these names that nothing has got, and that was sent by then. It is taken by that: who asks
   * writes it down. Of signals with the same id one counts. After a rewind it is not known here which were got before.
   */
  take(names: readonly string[], until: Date): StepRecord | undefined {
    if (this.#rewinds > 0) return undefined;
    const found = this.#signals
      .filter(({ key, n, about: id, at }) => names.includes(key) && at <= until && !this.#isTaken(key, n, id))
      .toSorted((a, b) => Number(BigInt(a.n!) - BigInt(b.n!)))[0];
    if (found) this.#take(found.key, found.n);
    return found;
  }

  #isTaken(name: string, n: string | undefined, id: string | undefined): boolean {
    return this.#taken.has(`${n} ${name}`) || (id !== undefined && this.#taken.has(`#${id} ${name}`));
  }

  #take(name: string, n: string | undefined): void {
    this.#taken.add(`${n} ${name}`);
    const id = this.#signals.find((one) => one.key === name && one.n === n)?.about;
    if (id !== undefined) this.#taken.add(`#${id} ${name}`);
  }

  /**
   * The key of a step: the one by which it was written down, or a new one. What comes after a rewind has keys of its
   * own, because the ones before are taken by what is void.
   */
  keyFor(step: string): string {
    return this.#keys.get(step) ?? keyAfter(step, this.#rewinds);
  }

  #add(record: StepRecord): void {
    const { key, kind } = record;
    if (kind === "rewind") this.#rewinds += 1;
    else if (kind === "got") this.#keys.set(stepOf(record.about!), record.about!);
    else if (kind !== "signal" && kind !== "ended") this.#keys.set(stepOf(key), key);
    if (kind === "done") this.#done.set(key, record);
    else if (kind === "due") this.#due.set(key, record.until!);
    else if (kind === "got") this.#got.set(record.about!, record);
    else if (kind === "signal") this.#signals.push(record);
    else if (kind === "started") this.#started.set(key, record.jobs ?? []);
    else if (kind === "ended") append(this.#ended, key, record);
    else if (kind === "try") append(this.#tries, key, record);
  }

  done(key: string): StepRecord | undefined {
    return this.#done.get(key);
  }

  /** Steps that have ended and can be undone. */
  get undoable(): readonly string[] {
    return [...this.#done.values()].filter(isUndoable).map(({ key }) => key);
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

/** How the end of a step is noted that has something to undo it. */
export const undoMark = "undo";

const isUndoable = ({ key, about, error }: StepRecord): boolean => about === undoMark && !key.startsWith("#") && !error;

/** A key without the number of rewinds before it; as `step_name` in SQL. */
function stepOf(key: string): string {
  return key.includes("#") ? key.replace(/~\d+$/, "").replace(/#1$/, "") : key;
}

function keyAfter(step: string, rewinds: number): string {
  if (rewinds === 0) return step;
  return `${step.includes("#") ? step : `${step}#1`}~${rewinds}`;
}

function append(map: Map<string, StepRecord[]>, key: string, record: StepRecord): void {
  const list = map.get(key);
  if (list) list.push(record);
  else map.set(key, [record]);
}
