// Bundles what runs in threads and processes of its own into texts, so that a worker never looks for a file at run
// time: a user's bundle has no such files, and no pg for them to import.
// `node scripts/generate-threads.mjs --check` fails when the committed module is not what the sources say.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const target = new URL("../src/worker/threads.generated.ts", import.meta.url);

async function bundle(file) {
  const built = await build({
    configFile: false,
    root: fileURLToPath(new URL("..", import.meta.url)),
    logLevel: "error",
    ssr: { noExternal: true, target: "node" },
    build: {
      ssr: `src/worker/${file}`,
      write: false,
      minify: true,
      target: "node20",
      rolldownOptions: { external: ["pg-native", "cloudflare:sockets"], output: { format: "cjs" } },
    },
  });
  return JSON.stringify(built.output[0].code);
}

const text = `// Made by scripts/generate-threads.mjs. Do not edit.
/** heartbeat-thread.ts with pg, as a CommonJS script. */
export const heartbeatThread: string = ${await bundle("heartbeat-thread.ts")};
/** isolate-host.ts, as a CommonJS script. */
export const isolateHost: string = ${await bundle("isolate-host.ts")};
`;
if (process.argv.includes("--check")) {
  if (readFileSync(target, "utf8") !== text) {
    console.error("src/worker/threads.generated.ts is stale: run node scripts/generate-threads.mjs");
    process.exit(1);
  }
} else {
  writeFileSync(target, text);
}
