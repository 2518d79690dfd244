// At most 120 columns in SQL and TypeScript. What the formatter cannot break stays: texts in quotes, which are easier
// to search for in one piece. The same for the documents about the engine's inside, but for rows of tables.
import { readFileSync, readdirSync } from "node:fs";

const most = 120;
const folders = ["src", "dashboard", "test", "scripts", "bench", "chaos", "examples", "sql"];
const isOurs = (path) =>
  /\.(ts|tsx|mjs|sql)$/.test(path) && !/node_modules|(^|\/)dist\/|\.generated\.ts|sql\/migrations\//.test(path);

/**
 * Whether the line runs on because of a text: in a template that began before it, or in quotes that reach over the
 * edge.
 */
function isText(line, isInTemplate) {
  if (isInTemplate) return true;
  const edge = line.slice(0, most);
  return /["`]/.test(edge.replace(/^\s*(\/\/|\*|--).*/, "")) && !/\/\/ [^"`]*$/.test(line.slice(most - 40));
}

const tooLong = [];
for (const folder of folders) {
  for (const file of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    const path = `${folder}/${file}`;
    if (!isOurs(path)) continue;
    let isInTemplate = false;
    readFileSync(path, "utf8")
      .split("\n")
      .forEach((line, index) => {
        const isTypeScript = !path.endsWith(".sql");
        if (line.length > most && !(isTypeScript && isText(line, isInTemplate))) tooLong.push(`${path}:${index + 1}`);
        if (isTypeScript && (line.match(/(?<!\\)`/g) ?? []).length % 2 === 1) isInTemplate = !isInTemplate;
      });
  }
}
const documents = readdirSync("sql", { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".md"));
for (const path of ["ARCHITECTURE.md", ...documents.map((file) => `sql/${file}`)]) {
  readFileSync(path, "utf8")
    .split("\n")
    .forEach((line, index) => {
      if (line.length > most && !line.startsWith("|")) tooLong.push(`${path}:${index + 1}`);
    });
}
if (tooLong.length > 0) {
  console.error(`longer than ${most} columns:\n${tooLong.join("\n")}`);
  process.exit(1);
}
