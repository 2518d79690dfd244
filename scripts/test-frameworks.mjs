// `npm run test:frameworks`: the packed package in real frameworks and bundlers. Their packages are those of
// test/frameworks, 450 MB that `npm ci` of this repository does not fetch.
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));
const project = path.join(root, "test/frameworks");
const run = (command, args, options = {}) => execFileSync(command, args, { cwd: root, stdio: "inherit", ...options });
const changedAt = (file) => (existsSync(file) ? statSync(file).mtimeMs : 0);

if (changedAt(`${project}/node_modules/.package-lock.json`) < changedAt(`${project}/package-lock.json`)) {
  console.log("installing the packages of test/frameworks, 450 MB");
  run("npm", ["ci", "--prefix", project, "--ignore-scripts", "--no-audit", "--no-fund"]);
}
run("npm", ["run", "--silent", "build"]);
install();
run(process.execPath, [`${project}/node_modules/typescript/bin/tsc`, "-p", `${project}/apps`]);
// Builds of Next.js and webpack take minutes on a busy machine.
const patience = ["--hookTimeout=600000", "--testTimeout=300000"];
const { status } = spawnSync("npx", ["vitest", "run", "test/frameworks", ...patience, ...process.argv.slice(2)], {
  cwd: root,
  stdio: "inherit",
  env: { ...process.env, FRAMEWORKS: "1", ALL_PAGES: "1" },
});
process.exitCode = status ?? 1;

/** What `npm install millrace` would put there: the tarball, and the packages that it depends on. */
function install() {
  const folder = mkdtempSync(path.join(tmpdir(), "millrace-frameworks-"));
  const [{ filename }] = JSON.parse(
    run("npm", ["pack", "--json", "--silent", "--pack-destination", folder], { stdio: ["ignore", "pipe", "inherit"] }),
  );
  const own = path.join(project, "node_modules/millrace");
  rmSync(own, { recursive: true, force: true });
  mkdirSync(own);
  run("tar", ["-xzf", path.join(folder, filename), "-C", own, "--strip-components=1"]);
  rmSync(folder, { recursive: true });
  const { packages } = JSON.parse(readFileSync(path.join(root, "package-lock.json"), "utf8"));
  for (const [place, { dev, devOptional }] of Object.entries(packages))
    if (place !== "" && !dev && !devOptional && existsSync(path.join(root, place)))
      cpSync(path.join(root, place), path.join(project, place), { recursive: true });
}
