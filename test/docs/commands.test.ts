import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { documents } from "../../scripts/check-docs.mjs";
import { allOptions } from "../../src/cli/command.js";
import { commands } from "../../src/cli/table.js";

interface Named {
  readonly command: string;
  readonly options: readonly string[];
}

/** Command lines in quotes of code, and in blocks of a shell: up to a comment, a pipe or what follows a semicolon. */
function commandLines(text: string): string[] {
  const prose = text.replaceAll(/^```[\s\S]*?^```/gm, "");
  const blocks = [...text.matchAll(/^```(?:sh|bash|yaml|ini)\n([\s\S]*?)^```/gm)].map(([, block]) =>
    block!.replaceAll(/\\\n/g, " "),
  );
  const quoted = [...prose.matchAll(/`([^`\n]+)`/g)].map(([, words]) => words!);
  return [...quoted, ...blocks.flatMap((block) => block.split("\n"))].flatMap((line) =>
    [...line.matchAll(/^(?:\$ )?(?:npx )?millrace ([^#|;>&]+)/g)].map(([, rest]) => rest!.trim()),
  );
}

/** The words of a command line that name the command, and its options. */
function read(line: string): Named {
  const words = line.split(/\s+/);
  const two = words.slice(0, 2).join(" ");
  const isSub = commands.some(({ name }) => name === two) || /^[a-z][a-z-]+$/.test(words[1] ?? "");
  const hasSubs = commands.some(({ name }) => name.startsWith(`${words[0]} `));
  return {
    command: isSub && hasSubs ? two : words[0]!,
    options: [...line.matchAll(/(?<=^| )--([a-z-]+)/g)].map(([, name]) => name!),
  };
}

const general = ["--help", "--version", "help"];

/** What a command line names that is not there. */
function unknownIn(line: string): string[] {
  if (general.includes(line.split(" ")[0]!)) return [];
  const { command, options } = read(line);
  const found = commands.find(({ name }) => name === command);
  if (!found) return [command];
  return options.filter((name) => !Object.hasOwn(allOptions(found), name)).map((name) => `${command} --${name}`);
}

describe("commands that are named in documents", () => {
  it("exist, with their options", () => {
    const lines = documents()
      .filter((file) => file !== "docs/cli.md")
      .flatMap((file) =>
        commandLines(readFileSync(new URL(`../../${file}`, import.meta.url), "utf8")).map((line) => ({ file, line })),
      );
    expect(lines.length).toBeGreaterThan(150);
    expect(lines.flatMap(({ file, line }) => unknownIn(line).map((name) => `${file}: millrace ${name}`))).toEqual([]);
  });

  it("are missed when they are not there", () => {
    const text = "`millrace schedules run x` and `millrace jobs --quue a`\n```sh\nnpx millrace jbos # no\n```\n";
    expect(commandLines(text).flatMap(unknownIn)).toEqual(["schedules run", "jobs --quue", "jbos"]);
  });
});
