import { count } from "./format.js";

const barWidth = 30;
const pauseMs = 100;

/** A progress bar, drawn ten times a second at most. */
export class Progress {
  readonly #startedAt = performance.now();
  #drawnAt = -Infinity;

  constructor(
    readonly total: number,
    readonly stream: NodeJS.WriteStream | undefined,
  ) {}

  update(done: number): void {
    if (!this.stream || performance.now() - this.#drawnAt < pauseMs) return;
    this.#drawnAt = performance.now();
    const filled = Math.max(0, Math.min(barWidth, Math.round((done / this.total) * barWidth)));
    const perSecond = done / ((performance.now() - this.#startedAt) / 1000);
    const bar = "█".repeat(filled) + "░".repeat(barWidth - filled);
    this.stream.write(`\r${bar} ${count(done)} of ${count(this.total)}, ${count(Math.round(perSecond))}/s\u001B[K`);
  }

  /** Remove the bar; the answer says what was done. */
  end(): void {
    this.stream?.write("\r\u001B[K");
  }
}
