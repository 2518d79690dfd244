import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const sources = ["src", "sql", "dashboard"];

/** Tests that start processes of their own run what is in dist, so it must be what src says. */
export function buildIfStale(): void {
  const built = path.join(root, "dist", "dashboard", "index.html");
  if (existsSync(built) && sources.every((folder) => newest(path.join(root, folder)) <= statSync(built).mtimeMs))
    return;
  execFileSync("npm", ["run", "--silent", "build"], { cwd: root, stdio: "inherit" });
}

function newest(folder: string): number {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return Math.max(...files.map((file) => statSync(path.join(folder, file), { throwIfNoEntry: false })?.mtimeMs ?? 0));
}
