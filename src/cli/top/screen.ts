/** The terminal while something live is shown: another screen without a cursor, and keys as they are pressed. */
export class Screen {
  readonly #onKey = (key: Buffer): void => {
    if (["q", "Q", "\u0003", "\u0004"].includes(key.toString())) this.#leave();
  };
  #leave = (): void => {};
  /** Somebody pressed q (or Ctrl-C). */
  readonly left = new Promise<void>((resolve) => (this.#leave = resolve));

  constructor(
    readonly stdout: NodeJS.WriteStream,
    readonly stdin: NodeJS.ReadStream,
  ) {}

  open(): void {
    this.stdout.write("\u001B[?1049h\u001B[?25l");
    process.once("exit", this.#restore);
    if (!this.stdin.isTTY) return;
    this.stdin.setRawMode(true);
    this.stdin.on("data", this.#onKey);
  }

  draw(lines: readonly string[]): void {
    this.stdout.write(`\u001B[H${lines.map((line) => `${line}\u001B[K\r\n`).join("")}\u001B[J`);
  }

  close(): void {
    process.off("exit", this.#restore);
    this.#restore();
    if (!this.stdin.isTTY) return;
    this.stdin.off("data", this.#onKey);
    this.stdin.setRawMode(false);
    this.stdin.pause();
  }

  readonly #restore = (): void => void this.stdout.write("\u001B[?25h\u001B[?1049l");
}
