import { durationMs } from "../job/duration.js";
import { MillraceError } from "../db/errors.js";
import { UsageError } from "./usage-error.js";

/** The options of one call, defaults filled in. A name the command does not have is a bug, not a usage error. */
export class Options {
  constructor(
    readonly values: ReadonlyMap<string, string | true>,
    readonly known: ReadonlySet<string>,
  ) {}

  flag(name: string): boolean {
    return this.#get(name) === true;
  }

  /** The text of an option that has a default. */
  text(name: string): string {
    const value = this.given(name);
    if (value === undefined) throw new Error(`--${name} has neither a value nor a default`);
    return value;
  }

  /** The text of an option, if there is one. */
  given(name: string): string | undefined {
    const value = this.#get(name);
    return value === true ? undefined : value;
  }

  integer(name: string, least: number, most: number): number {
    return toInteger(`--${name}`, this.text(name), least, most);
  }

  givenInteger(name: string, least: number, most: number): number | undefined {
    const text = this.given(name);
    return text === undefined ? undefined : toInteger(`--${name}`, text, least, most);
  }

  /** A number above 0, if there is one. */
  givenNumber(name: string): number | undefined {
    const text = this.given(name);
    if (text === undefined) return undefined;
    const value = Number(text);
    if (!/^\d*\.?\d+$/.test(text) || value <= 0)
      throw new UsageError(`--${name} cannot be "${text}"`, 'give a number above 0, such as "10" or "0.5"');
    return value;
  }

  /** A length of time, in milliseconds. */
  duration(name: string): number {
    return toDuration(`--${name}`, this.text(name));
  }

  givenDuration(name: string): number | undefined {
    const text = this.given(name);
    return text === undefined ? undefined : toDuration(`--${name}`, text);
  }

  /** `{ queue: "mail" }` when it was given, else `{}`: for options objects that tell absent from undefined. */
  pick<Name extends string>(...names: readonly Name[]): { readonly [key in Name]?: string } {
    const given = names.map((name) => [name, this.given(name)] as const).filter(([, value]) => value !== undefined);
    return Object.fromEntries(given) as { readonly [key in Name]?: string };
  }

  #get(name: string): string | true | undefined {
    if (!this.known.has(name)) throw new Error(`this command has no option --${name}`);
    return this.values.get(name);
  }
}

function toInteger(what: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < least || value > most) {
    throw new UsageError(
      `${what} cannot be "${text}"`,
      `give a whole number from ${least.toLocaleString("en")} to ${most.toLocaleString("en")}`,
    );
  }
  return value;
}

function toDuration(what: string, text: string): number {
  try {
    return durationMs(text, what);
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error;
    throw new UsageError(
      `${what} cannot be "${text}"`,
      'give a number with a unit, such as "500ms", "10s", "5m" or "1h 30m"',
    );
  }
}
