import { styleText } from "node:util";
import { Progress } from "./progress.js";
import { redact } from "./redact.js";

type Style = Exclude<Parameters<typeof styleText>[0], readonly unknown[]>;

/** Where a command's answers go: text for people, or JSON for programs. Colour only on a terminal, and never with NO_COLOR. */
export class Output {
  constructor(
    readonly isJson: boolean,
    readonly stdout: NodeJS.WriteStream = process.stdout,
    readonly stderr: NodeJS.WriteStream = process.stderr,
  ) {}

  /** The answer of a command that ends. */
  result(value: unknown, text: string | readonly string[]): void {
    this.stdout.write(this.isJson ? `${JSON.stringify(value, forJson, 2)}\n` : redact(`${[text].flat().join("\n")}\n`));
  }

  /** Something that happened in a command that goes on: one line, of text or of JSON. */
  event(event: string, fields: Readonly<Record<string, unknown>>, text: string): void {
    this.stdout.write(this.isJson ? `${JSON.stringify({ event, ...fields }, forJson)}\n` : redact(`${text}\n`));
  }

  /** Said beside the answer. */
  note(text: string): void {
    if (!this.isJson) this.stderr.write(redact(`${text}\n`));
  }

  style(style: Style, text: string): string {
    return styleText(style, text, { stream: this.stdout });
  }

  /** Columns of the terminal; as many as it takes when it is none. */
  get width(): number {
    return this.stdout.isTTY ? this.stdout.columns : Infinity;
  }

  /** A bar on the terminal, beside the answer; nothing when nobody watches. */
  progress(total: number): Progress {
    return new Progress(total, this.stderr.isTTY && !this.isJson ? this.stderr : undefined);
  }
}

/** JSON has no Infinity; the SQL functions say "unlimited". */
function forJson(_key: string, value: unknown): unknown {
  return value === Infinity ? "unlimited" : value;
}
