import type { Options } from "./options.js";
import type { Output } from "./output.js";

/** 0: done. 1: a finding or a negative answer. 2: wrong usage, or an error. */
export type ExitCode = 0 | 1 | 2;

/** One command of the table: help, completion, docs/cli.md and the parser all read it. */
export interface Command {
  /** One word, or two for a subcommand: `jobs show`. */
  readonly name: string;
  /** One line, lower case, no full stop. */
  readonly summary: string;
  /** Paragraphs for whoever wants to know more. */
  readonly details?: readonly string[];
  readonly arguments: readonly Argument[];
  readonly options: OptionTable;
  readonly examples: readonly string[];
  readonly run: (context: Context) => Promise<ExitCode>;
}

/** Commands that are listed together. */
export interface CommandGroup {
  readonly title: string;
  readonly commands: readonly Command[];
}

export interface Argument {
  readonly name: string;
  readonly help: string;
  readonly optional?: boolean;
  /** May be given several times; only the last argument. */
  readonly many?: boolean;
  readonly choices?: readonly string[];
  /** Completed as the name of a file. */
  readonly isFile?: boolean;
}

export interface Option {
  /** What stands for the value in help; a flag has none. */
  readonly value?: string;
  readonly help: string;
  readonly default?: string;
  readonly choices?: readonly string[];
  readonly short?: string;
  /** Completed as the name of a file. */
  readonly isFile?: boolean;
}

export type OptionTable = Readonly<Record<string, Option>>;

export interface Context {
  readonly args: readonly string[];
  readonly options: Options;
  readonly out: Output;
  /** The whole table. */
  readonly commands: readonly Command[];
}

/** What every command takes. */
export const commonOptions: OptionTable = {
  json: { help: "print JSON instead of text" },
  help: { help: "explain the command", short: "h" },
};

/** What every command takes that works on a database. */
export const databaseOptions: OptionTable = {
  url: { value: "URL", help: "the database (default: DATABASE_URL, then the server of `millrace dev` in this folder)" },
  schema: { value: "NAME", help: "the schema that holds the queue", default: "millrace" },
};

export function allOptions(command: Command): OptionTable {
  return { ...command.options, ...commonOptions };
}

/** `jobs cancel ID… [options]` */
export function usageOf(command: Command): string {
  const args = command.arguments.map(({ name, optional, many }) => {
    const text = many ? `${name}…` : name;
    return optional ? `[${text}]` : text;
  });
  return ["millrace", command.name, ...args, "[options]"].join(" ");
}

/** `--queue NAME` */
export function optionLabel(name: string, { value, short }: Option): string {
  return `${short ? `-${short}, ` : ""}--${name}${value ? ` ${value}` : ""}`;
}

/** The help of an option with what it is when not given. */
export function optionHelp(option: Option): string {
  const choices = option.choices ? `: ${option.choices.join(", ")}` : "";
  return `${option.help}${choices}${option.default === undefined ? "" : ` (default ${option.default})`}`;
}
