import { randomUUID } from "node:crypto";
import { styleText } from "node:util";
import { exactText } from "../db/exact-json.js";
import { visible, visibleLines } from "../db/visible.js";
import { Progress } from "./progress.js";
import { redact } from "./redact.js";

type Style = Exclude<Parameters<typeof styleText>[0], readonly unknown[]>;

/**
 * Where a command's answers go: text for people, or JSON for programs. Colour only on a terminal, and never with
 * NO_COLOR. What comes from data cannot steer the terminal: all that goes out is made visible here, but for our own
 * styles, which carry a mark nobody can guess.
 */
export class Output {
  readonly #mark = `\u001B${randomUUID()}`;

  constructor(
    readonly isJson: boolean,
    readonly stdout: NodeJS.WriteStream = process.stdout,
    readonly stderr: NodeJS.WriteStream = process.stderr,
  ) {}

  /** The answer of a command that ends: lines, or a text that may have several. */
  result(value: unknown, text: string | readonly string[]): void {
    if (this.isJson) this.stdout.write(`${jsonText(value, 2)}\n`);
    else if (typeof text === "string") this.stdout.write(`${this.#show(text, visibleLines)}\n`);
    else this.#lines(text);
  }

  /** Something that happened in a command that goes on: one line of JSON, or of text, or a few. */
  event(event: string, fields: Readonly<Record<string, unknown>>, text: string | readonly string[]): void {
    if (this.isJson) this.stdout.write(`${jsonText({ event, ...fields })}\n`);
    else this.#lines([text].flat());
  }

  /** Said beside the answer. */
  note(text: string): void {
    if (!this.isJson) this.stderr.write(`${this.#show(text, visibleLines)}\n`);
  }

  /** A line as it may go to the terminal. */
  line(text: string): string {
    return this.#show(text, visible);
  }

  #lines(lines: readonly string[]): void {
    this.stdout.write(lines.map((line) => `${this.line(line)}\n`).join(""));
  }

  #show(text: string, made: (part: string) => string): string {
    return redact(text).split(this.#mark).map(made).join("\u001B");
  }

  style(style: Style, text: string): string {
    const [before = "", after = ""] = styleText(style, "\0", { stream: this.stdout }).split("\0");
    return `${before.replace("\u001B", this.#mark)}${text}${after.replace("\u001B", this.#mark)}`;
  }

  /** Columns of the terminal; as many as it takes when it is none. */
  get width(): number {
    return (this.stdout.isTTY && this.stdout.columns) || Infinity; // some terminals say that they have none
  }

  /** A bar on the terminal, beside the answer; nothing when nobody watches. */
  progress(total: number): Progress {
    return new Progress(total, this.stderr.isTTY && !this.isJson ? this.stderr : undefined);
  }
}

/** JSON whose texts cannot steer a terminal either. */
function jsonText(value: unknown, indent?: number): string {
  return visibleLines(exactText(value, forJson, indent));
}

/** JSON has no Infinity; the SQL functions say "unlimited". */
function forJson(_key: string, value: unknown): unknown {
  return value === Infinity ? "unlimited" : value;
}
