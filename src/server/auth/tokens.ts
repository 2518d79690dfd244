import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { InvalidArgumentError } from "../../db/errors.js";
import { type Role, roles } from "./roles.js";

/** Who asks. */
export interface Identity {
  /** The token's name: in the audit, in the log, and as `by` of what was decided. */
  readonly name: string;
  readonly role: Role;
}

/** A token as it is stored: never the token itself. */
export interface TokenEntry extends Identity {
  readonly sha256: Buffer;
}

const namePattern = /^[\w.@:-]{1,100}$/;

/** A new token and the line to store. 32 random bytes: nobody guesses it, so a plain hash is enough. */
export function makeToken(name: string, role: Role): { readonly token: string; readonly line: string } {
  checkName(name);
  const token = `mr_${randomBytes(32).toString("base64url")}`;
  return { token, line: `${name} ${role} ${digest(token).toString("hex")}` };
}

/** Lines of `NAME ROLE SHA256`; empty ones and those that begin with # say nothing. */
export function parseTokens(text: string): readonly TokenEntry[] {
  const entries: TokenEntry[] = [];
  for (const [i, line] of text.split(/\r?\n|;/).entries()) {
    if (/^\s*(#|$)/.test(line)) continue;
    const [name = "", role = "", sha256 = "", ...rest] = line.trim().split(/\s+/);
    if (rest.length > 0 || !roles.includes(role as Role) || !/^[0-9a-f]{64}$/i.test(sha256))
      throw new InvalidArgumentError(
        `line ${i + 1} of the tokens cannot be read`,
        'write "NAME ROLE SHA256", as "millrace tokens new" prints it',
      );
    checkName(name);
    if (entries.some((entry) => entry.name === name))
      throw new InvalidArgumentError(`there are two tokens named "${name}"`, "give each a name of its own");
    entries.push({ name, role: role as Role, sha256: Buffer.from(sha256, "hex") });
  }
  if (entries.length === 0)
    throw new InvalidArgumentError("there are no tokens", 'make one with "millrace tokens new"');
  return entries;
}

/** Whose token this is. Takes the same time wherever the first difference is, and looks at all of them. */
export function findToken(entries: readonly TokenEntry[], token: string): Identity | undefined {
  const sha256 = digest(token);
  let found: Identity | undefined;
  for (const entry of entries) if (timingSafeEqual(entry.sha256, sha256)) found = entry;
  return found && { name: found.name, role: found.role };
}

const digest = (token: string): Buffer => createHash("sha256").update(token).digest();

function checkName(name: string): void {
  if (!namePattern.test(name))
    throw new InvalidArgumentError(
      `a token cannot be named "${name}"`,
      "use letters, digits, and . _ - : @, at most 100",
    );
}
