// The documents of the repository as a site, as they are: the pages stay where forges and the package show them. The
// menu is docs/README.md. Links between pages are checked by VitePress; those to other files become plain text, since
// the site does not have them.
import { existsSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { slugOf } from "../../../scripts/check-docs.mjs";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const read = (file) => readFileSync(path.join(root, file), "utf8");

/** Whether a file of the repository is a page of the site. */
const isPage = (file) =>
  /^(README|ARCHITECTURE|CHANGELOG|CONTRIBUTING|docs\/[\w-]+|sql\/([\w-]+\/)?README|bench\/README|deploy\/README)\.md$/.test(
    file,
  ) && existsSync(path.join(root, file));

/** The title of a page: its first heading. */
const titleOf = (file) => /^# (.+)$/m.exec(read(file))?.[1].replaceAll("`", "") ?? file;

/** The address of a page: a README stands for its folder. */
const addressOf = (file) => `/${file.replace(/(^|\/)README\.md$/, "$1")}`;

/** The menu: the parts of docs/README.md, with the pages they list. */
const menu = read("docs/README.md")
  .split("\n## ")
  .slice(1)
  .map((part) => {
    const pages = [...part.matchAll(/\]\(([^)#]+\.md)/g)].map(([, link]) => path.posix.join("docs", link));
    return {
      text: part.split("\n")[0],
      items: pages.map((file) => ({
        text: file === "README.md" ? "A first job" : titleOf(file),
        link: addressOf(file),
      })),
    };
  });

/** Makes addresses of the site of links to pages, and plain text of links to other files. */
function linkPages(md) {
  md.core.ruler.push("pages", ({ tokens, env }) => {
    for (const { children } of tokens) {
      let isDropped = false;
      for (const token of children ?? []) {
        if (token.type === "link_close" && isDropped) {
          token.type = "text"; // without a text
          isDropped = false;
        }
        const href = token.type === "link_open" ? token.attrGet("href") : undefined;
        if (!href || /^(https?|mailto):|^#/.test(href)) continue;
        const [target, anchor] = href.split("#");
        const file = withinFolder(path.posix.join(path.posix.dirname(sourceOf(env)), target));
        if (isPage(file)) {
          token.attrSet("href", addressOf(file) + (anchor === undefined ? "" : `#${anchor}`));
        } else {
          token.type = "text";
          token.content = "";
          isDropped = true;
        }
      }
    }
  });
}

const sourceOf = (env) => path.posix.relative(root.replace(/\/$/, ""), env.realPath ?? env.path);

/** A folder stands for its README. */
function withinFolder(file) {
  const place = path.join(root, file);
  return existsSync(place) && statSync(place).isDirectory() ? path.posix.join(file, "README.md") : file;
}

export default {
  title: "Millrace",
  description: "A job queue on PostgreSQL",
  srcDir: "../..",
  outDir: ".vitepress/dist",
  srcExclude: ["{src,test,dashboard,chaos,examples,scripts,dist*,release,node_modules}/**", "NOTES.md", "docs/site/**"],
  rewrites: { "README.md": "index.md", ":folder(.*)/README.md": ":folder/index.md" },
  markdown: { anchor: { slugify: slugOf }, toc: { slugify: slugOf }, config: linkPages },
  vite: { build: { chunkSizeWarningLimit: 2000 } }, // the index of the search, loaded when somebody searches
  themeConfig: {
    search: { provider: "local" },
    nav: [{ text: "Documents", link: "/docs/" }],
    sidebar: menu,
    outline: [2, 3],
  },
};
