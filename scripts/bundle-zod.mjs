// Replaces dist/server/zod.js, which imports zod, by one that contains it. Part of `npm run build`.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const root = fileURLToPath(new URL("..", import.meta.url));
const license = readFileSync(new URL("../node_modules/zod/LICENSE", import.meta.url), "utf8");
await build({
  configFile: false,
  root,
  logLevel: "error",
  ssr: { noExternal: true, target: "node" },
  build: {
    ssr: "src/server/zod.ts",
    outDir: "dist/server",
    emptyOutDir: false,
    minify: true,
    target: "node20",
    copyPublicDir: false,
    rolldownOptions: { output: { entryFileNames: "zod.js", postBanner: `/*! zod\n${license}*/` } },
  },
});
