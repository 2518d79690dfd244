import { readFileSync } from "node:fs";
import { type TokenEntry, parseTokens } from "../server/auth/tokens.js";
import { parseKeys } from "../server/sqs/keys.js";
import type { AccessKey } from "../server/sqs/wire/sigv4.js";
import type { Options } from "./options.js";
import { UsageError } from "./usage-error.js";

/** Who may ask for what: by `--tokens`, else by the environment; undefined when neither says anything. */
export function tokensOf(options: Options): readonly TokenEntry[] | undefined {
  const text = textOf(options, "tokens", "MILLRACE_TOKENS", 'a file with lines that "millrace tokens new" has printed');
  return text === undefined ? undefined : parseTokens(text);
}

/** The keys of SQS clients: by `--sqs-keys`, else by the environment. */
export function keysOf(options: Options): readonly AccessKey[] | undefined {
  const text = textOf(options, "sqs-keys", "MILLRACE_SQS_KEYS", "a file with lines of ACCESS_KEY_ID SECRET_ACCESS_KEY");
  return text === undefined ? undefined : parseKeys(text);
}

/** What a file says that an option names, or else a variable of the environment. */
function textOf(options: Options, option: string, variable: string, remedy: string): string | undefined {
  const file = options.given(option);
  if (file === undefined) return process.env[variable] || undefined;
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${(error as Error).message}`, `name ${remedy}`);
  }
}
