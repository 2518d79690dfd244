// Dead code: every export in src and dashboard must be used by another file of them, or by a test or benchmark.
import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";

const root = path.join(path.dirname(new URL(import.meta.url).pathname), "..");
const files = ["src", "dashboard", "test", "bench/engine"].flatMap((folder) =>
  readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => ({ name: `${folder}/${name}`, text: readFileSync(path.join(root, folder, name), "utf8") })),
);
const findings = [];
for (const { name, text } of files.filter(
  (file) => /^(src|dashboard)\//.test(file.name) && file.name !== "src/index.ts",
)) {
  for (const [, symbol] of text.matchAll(/^export (?:async )?(?:const|function\*?|class|interface|type) (\w+)/gm)) {
    const used = files.some((other) => other.name !== name && new RegExp(`\\b${symbol}\\b`).test(other.text));
    const usedHere = [...text.matchAll(new RegExp(`\\b${symbol}\\b`, "g"))].length > 1;
    if (!used && !usedHere) findings.push(`${name}: nobody uses ${symbol}`);
  }
}
for (const finding of findings) console.error(finding);
process.exit(findings.length === 0 ? 0 : 1);
