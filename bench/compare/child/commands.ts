type Nothing = Readonly<Record<string, never>>;

/** What the bench asks its child processes to do, and what they answer. */
export interface Commands {
  /** Prepare the database. */
  setup: { args: { queues: readonly string[] }; answer: void };
  /** Store `jobs` jobs in batches, `inFlight` at a time; `warm` batches go before the clock starts. */
  addBulk: {
    args: { jobs: number; batch: number; inFlight: number; warm?: number; groups?: number };
    answer: { seconds: number };
  };
  /** Let `jobs` jobs wait, by whatever way is fastest. */
  addBacklog: { args: { jobs: number }; answer: void };
  /** Store `jobs` jobs one by one, on several connections; each connection stores one before the clock starts. */
  addSingly: { args: { jobs: number; connections: number }; answer: { seconds: number } };
  /** Add jobs for ever, in batches, while fewer than `bound` are unhandled. Told what is handled by `handled` notes. */
  startAdding: { args: { batch: number; inFlight: number; bound: number }; answer: void };
  stopAdding: { args: Nothing; answer: { sent: number } };
  /** Send single jobs at random times that carry the time they were sent. */
  addSamples: { args: { samples: number; meanGapMs: number }; answer: void };
  /** Run a worker until `jobs` jobs were handled and recorded as ended. Time counts from when the worker takes jobs. */
  drain: { args: { jobs: number }; answer: { seconds: number; rssMb: readonly number[] } };
  /**
   * Run a worker until `jobs` jobs were handled, and take the speed of all but the first fifth; and the times of its
   * claims.
   */
  drainSome: { args: { jobs: number }; answer: { jobsPerSecond: number; claimMs: readonly number[] } };
  /** Start workers that run until told to stop; `busy` when jobs will come in all the time. */
  startWorkers: { args: { count: number; queues?: readonly string[]; busy?: boolean }; answer: void };
  /** How many jobs have been handled, and the latencies of those that carried a time. */
  handled: { args: Nothing; answer: { jobs: number; atMs: number; latenciesMs: readonly number[] } };
  stopWorkers: { args: Nothing; answer: void };
  /** Store and read back payloads, in Millrace or in a plain table. */
  payloads: {
    args: { store: "millrace" | "bytea"; bytes: number; count: number };
    answer: { writeSeconds: number; readSeconds: number };
  };
}

export type Command = keyof Commands;
export type Handlers = { readonly [C in Command]: (args: Commands[C]["args"]) => Promise<Commands[C]["answer"]> };

/** Bench to child. */
export interface Request {
  readonly id: number;
  readonly command: Command;
  readonly args: never;
}

/** Child to bench: an answer, or how many jobs have been handled so far. */
export type Message =
  | { readonly id: number; readonly answer?: unknown; readonly error?: string }
  | { readonly handled: number };

/** Bench to child: how many jobs the worker at the other end has handled. */
export interface HandledNote {
  readonly handled: number;
}
