import { readFileSync } from "node:fs";

/** The version of this package. In a bundle it is not known: what is found there, if anything, is another package. */
export function version(): string {
  try {
    const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
    const { name, version: own } = JSON.parse(text) as { name: string; version: string };
    return name === "millrace" ? own : "unknown";
  } catch {
    return "unknown";
  }
}
