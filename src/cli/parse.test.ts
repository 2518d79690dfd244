import { describe, expect, it } from "vitest";
import { nearest } from "./nearest.js";
import { parse } from "./parse.js";
import { commands } from "./table.js";

const understood = (line: string) => {
  const parsed = parse(line.split(" "), commands);
  return parsed.kind === "run"
    ? { command: parsed.command.name, args: parsed.args, values: Object.fromEntries(parsed.options.values) }
    : parsed;
};
const refused = (line: string) => expect(() => parse(line.split(" "), commands));

describe("parse", () => {
  it("finds the command with the longest name, wherever options stand", () => {
    expect(understood("jobs --limit 5")).toEqual({
      command: "jobs",
      args: [],
      values: { schema: "millrace", limit: "5" },
    });
    expect(understood("--url x jobs --json show 17")).toEqual({
      command: "jobs show",
      args: ["17"],
      values: { schema: "millrace", url: "x", json: true },
    });
    expect(understood("jobs cancel 1 2 --because=-why")).toMatchObject({
      args: ["1", "2"],
      values: { because: "-why" },
    });
    expect(understood("enqueue t -")).toMatchObject({ args: ["t", "-"] });
    expect(understood("enqueue -- t -5")).toMatchObject({ args: ["t", "-5"] });
    expect(understood("work -- --odd.mjs")).toMatchObject({ args: ["--odd.mjs"] });
  });

  it("tells help and version from the rest", () => {
    expect(understood("--version")).toEqual({ kind: "version" });
    expect(understood("-h")).toEqual({ kind: "help", command: undefined });
    expect(understood("queues pause --help")).toMatchObject({ kind: "help", command: { name: "queues pause" } });
    expect(understood("help queues pause")).toMatchObject({ kind: "help", command: { name: "queues pause" } });
  });

  it("refuses what it does not know, with what comes nearest", () => {
    refused("jbos").toThrow('there is no command "jbos" (did you mean "millrace jobs"?)');
    refused("help jbos").toThrow("did you mean");
    refused("queues purg mail").toThrow('there is no command "queues purg" (did you mean "millrace queues purge"?)');
    refused("jobs --stat failed").toThrow("there is no option --stat (did you mean --state?)");
    refused("enqueue t -5").toThrow("there is no option -5 (see");
    refused("--verison").toThrow("there is no option --verison (did you mean --version?)");
    refused("jobs --state faild").toThrow('--state cannot be "faild" (did you mean "failed"?)');
    refused("completion ksh").toThrow('SHELL cannot be "ksh"');
    refused("jobs --constructor").toThrow("there is no option --constructor");
  });

  it("refuses too much and too little", () => {
    refused("jobs show").toThrow("ID is missing (usage: millrace jobs show ID [options])");
    refused("jobs show 1 2").toThrow('"2" is one argument too many');
    refused("jobs rewind 1").toThrow("STEP is missing");
    refused("jobs --queue").toThrow("--queue needs a value (write --queue=NAME)");
    refused("jobs --queue --json").toThrow("--queue needs a value");
    refused("jobs --json=yes").toThrow("--json takes no value");
  });
});

describe("the table", () => {
  const rows = commands.flatMap((command) =>
    Object.entries(command.options).map(([name, option]) => ({ command: command.name, name, option })),
  );

  it("gives an option the same shape in all commands, since it may stand before the command", () => {
    for (const { name, option } of rows) {
      for (const other of rows.filter((row) => row.name === name))
        expect([name, other.option.value !== undefined]).toEqual([name, option.value !== undefined]);
    }
  });

  it("has examples, and a parent for each subcommand", () => {
    for (const { name, examples } of commands) {
      expect(examples.length, name).toBeGreaterThan(0);
      if (name.includes(" ")) expect(commands.map((parent) => parent.name)).toContain(name.split(" ")[0]);
    }
  });
});

it("nearest: one letter wrong, missing, doubled or swapped, or a beginning", () => {
  const known = ["migrate", "queues", "jobs", "doctor"];
  expect(
    ["migrade", "queus", "jjobs", "dcotor", "mig", "x", "migration-table"].map((word) => nearest(word, known)),
  ).toEqual(["migrate", "queues", "jobs", "doctor", "migrate", undefined, undefined]);
});
