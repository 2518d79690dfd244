import { defineConfig } from "vite";

// Relative URLs, so that the page works below any prefix; `npm run dev:dashboard` asks the server on its usual port.
export default defineConfig({
  base: "./",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  server: { proxy: { "/api": "http://127.0.0.1:8484" } },
  build: {
    outDir: "../dist/dashboard",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    // Nothing inline: the policy of the server forbids it.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
});
