import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { describe, expect, it } from "vitest";
import { Running, millrace, useFolder } from "./cli.js";

const folder = useFolder();
const cwd = folder.path;

describe("dev", () => {
  it("runs a database that stays, with a demo, and stops cleanly on Ctrl-C", async () => {
    const first = new Running(["dev", "--demo", "--port", "0", "--json"], { cwd });
    await first.until('"success"', 2);
    const ready = JSON.parse(first.stdout.split("\n")[0]!) as { event: string; url: string; pid: number };
    expect(ready).toMatchObject({
      event: "ready",
      folder: ".millrace",
      url: expect.stringMatching(/^postgres:\/\/postgres:[\w-]{32}@127\.0\.0\.1:\d+\/postgres$/),
    });

    // Nobody else of this machine gets in, nor reads how.
    const stranger = new URL(ready.url);
    stranger.password = "";
    await expect(new pg.Client({ connectionString: stranger.href }).connect()).rejects.toThrow(/password/);
    for (const file of ["url", "password"])
      expect(statSync(path.join(cwd, ".millrace", file)).mode & 0o777).toBe(0o600);

    // Other commands in the folder find it by themselves; a second server in it is refused.
    const [enqueued, second] = await Promise.all([millrace(["enqueue", "kept"], { cwd }), millrace(["dev"], { cwd })]);
    expect(enqueued.code).toBe(0);
    expect(second).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`another server runs in .millrace, process ${ready.pid}`),
    });

    first.pressControlC();
    const { code, stdout, stderr } = await first.ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const events = stdout
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as { event: string }).event);
    expect(events.at(-1)).toBe("down");
    expect(events).toEqual(expect.arrayContaining(["started", "stopping", "stopped"]));
    expect(events).not.toContain("error");
    expect(isRunning(ready.pid)).toBe(false);
    expect(existsSync(path.join(cwd, ".millrace/url"))).toBe(false);

    const third = new Running(["dev", "--port", "0", "--server-only", "--json"], { cwd });
    await third.until('"ready"');
    expect((await millrace(["jobs", "show", enqueued.stdout.trim()], { cwd })).stdout).toMatch(/^state +ready$/m);
    const { pid } = JSON.parse(third.stdout) as { pid: number };
    third.kill("SIGKILL"); // the server goes too
    while (isRunning(pid)) await sleep(50);
  }, 120_000);
});

it("dev says how to reach the server, and keeps the password to itself", async () => {
  const dev = new Running(["dev", "--port", "0", "--server-only", "--folder", "my data"], { cwd });
  await dev.until("DATABASE_URL=$(cat 'my data/url')");
  const url = new URL(readFileSync(path.join(cwd, "my data/url"), "utf8").trim());
  expect((await millrace(["queues"], { cwd, url: url.href })).code).toBe(0);
  dev.kill("SIGINT");
  const { stdout, stderr } = await dev.ended;
  expect(stdout).toContain(`postgres://postgres@127.0.0.1:${url.port}/postgres\n`);
  expect(stdout + stderr).not.toContain(url.password);
}, 60_000);

it("dev shows no jobs that nobody asked for", async () => {
  const dev = new Running(["dev", "--port", "0", "--http-port", "0", "--folder", "empty"], { cwd });
  await dev.until("dashboard");
  const url = readFileSync(path.join(cwd, "empty/url"), "utf8").trim();
  expect(JSON.parse((await millrace(["jobs", "--json"], { cwd, url })).stdout)).toEqual([]);
  dev.kill("SIGINT");
  const { code, stderr } = await dev.ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining("No worker runs here") });
  const both = await millrace(["dev", "--demo", "--handlers", "package.json"], { cwd: path.resolve(".") });
  expect(both).toMatchObject({ code: 2, stderr: expect.stringContaining("--demo goes with neither") });
}, 60_000);

it("what another user left as the address of a server is not used", async () => {
  mkdirSync(path.join(cwd, "elsewhere/.millrace"), { recursive: true });
  writeFileSync(path.join(cwd, "elsewhere/.millrace/url"), "postgres://ann@127.0.0.1:1/app\n", { mode: 0o644 });
  const { code, stderr } = await millrace(["queues"], { cwd: path.join(cwd, "elsewhere") });
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining("no database given") });
});

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
