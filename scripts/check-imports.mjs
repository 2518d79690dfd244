// Dependencies point one way. `below` names, for each folder of src, the folders it may import; a folder stands above
// all that it names, so the table must have no circle. Files import in no circle either. Imports of types count: what
// two folders need to know of each other belongs into one below both.
import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";

const below = {
  db: [],
  embedded: ["db"],
  observe: ["db"],
  doctor: ["db"],
  job: ["db"],
  maintenance: ["job", "db"],
  schedule: ["job", "db"],
  steps: ["job", "db"],
  worker: ["steps", "job", "schedule", "maintenance", "observe", "db"],
  cells: ["worker", "job", "observe", "db"],
  client: ["cells", "worker", "steps", "job", "schedule", "observe", "embedded", "db"],
  testing: ["client", "worker", "steps", "job", "schedule", "embedded", "db"],
  ".": ["cells", "client", "worker", "steps", "job", "schedule", "maintenance", "observe", "embedded", "db"],
  server: ["client", "cells", "steps", "doctor", "schedule", "maintenance", "observe", "db"],
  nestjs: ["client", "worker", "job", "db"],
  cli: ["server", "doctor", "client", "cells", "worker", "job", "schedule", "observe", "embedded", "db"],
};

/** What each file imports, statically or not: a map from paths to lists of paths, all of them relative to `root`. */
export function readImports(root) {
  const files = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((name) => /\.(ts|mjs)$/.test(name));
  return new Map(files.map((file) => [file, importsOf(readFileSync(path.join(root, file), "utf8"), file)]));
}

function importsOf(text, file) {
  const named = text.matchAll(/\b(?:from|import)\s*\(?\s*"(\.[^"]+)"/g);
  return [...named].map(([, target]) => path.join(path.dirname(file), target).replace(/\.js$/, ".ts"));
}

const folderOf = (file) => path.dirname(file).split(path.sep)[0];

/** What is wrong with these imports; nothing when all is well. */
export function checkImports(imports, allowed = below) {
  const findings = [];
  const used = new Set();
  for (const [file, targets] of imports) {
    const from = folderOf(file);
    for (const to of targets.map(folderOf)) {
      if (to === from) continue;
      used.add(`${from} ${to}`);
      if (!allowed[from]?.includes(to))
        findings.push(`src/${file} imports ${to}: ${from} may import ${allowed[from]?.join(", ") || "nothing"}`);
    }
  }
  for (const [from, folders] of Object.entries(allowed))
    for (const to of folders)
      if (!used.has(`${from} ${to}`)) findings.push(`${from} may import ${to}, but does not: take it out of the table`);
  for (const circle of circlesIn(new Map(Object.entries(allowed)))) findings.push(`folders in a circle: ${circle}`);
  for (const circle of circlesIn(imports)) findings.push(`files in a circle: ${circle}`);
  return findings;
}

/** One circle for each way back that a walk from above meets. */
function circlesIn(graph) {
  const circles = [];
  const done = new Set();
  const walk = (node, way) => {
    if (way.includes(node)) circles.push([...way.slice(way.indexOf(node)), node].join(" → "));
    if (way.includes(node) || done.has(node)) return;
    for (const next of graph.get(node) ?? []) walk(next, [...way, node]);
    done.add(node);
  };
  for (const node of graph.keys()) walk(node, []);
  return circles;
}

if (process.argv[1] === import.meta.filename) {
  const findings = checkImports(readImports(path.join(import.meta.dirname, "..", "src")));
  for (const finding of findings) console.error(finding);
  process.exit(findings.length === 0 ? 0 : 1);
}
