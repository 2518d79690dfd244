import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll } from "vitest";
import type { TestDatabase } from "../support/database.js";

export const project = fileURLToPath(new URL(".", import.meta.url));
/** Frameworks are tried by `npm run test:frameworks`, which installs them first. */
export const isWanted = process.env["FRAMEWORKS"] !== undefined;

/** A process of an application, until the tests around it have ended. */
export interface Application {
  /** Without a slash at the end. */
  readonly url: string;
  /** All that it has said, on both of its outputs. */
  readonly said: () => string;
  /** Ask it to end. Its exit code. */
  stop(): Promise<number | null>;
}

/** Start it before the tests of this block; `port` finds its port in what it says. */
export function useApplication(
  db: TestDatabase,
  args: () => readonly string[] | Promise<readonly string[]>,
  { env = {}, cwd = project, port = /"port":(\d+)/ }: { env?: NodeJS.ProcessEnv; cwd?: string; port?: RegExp } = {},
): Application {
  let child: ChildProcess | undefined;
  let said = "";
  let url = "";
  beforeAll(async () => {
    const started = spawn(process.execPath, [...(await args())], {
      cwd,
      env: { ...process.env, NODE_ENV: "production", NEXT_TELEMETRY_DISABLED: "1", DATABASE_URL: db.url, ...env },
    });
    child = started;
    await new Promise<void>((resolve, reject) => {
      const hear = (text: string): void => {
        said += text;
        const found = port.exec(said)?.[1];
        if (found === undefined) return;
        url = `http://127.0.0.1:${found}`;
        resolve();
      };
      started.stdout.setEncoding("utf8").on("data", hear);
      started.stderr.setEncoding("utf8").on("data", hear);
      started.once("exit", (code) => reject(new Error(`the application has ended with ${code}: ${said}`)));
    });
  });
  const stop = async (): Promise<number | null> => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return child?.exitCode ?? null;
    const ended = once(child, "exit") as Promise<[number | null]>;
    child.kill("SIGTERM");
    return (await ended)[0];
  };
  afterAll(stop);
  return {
    get url() {
      return url;
    },
    said: () => said,
    stop,
  };
}

/** A program that was installed here. */
export const installed = (...parts: readonly string[]): string => path.join(project, "node_modules", ...parts);
