import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { beforeAll, expect, it, vi } from "vitest";
import { buildIfStale } from "../support/build.js";

beforeAll(buildIfStale, 120_000);

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

/** A process with a temporary server, as a test runner has one. */
async function startOwner(): Promise<{ kill: (signal: NodeJS.Signals) => Promise<void>; pid: number; folder: string }> {
  const index = new URL("../../dist/index.js", import.meta.url).href;
  const code = `
    import { readlinkSync } from "node:fs";
    const { startEmbeddedServer } = await import(${JSON.stringify(index)});
    const { pid } = await startEmbeddedServer();
    console.log(JSON.stringify({ pid, folder: readlinkSync("/proc/" + pid + "/cwd").replace(/\\/data$/, "") }));
    setInterval(() => {}, 1000);`;
  const owner = spawn(process.execPath, ["--input-type=module", "-e", code], { stdio: ["ignore", "pipe", "inherit"] });
  const [said] = (await once(owner.stdout, "data")) as [Buffer];
  const kill = async (signal: NodeJS.Signals): Promise<void> => {
    owner.kill(signal);
    await once(owner, "exit");
  };
  return { kill, ...(JSON.parse(said.toString()) as { pid: number; folder: string }) };
}

it.runIf(process.platform === "linux").each(["SIGTERM", "SIGKILL"] as const)(
  "a temporary server ends, and its folder goes, when its process is ended by %s",
  async (signal) => {
    const { kill, pid, folder } = await startOwner();
    expect({ isAlive: isAlive(pid), isThere: existsSync(folder) }).toEqual({ isAlive: true, isThere: true });
    await kill(signal);
    await vi.waitFor(
      () => expect({ isAlive: isAlive(pid), isThere: existsSync(folder) }).toEqual({ isAlive: false, isThere: false }),
      {
        timeout: 20_000,
      },
    );
  },
);
