// The README of the package. A registry's page resolves links against `repository` only, so that links to files become
// absolute where package.json names a public home, and plain paths inside the package where it does not; pictures and
// the part for those who cloned the repository stay out. `npm pack` calls this before (`--before`) and after
// (`--after`).
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const file = new URL("../README.md", import.meta.url);
const kept = new URL("../.readme-of-the-repository", import.meta.url);

/** `home`: the address of the repository, undefined when there is none; `version`: the release that is packed. */
export function packedReadme(text, home, version) {
  return text
    .replace(/^## Working on it\n[\s\S]*?(?=^## |(?![\s\S]))/m, "")
    .replaceAll(/^!\[[^\]]*\]\([^)]*\)\n\n?/gm, "")
    .replaceAll(/\[([^\]]+)\]\((?!https?:|#)([^)]+)\)/g, (_, label, target) =>
      home === undefined ? inPackage(label, target) : `[${label}](${home}/blob/v${version}/${target})`,
    );
}

const inPackage = (label, target) =>
  label.replaceAll("`", "") === target ? `\`${target}\`` : `${label} (\`${target}\`)`;

function homeOf({ repository }) {
  const url = typeof repository === "string" ? repository : repository?.url;
  return url?.replace(/^git\+/, "").replace(/\.git$/, "");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv[2] === "--before") {
    const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
    const text = readFileSync(file, "utf8");
    writeFileSync(kept, text);
    writeFileSync(file, packedReadme(text, homeOf(manifest), manifest.version));
  } else if (existsSync(kept)) {
    renameSync(kept, file);
  }
}
