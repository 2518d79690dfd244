// What the documents promise: every link leads somewhere, to its heading too, and every block of TypeScript compiles.
// `node scripts/check-docs.mjs` tells what does not hold. Blocks about frameworks need the packages of docs/site, as
// `npm run docs` has them; without these they are left out, and counted.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));
const folders = ["bench", "chaos", "dashboard", "deploy", "docs", "examples", "sql", "src", "test"];
const fence = /^( *)```(\w*)[^\n]*\n([\s\S]*?)^\1```/gm;

/** Every document of the repository, by its path. */
export function documents() {
  const inFolders = folders.flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" }).map((file) => `${folder}/${file}`),
  );
  return [...readdirSync(root), ...inFolders].filter(
    (file) => file.endsWith(".md") && !/(^|\/)(node_modules|dist|results)\//.test(file),
  );
}

const read = (file) => readFileSync(path.join(root, file), "utf8");
const withoutCode = (text) => text.replaceAll(fence, "").replaceAll(/`[^`\n]*`/g, "``");

/** The anchor of a heading, as forges make it: the site makes the same. */
export const slugOf = (heading) =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}_\s-]/gu, "")
    .replaceAll(/\s/g, "-");

/** All anchors of a document; a heading that comes again has a number behind. */
export function anchorsOf(text) {
  const seen = new Map();
  const headings = [...text.replaceAll(fence, "").matchAll(/^#{1,6} +(.+?) *#*$/gm)].map(([, heading]) =>
    slugOf(heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")),
  );
  return headings.map((slug) => {
    const times = seen.get(slug) ?? 0;
    seen.set(slug, times + 1);
    return times === 0 ? slug : `${slug}-${times}`;
  });
}

/** Links of a document that lead nowhere; `textOf` gives the text of a path, `true` for a file without one. */
export function deadLinks(file, textOf = onDisk) {
  const links = [...withoutCode(textOf(file)).matchAll(/\]\(<?([^)\s>]+)>?(?: "[^"]*")?\)/g)].map(([, link]) => link);
  return links.filter((link) => {
    if (/^(https?|mailto):/.test(link)) return false;
    const [target, anchor] = link.split("#");
    const there = textOf(target === "" ? file : path.posix.join(path.posix.dirname(file), target));
    if (there === undefined) return true;
    return anchor !== undefined && (there === true || !anchorsOf(there).includes(anchor));
  });
}

function onDisk(file) {
  const place = path.join(root, file);
  if (!existsSync(place)) return undefined;
  return file.endsWith(".md") && statSync(place).isFile() ? readFileSync(place, "utf8") : true;
}

/** The blocks of one language in a text, each with its line. */
export function blocksOf(text, language) {
  return [...text.matchAll(fence)]
    .filter((found) => found[2] === language)
    .map(({ 1: indent, 3: code, index }) => ({
      code: code.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
      line: text.slice(0, index).split("\n").length + 1,
    }));
}

const site = path.join(root, "docs/site");

/**
 * All blocks of TypeScript in what users read, by page and line. Recipes are left out, which are files of examples/
 * word by word; and of the reference, which is made of the sources, the declarations.
 */
export function userBlocks() {
  return documents()
    .filter((file) => (file.startsWith("docs/") || file === "README.md") && file !== "docs/recipes.md")
    .flatMap((file) => {
      const blocks = blocksOf(read(file), "ts").map((block) => ({ file, ...block }));
      return file === "docs/reference.md" ? blocks.filter(isExample) : blocks;
    });
}

/** In the reference: below the word, or inside of the list of members. */
function isExample({ file, line }) {
  const [word, , opening] = read(file)
    .split("\n")
    .slice(line - 4, line - 1);
  return word === "Example:" || opening.startsWith("  ");
}

/** Packages that a block imports. */
const importsOf = (code) =>
  [...code.matchAll(/^(?:import|export)\b[^;]*?from "([^".][^"]*)"/gm)].map(([, name]) => name);

function isInstalled(name) {
  if (/^(node:|millrace(\/|$))/.test(name)) return true;
  const folder = name
    .split("/")
    .slice(0, name.startsWith("@") ? 2 : 1)
    .join("/");
  return [site, root].some((place) => existsSync(path.join(place, "node_modules", folder)));
}

/**
 * Compile blocks, each as a module of its own, with the names that docs/given.d.ts gives to all of them. What the
 * compiler says, by page and line of the page; and the blocks that were left out for want of a package.
 */
export function compileBlocks(blocks) {
  const left = blocks.filter(({ code }) => !importsOf(code).every(isInstalled));
  const taken = blocks.filter((block) => !left.includes(block));
  const folder = path.join(site, `.blocks-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  try {
    taken.forEach(({ code }, index) => writeFileSync(path.join(folder, `${index}.ts`), `${code}\nexport {};\n`));
    const config = {
      extends: "../../../tsconfig.json",
      compilerOptions: {
        experimentalDecorators: true,
        noUnusedLocals: false,
        noUnusedParameters: false,
        noPropertyAccessFromIndexSignature: false,
        lib: ["ES2023", "ES2024.String", "ESNext.Disposable"],
      },
      include: ["./*.ts", "../../given.d.ts"],
      exclude: [],
    };
    writeFileSync(path.join(folder, "tsconfig.json"), JSON.stringify(config));
    return { errors: errorsOf(compile(folder), taken), compiled: taken.length, left };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function compile(folder) {
  const compiler = path.join(
    path.dirname(createRequire(import.meta.url).resolve("typescript/package.json")),
    "bin/tsc",
  );
  try {
    return execFileSync(process.execPath, [compiler, "-p", folder, "--pretty", "false"], {
      cwd: folder,
      encoding: "utf8",
    });
  } catch (error) {
    return `${error.stdout}${error.stderr}`;
  }
}

/** Lines of the compiler, with the places of the pages instead of those of the modules. */
function errorsOf(said, blocks) {
  return said
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) =>
      line.replace(/^(\d+)\.ts\((\d+),\d+\)/, (_, block, row) => {
        const { file, line: first } = blocks[Number(block)];
        return `${file}:${first + Number(row) - 1}`;
      }),
    );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const dead = documents().flatMap((file) => deadLinks(file).map((link) => `${file}: ${link} leads nowhere`));
  const { errors, compiled, left } = compileBlocks(userBlocks());
  const isStrict = process.argv.includes("--all");
  const missing = isStrict ? left.map(({ file, line }) => `${file}:${line}: a package of docs/site is missing`) : [];
  const findings = [...dead, ...errors, ...missing];
  console.log(`${compiled} blocks of TypeScript compiled, ${left.length} left out; ${documents().length} documents`);
  if (findings.length > 0) {
    console.error(findings.join("\n"));
    process.exit(1);
  }
}
