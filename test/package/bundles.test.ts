import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { producer, worker } from "./bundled.js";
import { type Installed, installPackage, root } from "./installed.js";

/** As everybody who bundles CommonJS packages into ESM needs it. */
const banner = 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);';
const formats = [
  { name: "CommonJS", extension: "cjs", flags: ["--format=cjs"] },
  { name: "ESM", extension: "mjs", flags: ["--format=esm", `--banner:js=${banner}`] },
];

const database = useDatabase();
let installed: Installed;
let elsewhere: string;
beforeAll(() => {
  installed = installPackage();
  installed.write("producer.ts", producer);
  installed.write("worker.ts", worker);
  elsewhere = mkdtempSync(path.join(tmpdir(), "millrace-bundle-"));
});
afterAll(() => {
  installed.remove();
  rmSync(elsewhere, { recursive: true, force: true });
});

/** Bundle a file of the project, and run it. What it says, and which files are in it. */
async function run(entry: string, file: string, flags: readonly string[], ...args: string[]) {
  const meta = path.join(installed.folder, "meta.json");
  execFileSync(
    path.join(root, "node_modules/.bin/esbuild"),
    [
      entry,
      "--bundle",
      "--platform=node",
      "--target=node20",
      "--log-level=error",
      `--metafile=${meta}`,
      `--outfile=${file}`,
      ...flags,
    ],
    { cwd: installed.folder },
  );
  const { inputs } = JSON.parse(readFileSync(meta, "utf8")) as { inputs: Record<string, unknown> };
  const { stdout } = await promisify(execFile)(process.execPath, [file, ...args], {
    cwd: path.dirname(file),
    env: { ...process.env, DATABASE_URL: database.url },
  });
  return { said: JSON.parse(stdout) as unknown, inputs: Object.keys(inputs) };
}

describe.each(formats)("bundled by esbuild as $name, in a folder without packages", ({ extension, flags }) => {
  it("a producer enqueues, and has neither the code of workers nor the SQL of the schema", async () => {
    const { said, inputs } = await run("producer.ts", path.join(elsewhere, `producer.${extension}`), flags);
    expect(said).toEqual({ code: "MR001", isId: true });
    const ofWorkers = inputs.filter((file) => /millrace\/dist\/(worker|maintenance|embedded|server|cli)\//.test(file));
    expect(ofWorkers.map((file) => path.basename(file)).toSorted()).toEqual([
      "dev-url.js",
      "own-folder.js",
      "run-in-progress.js",
    ]);
    expect(inputs.some((file) => file.endsWith("dist/client/millrace.js"))).toBe(true);
    expect(inputs.filter((file) => file.includes("sql.generated"))).toEqual([]);
  });

  it("a worker runs jobs, with its heartbeat's thread, in threads and in processes", async () => {
    writeFileSync(path.join(elsewhere, "double.mjs"), "export default (job) => job.input * 2;");
    const { said } = await run(
      "worker.ts",
      path.join(elsewhere, `worker.${extension}`),
      flags,
      path.join(elsewhere, "double.mjs"),
    );
    expect(said).toEqual({ results: [{ sent: "ada" }, 8, 10], heartbeats: 1, troubles: [] });
  });
});

describe.each(formats)("bundled as $name with the package left outside, as Next.js does", ({ extension, flags }) => {
  it("both run", async () => {
    const outside = [...flags, "--external:millrace", "--external:millrace/*", "--external:pg"];
    installed.write("double.mjs", "export default (job) => job.input * 2;");
    const producing = await run("producer.ts", path.join(installed.folder, `out/producer.${extension}`), outside);
    expect(producing).toEqual({ said: { code: "MR001", isId: true }, inputs: ["producer.ts"] });
    const working = await run(
      "worker.ts",
      path.join(installed.folder, `out/worker.${extension}`),
      outside,
      path.join(installed.folder, "double.mjs"),
    );
    expect(working.said).toEqual({ results: [{ sent: "ada" }, 8, 10], heartbeats: 1, troubles: [] });
  });
});
