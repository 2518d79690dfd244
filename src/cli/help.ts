import { fileURLToPath } from "node:url";
import {
  type Command,
  type CommandGroup,
  type OptionTable,
  allOptions,
  commonOptions,
  optionHelp,
  optionLabel,
  usageOf,
} from "./command.js";

export const exitCodeHelp: readonly (readonly [code: string, meaning: string])[] = [
  ["0", "done"],
  ["1", "a finding, or a negative answer: no such job, schema differs, not all were cancelled"],
  ["2", "wrong usage, or an error"],
];

/** `millrace --help` */
export function mainHelp(groups: readonly CommandGroup[]): string {
  const width = Math.max(...groups.flatMap(({ commands }) => commands.map(({ name }) => name.length)));
  return [
    "millrace: a job queue on PostgreSQL",
    "",
    ...groups.flatMap(({ title, commands }) =>
      section(
        title,
        commands.map(({ name, summary }) => [name.padEnd(width), summary]),
      ),
    ),
    ...section("Options of every command", optionRows(commonOptions)),
    ...section("Exit codes", exitCodeHelp),
    ...lines("Examples", [
      "millrace dev",
      "millrace migrate --url postgres://localhost/app",
      "millrace jobs show --help",
    ]),
  ].join("\n");
}

/** `millrace jobs show --help` */
export function commandHelp(command: Command, commands: readonly Command[]): string {
  return withPaths(helpOf(command, commands));
}

/** Documents by where they are on this machine: the package brings them along. */
function withPaths(text: string): string {
  const found = [...new Set(text.match(/\bdocs\/[\w-]+\.md\b/g))];
  const root = fileURLToPath(new URL("../../", import.meta.url));
  return found.length === 0
    ? text
    : [
        text,
        ...lines(
          "Documents",
          found.map((name) => root + name),
        ),
      ].join("\n");
}

function helpOf(command: Command, commands: readonly Command[]): string {
  const below = commands.filter(({ name }) => name.startsWith(`${command.name} `));
  return [
    `millrace ${command.name}: ${command.summary}`,
    "",
    ...lines("Usage", [usageOf(command), ...below.map(usageOf)]),
    ...(command.details ?? []).flatMap((paragraph) => [...wrap(paragraph, 96), ""]),
    ...section(
      "Arguments",
      command.arguments.map(({ name, help }) => [name, help]),
    ),
    ...section("Options", optionRows(allOptions(command))),
    ...lines("Examples", command.examples),
  ].join("\n");
}

function optionRows(table: OptionTable): [string, string][] {
  return Object.entries(table).map(([name, option]) => [optionLabel(name, option), optionHelp(option)]);
}

function section(title: string, rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([label]) => label.length));
  return rows.length === 0
    ? []
    : lines(
        title,
        rows.map(([label, text]) => `${label.padEnd(width)}   ${text.replaceAll("`", '"')}`),
      );
}

function lines(title: string, texts: readonly string[]): string[] {
  return texts.length === 0 ? [] : [title, ...texts.map((text) => `  ${text}`), ""];
}

function wrap(paragraph: string, width: number): string[] {
  if (/^ /m.test(paragraph)) return paragraph.split("\n"); // code stands as it is
  const wrapped: string[] = [];
  for (const word of paragraph.replaceAll("`", '"').split(/\s+/)) {
    const last = wrapped.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) wrapped.push(word);
    else wrapped[wrapped.length - 1] = `${last} ${word}`;
  }
  return wrapped;
}
