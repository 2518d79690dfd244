import { readFileSync } from "node:fs";
import path from "node:path";
import { isOwnSecret } from "./own-folder.js";

/** Where `millrace dev` keeps its server, and tells others of it. */
export const devFolder = ".millrace";
export const devUrlFile = "url";

/**
 * The address of the server of a `millrace dev` that runs in this folder. Only a file of our own is believed: it names
 * the server that jobs are sent to.
 */
export function devUrl(): string | undefined {
  const file = path.join(devFolder, devUrlFile);
  try {
    return isOwnSecret(file) ? readFileSync(file, "utf8").trim() : undefined;
  } catch {
    return undefined;
  }
}
