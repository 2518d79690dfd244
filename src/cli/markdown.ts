import { type Command, type CommandGroup, allOptions, optionHelp, optionLabel, usageOf } from "./command.js";
import { exitCodeHelp } from "./help.js";

/** docs/cli.md as the table says it. A test compares; `UPDATE_CLI_DOCS=1` renews. */
export function markdown(groups: readonly CommandGroup[]): string {
  return `${[
    "# The command line",
    "",
    "Made from the table in `src/cli/commands`; `UPDATE_CLI_DOCS=1 npx vitest run src/cli/markdown.test.ts` renews it.",
    "",
    "The database is the one of `--url`, else of the variable `DATABASE_URL`, else the server of a `millrace dev` that runs in this folder.",
    "Prefer the variable: others on the same machine can read a command's arguments. Passwords in URLs are never printed.",
    "",
    "| exit code | meaning |",
    "|---|---|",
    ...exitCodeHelp.map(([code, meaning]) => `| ${code} | ${meaning} |`),
    "",
    "With `--json`, a command that ends prints one JSON value, one that goes on prints one JSON object per line, and an error is",
    '`{"error": {"code", "message", "remedy"}}` on standard error. `NO_COLOR` is respected; `millrace --version` prints the version.',
    "",
    ...groups.flatMap(({ title, commands }) => [
      `| ${title.toLowerCase()} | |`,
      "|---|---|",
      ...commands.map(
        ({ name, summary }) => `| [\`${name}\`](#millrace-${name.replaceAll(" ", "-")}) | ${cell(summary)} |`,
      ),
      "",
    ]),
    ...groups.flatMap(({ commands }) => commands.flatMap(commandSection)),
  ]
    .join("\n")
    .trimEnd()}\n`;
}

function commandSection(command: Command): string[] {
  const sentence = command.summary[0]!.toUpperCase() + command.summary.slice(1);
  return [
    `## millrace ${command.name}`,
    "",
    `\`${usageOf(command)}\`: ${sentence}.`,
    "",
    ...(command.details ?? []).flatMap((paragraph) => [
      ...(/^ /m.test(paragraph) ? ["```js", ...unindent(paragraph), "```"] : [paragraph]),
      "",
    ]),
    "| argument or option | |",
    "|---|---|",
    ...command.arguments.map(({ name, help }) => `| \`${name}\` | ${cell(help)} |`),
    ...Object.entries(allOptions(command)).map(
      ([name, option]) => `| \`${optionLabel(name, option)}\` | ${cell(optionHelp(option))} |`,
    ),
    "",
    "```sh",
    ...command.examples,
    "```",
    "",
  ];
}

const cell = (text: string): string => text.replaceAll("|", "\\|");
const unindent = (paragraph: string): string[] => paragraph.split("\n").map((line) => line.replace(/^ {2}/, ""));
