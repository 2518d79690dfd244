// Some registries do not serve every optional binding, such as those of other platforms, and npm then leaves it out of
// package-lock.json without taking its name out of the package that lists it; "npm ci" refuses such a file. Run this
// after every change of dependencies; with a folder as argument for its lock file, such as docs/site.
import { readFileSync, writeFileSync } from "node:fs";

const file = new URL(`../${process.argv[2] ?? "."}/package-lock.json`, import.meta.url);
const lock = JSON.parse(readFileSync(file, "utf8"));

/** Is it there for the package at this place: in its own folder, or in that of one around it? */
const isLocked = (place, name) => {
  for (let around = place; ; around = around.slice(0, Math.max(0, around.lastIndexOf("node_modules/") - 1))) {
    if (`${around === "" ? "" : `${around}/`}node_modules/${name}` in lock.packages) return true;
    if (around === "") return false;
  }
};

let removed = 0;
for (const [place, entry] of Object.entries(lock.packages)) {
  if (place === "") continue; // what package.json itself says
  for (const name of Object.keys(entry.optionalDependencies ?? {})) {
    if (isLocked(place, name)) continue;
    delete entry.optionalDependencies[name];
    removed += 1;
  }
  if (Object.keys(entry.optionalDependencies ?? { some: 1 }).length === 0) delete entry.optionalDependencies;
}
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
console.log(`removed ${removed} optional dependencies that are not in the lock file`);
