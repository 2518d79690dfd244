import type { Shape } from "./systems/system.ts";

type Nothing = Readonly<Record<string, never>>;

/** What the bench asks its child processes to do, and what they answer. */
export interface Commands {
  /** Prepare the database. */
  setup: { args: Nothing; answer: void };
  /** Start client and worker, and let a few runs through, so that code and plans are warm. */
  start: { args: { concurrency: number; idle: boolean }; answer: void };
  /** Start runs of some empty steps, and wait until the store knows that all have ended. */
  steps: { args: { runs: number; steps: number }; answer: { seconds: number } };
  /** One run; also how long its first and its last steps took. */
  sequential: { args: { steps: number; edge: number }; answer: { seconds: number; firstMs: number; lastMs: number } };
  /** Start runs that wait for a signal, until all of them wait. */
  park: { args: { runs: number }; answer: { seconds: number } };
  /** Tell all that are parked, until the store knows that all have ended. */
  tell: { args: Nothing; answer: { seconds: number } };
  /** One run with children; from the end of its last child's code to its own next line, and all in all. */
  fanIn: { args: { children: number }; answer: { children: number; seconds: number; resumeMs: number } };
  /** Undefined when the system has no graphs. */
  graph: { args: { shape: Shape; jobs: number }; answer: { storeSeconds: number; seconds: number } | undefined };
}

export type Command = keyof Commands;
export type Handlers = { readonly [C in Command]: (args: Commands[C]["args"]) => Promise<Commands[C]["answer"]> };

/** Bench to child. */
export interface Request {
  readonly id: number;
  readonly command: Command;
  readonly args: never;
}
