import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));
export const mainFile = path.join(root, "dist/cli/main.js");
export const library = path.join(root, "dist/index.js");

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly url?: string | undefined;
  readonly input?: string;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Run the command line as people do, in a process of its own, and wait for its end. */
export async function millrace(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  const running = new Running(args, options);
  running.child.stdin?.end(options.input ?? "");
  return running.ended;
}

/** A command that goes on. */
export class Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  stdout = "";
  stderr = "";
  #changed: (() => void)[] = [];

  constructor(args: readonly string[], options: RunOptions = {}) {
    const { DATABASE_URL: _url, NO_COLOR: _colour, FORCE_COLOR: _force, ...rest } = process.env;
    const env = { ...rest, ...(options.url === undefined ? {} : { DATABASE_URL: options.url }), ...options.env };
    // A group of its own, as a shell gives it, so that a test can press Ctrl-C.
    this.child = spawn(process.execPath, [mainFile, ...args], { env, cwd: options.cwd ?? tmpdir(), detached: true });
    this.child.stdout?.setEncoding("utf8").on("data", (text: string) => this.#hear(() => (this.stdout += text)));
    this.child.stderr?.setEncoding("utf8").on("data", (text: string) => this.#hear(() => (this.stderr += text)));
    this.ended = once(this.child, "close").then(([code]) => {
      this.#hear(() => {});
      return { code: code as number | null, stdout: this.stdout, stderr: this.stderr };
    });
  }

  #hear(note: () => void): void {
    note();
    for (const tell of this.#changed.splice(0)) tell();
  }

  /** Wait until it has said something; fails with all it said when it ends before. */
  async until(text: string, times = 1): Promise<void> {
    while (this.stdout.split(text).length <= times) {
      if (this.child.exitCode !== null || this.child.signalCode !== null)
        throw new Error(`it ended without saying "${text}":\n${this.stdout}\n${this.stderr}`);
      await new Promise<void>((resolve) => this.#changed.push(resolve));
    }
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Ctrl-C in a terminal: every process of the group gets it. */
  pressControlC(): void {
    process.kill(-this.child.pid!, "SIGINT");
  }
}

/** A folder that is gone after the file's tests. Anybody may enter it: as root, PostgreSQL runs as nobody. */
export function useFolder(): { readonly path: string } {
  const folder = mkdtempSync(path.join(tmpdir(), "millrace-cli-"));
  chmodSync(folder, 0o755);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return { path: folder };
}
