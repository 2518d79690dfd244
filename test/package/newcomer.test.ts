import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, readFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { packageName } from "../../src/embedded/binaries.js";
import { type Installed, installPackage, root } from "./installed.js";

const readme = readFileSync(path.join(root, "README.md"), "utf8");
/** What the README tells a newcomer to save, word by word. */
const firstJob = /^```js\n([\s\S]*?)^```/m.exec(readme)![1]!;
/** The same by the sentence below it. */
const [, firstLine] = /In CommonJS the first line is\n`(.+)`, and you wrap the rest in an async function/.exec(readme)!;
const inCommonJs = `${firstJob.replace(/^import .*/, `${firstLine!}\nvoid (async () => {`)}})();`;
const said = "resizing a.png\n{ width: 100 }\n";

let installed: Installed;
let dev: ChildProcess;
beforeAll(async () => {
  installed = installPackage({ type: "commonjs" }, [packageName()]);
  chmodSync(installed.folder, 0o755); // root's server runs as somebody else
  const main = path.join(installed.folder, "node_modules/millrace/dist/cli/main.js");
  dev = spawn(process.execPath, [main, "dev", "--port", "0", "--http-port", "0"], {
    cwd: installed.folder,
    env: withoutDatabase,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  await new Promise<void>((resolve, reject) => {
    dev.once("exit", () => reject(new Error(`millrace dev has ended: ${text}`)));
    dev.stdout!.setEncoding("utf8").on("data", (more: string) => {
      text += more;
      if (text.includes("DATABASE_URL=")) resolve();
    });
  });
});
afterAll(async () => {
  const ended = once(dev, "exit");
  dev.kill("SIGINT");
  await ended;
  installed.remove();
});

const { DATABASE_URL: _, ...withoutDatabase } = process.env;

/** Run a file of the project until it ends by itself. */
async function run(name: string, text: string): Promise<{ stdout: string; stderr: string }> {
  const file = installed.write(name, text);
  return promisify(execFile)(process.execPath, [file], {
    cwd: installed.folder,
    env: withoutDatabase,
    timeout: 50_000,
  });
}

describe("a newcomer, in an empty folder, with the package and millrace dev", () => {
  it("pastes the first job of the README, which runs and ends", async () => {
    expect((await run("first-job.mjs", firstJob)).stdout).toBe(said);
  });

  it("does the same in CommonJS", async () => {
    expect((await run("first-job.cjs", inCommonJs)).stdout).toBe(said);
  });

  it("is told what to do where there is no database", async () => {
    const elsewhere = installed.write("elsewhere/first-job.mjs", firstJob);
    const failed = await promisify(execFile)(process.execPath, [elsewhere], {
      cwd: path.dirname(elsewhere),
      env: withoutDatabase,
    }).catch((error: { stderr: string }) => error);
    expect(failed.stderr).toContain('pass connection, set DATABASE_URL, or run "millrace dev" in this folder');
  });
});
