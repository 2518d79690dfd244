// Dependencies point one way: cli → server → doctor, client ↔ worker → schedule, observe, maintenance, embedded, db.
// Nothing below imports what stands above it.
import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";

const allowed = {
  ".": ["client", "worker", "observe", "db", "embedded", "maintenance", "schedule"],
  db: ["db"],
  embedded: ["embedded"],
  maintenance: ["maintenance", "db"],
  observe: ["observe"],
  schedule: ["schedule", "client", "db"],
  worker: ["worker", "client", "observe", "maintenance", "schedule", "db"],
  client: ["client", "worker", "observe", "schedule", "db"],
  testing: ["testing", "client", "worker", "schedule", "embedded", "db"],
  doctor: ["doctor", "db"],
  server: ["server", "doctor", "client", "worker", "observe", "schedule", "embedded", "maintenance", "db"],
  cli: ["cli", "server", "doctor", "client", "worker", "observe", "maintenance", "embedded", "schedule", "db"],
};
const root = path.join(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), "..", "src");
const findings = [];
for (const file of readdirSync(root, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"))) {
  const from = path.dirname(file).split(path.sep)[0];
  for (const [, target] of readFileSync(path.join(root, file), "utf8").matchAll(/from "(\.[^"]+)"/g)) {
    const to = path.relative(root, path.resolve(root, path.dirname(file), target)).split(path.sep)[0];
    if (!allowed[from]?.includes(to))
      findings.push(`src/${file} imports ${to}: ${from} may import ${allowed[from]?.join(", ") ?? "nothing"}`);
  }
}
for (const finding of findings) console.error(finding);
process.exit(findings.length === 0 ? 0 : 1);
