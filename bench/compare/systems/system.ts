/** What a job carries: about 100 bytes of JSON. */
export type Input = Readonly<Record<string, unknown>>;

export interface ProduceOptions {
  /** How many connections may be used at once. */
  readonly connections: number;
  /** A worker waits at the other end, so jobs must be announced where that costs extra. */
  readonly live: boolean;
  /** Live, and so many jobs come in that the worker rarely waits. */
  readonly busy?: boolean;
}

/** Every promise here resolves when the jobs are stored. */
export interface Producer {
  add(input: Input): Promise<unknown>;
  /** `groups` has one fairness key per input; only Millrace gets it. */
  addMany(inputs: readonly Input[], groups?: readonly string[]): Promise<unknown>;
  close(): Promise<void>;
}

export interface WorkOptions {
  /** Jobs come in while the worker runs. */
  readonly live: boolean;
  /** Live, and so many of them that it rarely waits. */
  readonly busy?: boolean;
  /** Queues to listen to. Default the one of the benchmark. */
  readonly queues?: readonly string[];
  /** The job's whole work. */
  readonly onJob: (input: Input) => void;
}

export interface RunningWorker {
  /** True when the store knows of every job that it has ended. */
  isDrained(): Promise<boolean>;
  stop(): Promise<void>;
}

/** One job queue, at its fastest documented settings. */
export interface System {
  /** Which statements of which `pg` module ask for jobs; their times are the claim times. */
  readonly claims?: {
    readonly pg: { Client: { prototype: object } };
    readonly isClaim: (text: string, values: readonly unknown[]) => boolean;
  };
  /** The table in which one row is one waiting job, where it is as simple as that. */
  readonly table?: string;
  /** Columns of that table that have no default and differ in every row: the SQL for the copy with the number `n`. */
  readonly unique?: Readonly<Record<string, string>>;
  /** Prepare an empty database. */
  setup(url: string, queues: readonly string[]): Promise<void>;
  produce(url: string, options: ProduceOptions): Promise<Producer>;
  /** Start a worker: resolves when it takes jobs. */
  work(url: string, options: WorkOptions): Promise<RunningWorker>;
}
