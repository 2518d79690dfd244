import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { type FSWatcher, watch } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { Output } from "./output.js";
import { type StopSignals, watchedVariable } from "./stop-signals.js";

const settleMs = 100;
/** A child that was told twice to stop gets this long before it is killed. */
const killMs = 8000;

/**
 * Run `millrace …` as a child process, and again whenever the file changes. The child is told over its channel when to
 * stop, and stops by itself when we are gone, so that it never outlives us.
 */
export async function supervise(
  file: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  out: Output,
  signals: StopSignals,
): Promise<void> {
  const changes = new Changes(file);
  try {
    while (!signals.isRequested) {
      const child = startChild(args, env);
      const exited = once(child, "exit").then(([code, signal]) => String(code ?? signal));
      const changed = changes.next();
      const ended = await Promise.race([exited, changed, signals.requested]);
      if (typeof ended === "string") {
        out.event(
          "ended",
          { code: ended },
          `the worker ended with ${ended}; it starts again when ${path.basename(file)} changes`,
        );
        await Promise.race([changed, signals.requested]);
      } else {
        await stopChild(child, exited, signals);
      }
      if (!signals.isRequested) out.event("reloading", { file }, `${path.basename(file)} has changed; starting again`);
    }
  } finally {
    changes.close();
  }
}

function startChild(args: readonly string[], env: Readonly<Record<string, string>>): ChildProcess {
  const main = fileURLToPath(new URL("./main.js", import.meta.url));
  return fork(main, args, {
    env: { ...process.env, ...env, [watchedVariable]: "1" },
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
}

/** Gracefully; at once when somebody insists. */
async function stopChild(child: ChildProcess, exited: Promise<unknown>, signals: StopSignals): Promise<void> {
  const tell = (): void => void (child.connected && child.send("stop", () => {}));
  tell();
  if ((await Promise.race([exited.then(() => "exited"), signals.insisted])) === "exited") return;
  tell();
  const kill = setTimeout(() => child.kill("SIGKILL"), killMs);
  await exited;
  clearTimeout(kill);
}

/** Tells when a file has changed. Its folder is watched, because editors put a new file in the old one's place. */
class Changes {
  readonly #watcher: FSWatcher;
  #timer: NodeJS.Timeout | undefined;
  #tell = (): void => {};

  constructor(file: string) {
    this.#watcher = watch(path.dirname(path.resolve(file)), (_event, name) => {
      if (name !== null && name !== path.basename(file)) return;
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#tell(), settleMs);
    });
    this.#watcher.on("error", () => {}); // the folder is gone; there is nothing to tell
  }

  /** The next change from now on. */
  next(): Promise<void> {
    return new Promise((resolve) => (this.#tell = resolve));
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#watcher.close();
  }
}
