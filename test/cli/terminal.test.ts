import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { mainFile } from "./cli.js";

const db = useDatabase();

/** util-linux's `script` gives a command a terminal. */
const hasScript = process.platform === "linux" && spawnSync("script", ["--version"]).status === 0;

/** A build server sets CI, and Node then takes its terminal for one without colours. */
const decidesOnColours = new Set(["CI", "NO_COLOR", "FORCE_COLOR", "NODE_DISABLE_COLORS", "COLORTERM"]);

interface Terminal {
  /** Everything it has shown. */
  shown: string;
  press(key: string): void;
  until(text: string): Promise<void>;
  ended: Promise<unknown>;
}

function inTerminal(args: string, env: Readonly<Record<string, string>> = {}, size = "cols 80 rows 24"): Terminal {
  const rest = Object.fromEntries(Object.entries(process.env).filter(([name]) => !decidesOnColours.has(name)));
  const child = spawn("script", ["-qec", `stty ${size}; ${process.execPath} ${mainFile} ${args}`, "/dev/null"], {
    env: { ...rest, TERM: "xterm", DATABASE_URL: db.url, ...env },
  });
  const terminal: Terminal = {
    shown: "",
    press: (key) => void child.stdin.write(key),
    async until(text) {
      while (!terminal.shown.includes(text)) await once(child.stdout, "data");
    },
    ended: once(child, "close"),
  };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (terminal.shown += text));
  return terminal;
}

describe.runIf(hasScript)("on a terminal", () => {
  it("top shows frames until q is pressed, and puts the terminal back", async () => {
    await db.engine.enqueue({ type: "work" });
    const terminal = inTerminal("top");
    await terminal.until("–"); // the first frame knows no rates
    await terminal.until("active      1        0        0          0        0     0      0");
    terminal.press("q");
    await terminal.ended;
    expect(terminal.shown).toContain("\u001B[?1049h\u001B[?25l");
    expect(terminal.shown.trimEnd().endsWith("\u001B[?25h\u001B[?1049l")).toBe(true);
    for (const line of stripVTControlCharacters(terminal.shown).split(/[\r\n]+/))
      expect(line.length).toBeLessThanOrEqual(80);
  });

  it("tables are whole where it says that it has no columns", async () => {
    const size = "cols 0 rows 0";
    const [queues, top] = [inTerminal("queues", {}, size), inTerminal("top", {}, size)];
    await queues.ended;
    expect(stripVTControlCharacters(queues.shown)).toMatch(/^QUEUE .*\r?\n(.*\r?\n)*default +/);
    await top.until("default");
    top.press("q");
    await top.ended;
  });

  it("many jobs have a progress bar, colours are there unless NO_COLOR is set", async () => {
    const [many, coloured, plain] = [
      inTerminal("enqueue many --count 4000"),
      inTerminal("doctor"),
      inTerminal("doctor", { NO_COLOR: "1" }),
    ];
    await Promise.all([many.ended, coloured.ended, plain.ended]);
    expect(many.shown).toMatch(/█+░+ 1,000 of 4,000, [\d,]+\/s/);
    expect(many.shown).toContain("\r\u001B[K4,000 jobs enqueued in ");
    expect(coloured.shown).toContain("\u001B[32m✔");
    expect(plain.shown).toContain("✔ server");
    expect(plain.shown).not.toContain("\u001B[3");
  });
});
