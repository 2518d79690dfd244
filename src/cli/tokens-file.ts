import { readFileSync } from "node:fs";
import { type TokenEntry, parseTokens } from "../server/auth/tokens.js";
import type { Options } from "./options.js";
import { UsageError } from "./usage-error.js";

const variable = "MILLRACE_TOKENS";

/** The tokens of the file that `--tokens` names, or of the variable; undefined when there is neither. */
export function tokensOf(options: Options): readonly TokenEntry[] | undefined {
  const file = options.given("tokens");
  if (file === undefined) return process.env[variable] ? parseTokens(process.env[variable]) : undefined;
  let text;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${(error as Error).message}`, 'name a file with lines that "millrace tokens new" has printed');
  }
  return parseTokens(text);
}
