import { execFile } from "node:child_process";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { newQueue } from "../support/jobs.js";

const db = useDatabase();
const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));
const script = fileURLToPath(new URL("../support/payload-process.mjs", import.meta.url));
const size = 200_000_000;
const threeTimes = 3.2 * size;
let compiled = "";

/** Processes of their own run compiled code: nothing else then adds to the memory they need. */
beforeAll(async () => {
  compiled = await mkdtemp(path.join(tmpdir(), "millrace-compiled-"));
  await writeFile(path.join(compiled, "package.json"), '{ "type": "module" }');
  await symlink(path.join(root, "node_modules"), path.join(compiled, "node_modules"), "junction");
  const tsc = path.join(root, "node_modules", "typescript", "bin", "tsc");
  await run(
    process.execPath,
    [
      tsc,
      "-p",
      "tsconfig.build.json",
      "--outDir",
      compiled,
      "--declaration",
      "false",
      "--sourceMap",
      "false",
      "--noCheck",
    ],
    {
      cwd: root,
    },
  );
});
afterAll(() => rm(compiled, { recursive: true, force: true }));

describe("a payload of 200 MB", () => {
  it("takes at most about three times its size where it is sent or read, and nothing where it is not read", async () => {
    const queue = await newQueue(db);
    const sent = await inProcess("enqueue", queue);
    expect(sent.extraBytes).toBeLessThanOrEqual(threeTimes);
    const claimed = await inProcess("claim", queue);
    expect(claimed.extraBytes).toBeLessThan(30_000_000);
    const read = await inProcess("read", queue);
    expect(read.extraBytes).toBeLessThanOrEqual(threeTimes);
    expect(read.hash).toBe(sent.hash);
  }, 120_000);

  async function inProcess(action: string, queue: string): Promise<{ hash: string | null; extraBytes: number }> {
    const { stdout } = await run(process.execPath, [script, compiled, db.url, queue, action, String(size)]);
    return JSON.parse(stdout) as { hash: string | null; extraBytes: number };
  }
});
