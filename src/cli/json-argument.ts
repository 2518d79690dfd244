import { readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { parseExact } from "../db/exact-json.js";
import { UsageError } from "./usage-error.js";

/**
 * The JSON somebody gave as an argument: itself, the content of a file as `@file`, or standard input as `-`. Nothing is
 * null.
 */
export async function jsonArgument(argument: string | undefined, name: string): Promise<unknown> {
  if (argument === undefined) return null;
  const { source, json } = await load(argument, name);
  try {
    return parseExact(json);
  } catch (error) {
    throw new UsageError(
      `${source} is not JSON: ${(error as Error).message}`,
      'quote it for your shell, such as \'{"key": "a.png"}\', or give @file or -',
    );
  }
}

async function load(argument: string, name: string): Promise<{ source: string; json: string }> {
  if (argument === "-") return { source: "standard input", json: await text(process.stdin) };
  if (!argument.startsWith("@")) return { source: name, json: argument };
  const file = argument.slice(1);
  try {
    return { source: file, json: readFileSync(file, "utf8") };
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${(error as Error).message}`);
  }
}
