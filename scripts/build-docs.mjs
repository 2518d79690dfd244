// `npm run docs`: the documents as a site with a search, in docs/site/.vitepress/dist. Links and blocks of code are
// checked before it is built, those about frameworks too. `-- --dev` serves it instead, with what you change.
import { execFileSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));
const site = path.join(root, "docs/site");
const run = (command, ...args) => execFileSync(command, args, { cwd: root, stdio: "inherit" });
const changedAt = (file) => (existsSync(file) ? statSync(file).mtimeMs : 0);

if (changedAt(`${site}/node_modules/.package-lock.json`) < changedAt(`${site}/package-lock.json`)) {
  console.log("installing the packages of docs/site, 143 MB");
  run("npm", "ci", "--prefix", site, "--ignore-scripts", "--no-audit", "--no-fund");
}
const vitepress = `${site}/node_modules/vitepress/bin/vitepress.js`;
if (process.argv.includes("--dev")) {
  run(process.execPath, vitepress, "dev", site);
} else {
  run(process.execPath, "scripts/check-docs.mjs", "--all");
  run(process.execPath, vitepress, "build", site);
  console.log("built: docs/site/.vitepress/dist");
}
