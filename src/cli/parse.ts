import { parseArgs } from "node:util";
import { type Command, type OptionTable, allOptions, commonOptions, usageOf } from "./command.js";
import { nearest } from "./nearest.js";
import { Options } from "./options.js";
import { UsageError } from "./usage-error.js";

/** What somebody typed, understood. */
export type Parsed =
  | { readonly kind: "run"; readonly command: Command; readonly args: readonly string[]; readonly options: Options }
  | { readonly kind: "help"; readonly command: Command | undefined }
  | { readonly kind: "version" };

const topOptions: OptionTable = { ...commonOptions, version: { help: "print the version" } };

/** Understand the words after `millrace`, or throw a UsageError that names the nearest thing we know. */
export function parse(argv: readonly string[], commands: readonly Command[]): Parsed {
  const union = Object.assign({}, topOptions, ...commands.map(allOptions)) as OptionTable;
  const words = tokensOf(argv, union).flatMap((token) => (token.kind === "positional" ? [token.value] : []));
  if (words[0] === "help") return parseHelp(words.slice(1), commands);
  const command = findCommand(words, commands);
  if (!command) return parseTop(argv, words, commands);

  const table = allOptions(command);
  const tokens = tokensOf(argv, table);
  const values = new Map<string, string | true>(
    Object.entries(table).flatMap(([name, option]) => (option.default === undefined ? [] : [[name, option.default]])),
  );
  for (const token of tokens)
    if (token.kind === "option") values.set(token.name, checkOption(token, table, command.name));
  if (values.get("help") === true) return { kind: "help", command };
  const args = tokens
    .flatMap((token) => (token.kind === "positional" ? [token.value] : []))
    .slice(command.name.split(" ").length);
  checkArguments(command, args, commands);
  return { kind: "run", command, args, options: new Options(values, new Set(Object.keys(table))) };
}

/** The command with the longest name that the words begin with. */
function findCommand(words: readonly string[], commands: readonly Command[]): Command | undefined {
  const matching = commands.filter(({ name }) => name.split(" ").every((part, i) => words[i] === part));
  return matching.toSorted((a, b) => b.name.length - a.name.length)[0];
}

/** `millrace help jobs show` is `millrace jobs show --help`. */
function parseHelp(words: readonly string[], commands: readonly Command[]): Parsed {
  const command = findCommand(words, commands);
  if (!command && words.length > 0) throw unknownCommand(words.join(" "), commands);
  return { kind: "help", command };
}

function parseTop(argv: readonly string[], words: readonly string[], commands: readonly Command[]): Parsed {
  const flags = new Set<string>();
  for (const token of tokensOf(argv, topOptions)) {
    if (token.kind === "option" && words.length === 0) checkOption(token, topOptions, undefined);
    if (token.kind === "option") flags.add(token.name);
  }
  if (words.length > 0) throw unknownCommand(words[0]!, commands);
  if (flags.has("version")) return { kind: "version" };
  if (flags.has("help")) return { kind: "help", command: undefined };
  throw new UsageError("no command given", 'see "millrace --help"');
}

function unknownCommand(word: string, commands: readonly Command[]): UsageError {
  const near = nearest(
    word,
    commands.map(({ name }) => name),
  );
  return new UsageError(
    `there is no command "${word}"`,
    near ? `did you mean "millrace ${near}"?` : 'see "millrace --help"',
  );
}

type Token = NonNullable<ReturnType<typeof parseArgs>["tokens"]>[number];
type OptionToken = Extract<Token, { kind: "option" }>;

function tokensOf(argv: readonly string[], table: OptionTable): readonly Token[] {
  const options = Object.fromEntries(
    Object.entries(table).map(([name, { value, short }]) => [
      name,
      {
        type: value === undefined ? ("boolean" as const) : ("string" as const),
        ...(short === undefined ? {} : { short }),
      },
    ]),
  );
  return parseArgs({ args: [...argv], options, strict: false, allowPositionals: true, tokens: true }).tokens;
}

/** The value of an option, or `true` for a flag. */
function checkOption(token: OptionToken, table: OptionTable, command: string | undefined): string | true {
  const option = Object.hasOwn(table, token.name) ? table[token.name] : undefined;
  if (!option) {
    const near = nearest(token.name, Object.keys(table));
    const help = `see "millrace ${command === undefined ? "" : `${command} `}--help"; after -- everything is an argument`;
    throw new UsageError(`there is no option ${token.rawName}`, near ? `did you mean --${near}?` : help);
  }
  if (option.value === undefined) {
    if (token.value !== undefined) throw new UsageError(`--${token.name} takes no value`);
    return true;
  }
  if (token.value === undefined || (!token.inlineValue && /^-./.test(token.value))) {
    throw new UsageError(`--${token.name} needs a value`, `write --${token.name}=${option.value}`);
  }
  if (option.choices && !option.choices.includes(token.value)) {
    throw notAChoice(`--${token.name}`, token.value, option.choices);
  }
  return token.value;
}

function checkArguments(command: Command, args: readonly string[], commands: readonly Command[]): void {
  const { arguments: wanted } = command;
  const missing = wanted.find(({ optional }, i) => !optional && args[i] === undefined);
  if (missing) throw new UsageError(`${missing.name} is missing`, `usage: ${usageOf(command)}`);
  if (args.length > wanted.length && !wanted.at(-1)?.many) {
    const below = commands.filter(({ name }) => name.startsWith(`${command.name} `));
    if (wanted.length === 0 && below.length > 0) throw unknownCommand(`${command.name} ${args[0]}`, below);
    throw new UsageError(`"${args[wanted.length]}" is one argument too many`, `usage: ${usageOf(command)}`);
  }
  for (const [i, { name, choices }] of wanted.entries()) {
    if (choices && args[i] !== undefined && !choices.includes(args[i])) throw notAChoice(name, args[i], choices);
  }
}

function notAChoice(what: string, value: string, choices: readonly string[]): UsageError {
  const near = nearest(value, choices);
  return new UsageError(`${what} cannot be "${value}"`, near ? `did you mean "${near}"?` : `use ${choices.join(", ")}`);
}
