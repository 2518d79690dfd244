import { execFileSync, spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { completionScript, shells } from "../../src/cli/completion.js";
import { commands } from "../../src/cli/table.js";
import { millrace } from "./cli.js";

const hasShell = (shell: string): boolean => spawnSync(shell, ["-c", "exit 0"]).status === 0;

/** What bash would offer for the last word. */
function bashOffers(...words: readonly string[]): string[] {
  const script = `${completionScript("bash", commands)}
COMP_WORDS=(millrace "$@"); COMP_CWORD=$#; _millrace; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return execFileSync("bash", ["-c", script, "bash", ...words], { encoding: "utf8" })
    .split("\n")
    .filter(Boolean);
}

describe("completion", () => {
  it("is printed for each shell, and refuses others", async () => {
    const [bash, wrong, json] = await Promise.all([
      millrace(["completion", "bash"]),
      millrace(["completion", "tcsh"]),
      millrace(["completion", "fish", "--json"]),
    ]);
    expect(bash).toEqual({ code: 0, stderr: "", stdout: `${completionScript("bash", commands)}\n` });
    expect(wrong.code).toBe(2);
    expect(JSON.parse(json.stdout)).toMatchObject({
      shell: "fish",
      script: expect.stringContaining("complete -c millrace"),
    });
  });

  it.runIf(hasShell("bash"))("offers commands, subcommands, options and their values in bash", () => {
    expect(bashOffers("qu")).toEqual(["queues"]);
    expect(bashOffers("")).toEqual(expect.arrayContaining(["dev", "jobs", "--version"]));
    expect(bashOffers("jobs", "s")).toEqual(["show", "steps"]);
    expect(bashOffers("jobs", "show", "--u")).toEqual(["--url"]);
    expect(bashOffers("--json", "jobs", "--state", "f")).toEqual(["failed"]);
    expect(bashOffers("completion", "z")).toEqual(["zsh"]);
    expect(bashOffers("work", "/et")).toEqual(["/etc"]);
    expect(bashOffers("jobs", "--queue", "")).toEqual([]);
  });

  it.each(shells)("is a script that %s understands, with every command and option", (shell) => {
    const script = completionScript(shell, commands);
    for (const { name, options } of commands) {
      expect(script).toContain(`"${name}"`);
      for (const option of Object.keys(options))
        expect(script).toContain(shell === "fish" ? `-l ${option} ` : `--${option}`);
    }
    if (hasShell(shell))
      expect(spawnSync(shell, ["-n"], { input: script, encoding: "utf8" })).toMatchObject({ status: 0, stderr: "" });
  });
});
