/** What a run carries. */
export interface Input {
  readonly n: number;
  /** How many steps, or children. */
  readonly size?: number;
}

/** What a run may do, in any of the systems. */
export interface Steps {
  /** Something that is done once. */
  run(name: string, work: () => Promise<number>): Promise<unknown>;
  /** Wait for the signal that this run is told. */
  signal(input: Input): Promise<unknown>;
  /** As many runs of "child", all at once, and all their results. */
  children(inputs: readonly Input[]): Promise<readonly unknown[]>;
}

export type Workflow = "steps" | "parked" | "parent" | "child";

/** The code of each workflow, the same for all systems. */
export type Bodies = { readonly [W in Workflow]: (steps: Steps, input: Input) => Promise<number> };

/** A client and a worker, in one process. */
export interface Running {
  /** Start runs, by the fastest way there is. Returns what `tell` needs to find each of them. */
  start(workflow: Workflow, inputs: readonly Input[]): Promise<readonly string[]>;
  /** How many runs the store does not know to have ended. */
  open(): Promise<number>;
  /** How many runs wait for a signal, and nothing else is to be done for them. */
  parked(): Promise<number>;
  tell(runs: readonly string[]): Promise<void>;
  stop(): Promise<void>;
}

export interface WorkOptions {
  readonly bodies: Bodies;
  /** Runs at the same time. */
  readonly concurrency: number;
  /** Nothing happens most of the time: what the server does meanwhile is measured. */
  readonly idle: boolean;
}

/** Jobs that begin when others have ended: one first and as many after it, or one after the other. */
export type Shape = "fan" | "chain";

export interface Graphs {
  /** Store a graph, and work until all its jobs have ended. */
  run(shape: Shape, jobs: number): Promise<{ readonly storeSeconds: number; readonly seconds: number }>;
  stop(): Promise<void>;
}

/** One system, at its fastest documented settings. */
export interface System {
  /** Prepare an empty database. */
  setup(url: string): Promise<void>;
  /** Resolves when its worker takes runs. */
  work?(url: string, options: WorkOptions): Promise<Running>;
  /** Undefined when there are none. */
  graphs?(url: string): Promise<Graphs | undefined>;
  /** The most steps, or children, that a run may have. */
  readonly maxSteps?: number;
}

/** Do something for each, `width` at a time. */
export async function eachOf<T>(
  items: readonly T[],
  width: number,
  work: (item: T, index: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const loop = async (): Promise<void> => {
    while (next < items.length) {
      const index = next;
      next += 1;
      await work(items[index]!, index);
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, loop));
}
