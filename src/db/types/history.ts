/** Which history is asked for. */
export interface HistoryFilter {
  /** Of a queue. Default all of them together. */
  readonly queue?: string;
  /** Of a type of the queue. Default all of it. */
  readonly type?: string;
  /** How far back: by the minute up to 86,400, by the hour up to 2,592,000. Default 3600. */
  readonly seconds?: number;
}

/** A minute or an hour of the history. What was not measured is null. */
export interface HistoryPoint {
  /** Its end. */
  readonly at: Date;
  /** How long it was: 60 or 3600. */
  readonly stepSeconds: number;
  /** Jobs that were enqueued. */
  readonly enqueued: number;
  /** Jobs that ended. */
  readonly finished: number;
  /** Attempts that ended. */
  readonly runs: number;
  /** Of those, how many failed or were lost. */
  readonly failed: number;
  /** Jobs that waited and were due, at its end; of an hour the most. */
  readonly waiting: number | null;
  /** Jobs that somebody held, likewise. */
  readonly running: number | null;
  /** For how long the oldest ready job had waited, likewise. */
  readonly oldestReadySeconds: number | null;
  /** How long jobs had waited for their first attempt: the median, and what 95 of 100 did not exceed. */
  readonly waitP50Seconds: number | null;
  readonly waitP95Seconds: number | null;
  /** How long attempts took, from their claim to their end. */
  readonly runP50Seconds: number | null;
  readonly runP95Seconds: number | null;
  /** Failures by kind: the name or the code of the error, or `lost`; the five most frequent, and `other`. */
  readonly kinds: Readonly<Record<string, number>> | null;
}
