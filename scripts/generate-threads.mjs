// Bundles what runs in threads and processes of its own into texts, so that a worker never looks for a file at run
// time: a user's bundle has no such files, and no pg for them to import. The module is not committed, because pg is in
// it: the build and the checks make it.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
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

const license = readFileSync(new URL("../node_modules/pg/LICENSE", import.meta.url), "utf8");
const text = `// Made by scripts/generate-threads.mjs. Do not edit.
/*! pg and the packages it is made of, in heartbeatThread:\n${license}*/
/** heartbeat-thread.ts with pg, as a CommonJS script. */
export const heartbeatThread: string = ${await bundle("heartbeat-thread.ts")};
/** isolate-host.ts, as a CommonJS script. */
export const isolateHost: string = ${await bundle("isolate-host.ts")};
`;
// only when it is another one: what is newer than the build is built again
if (!existsSync(target) || readFileSync(target, "utf8") !== text) writeFileSync(target, text);
