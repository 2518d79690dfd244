import type { MoveProgress } from "../cells/move.js";
import { plural } from "./format.js";
import type { Output } from "./output.js";
import type { Progress } from "./progress.js";

/** Shows how far moves have come: a line for each step, and a bar of the jobs that have ended in the old cell. */
export class MovesShown {
  readonly #out: Output;
  readonly #last = new Map<string, MoveProgress>();
  #bar: Progress | undefined;

  constructor(out: Output) {
    this.#out = out;
  }

  show(progress: MoveProgress): void {
    const before = this.#last.get(progress.queue);
    this.#last.set(progress.queue, progress);
    if (before?.step !== progress.step) {
      this.#bar?.end();
      this.#out.note(stepText(progress));
    }
    if (progress.step === "ready" || progress.step === "left") return;
    // of all queues that move: what each had in its old cell when it left is counted once
    const left = [...this.#last.values()].reduce((sum, { live }) => sum + live, 0);
    this.#most = Math.max(this.#most, left);
    if (this.#most > (this.#bar?.total ?? 0)) this.#bar = this.#out.progress(this.#most);
    this.#bar?.update((this.#bar?.total ?? 0) - left);
  }
  #most = 0;

  end(): void {
    this.#bar?.end();
  }
}

/** How far a move has come, in one line. */
function stepText({ queue, from, to, step, live, schedules }: MoveProgress): string {
  const text = {
    ready: `the cell ${to} is ready for the queue ${queue}`,
    left: `new jobs of ${queue} go to ${to}`,
    draining: `${plural(live, "job", "jobs")} of ${queue} left in ${from}`,
    filling: `nothing of ${queue} is left in ${from}; its rate fills up`,
    done: `nothing of ${queue} is left in ${from}`,
  }[step];
  return schedules > 0 && step === "draining" ? `${text}, and ${plural(schedules, "schedule", "schedules")}` : text;
}
