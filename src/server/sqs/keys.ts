import { InvalidArgumentError } from "../../db/errors.js";
import type { AccessKey } from "./wire/sigv4.js";

/**
 * Lines of `ACCESS_KEY_ID SECRET_ACCESS_KEY`, and the account if it is to be another than the usual one; empty ones and
 * those that begin with # say nothing.
 */
export function parseKeys(text: string): readonly AccessKey[] {
  const keys: AccessKey[] = [];
  for (const [i, line] of text.split(/\r?\n|;/).entries()) {
    if (/^\s*(#|$)/.test(line)) continue;
    const [accessKeyId = "", secretAccessKey = "", account, ...rest] = line.trim().split(/\s+/);
    if (
      rest.length > 0 ||
      !/^[\w.-]{3,128}$/.test(accessKeyId) ||
      secretAccessKey.length < 8 ||
      (account !== undefined && !/^\d{12}$/.test(account))
    ) {
      throw new InvalidArgumentError(
        `line ${i + 1} of the keys cannot be read`,
        'write "ACCESS_KEY_ID SECRET_ACCESS_KEY", the secret with 8 characters or more, and 12 digits of an account if you like',
      );
    }
    if (keys.some((key) => key.accessKeyId === accessKeyId))
      throw new InvalidArgumentError(`there are two keys "${accessKeyId}"`, "give each an id of its own");
    keys.push({ accessKeyId, secretAccessKey, ...(account === undefined ? {} : { account }) });
  }
  if (keys.length === 0)
    throw new InvalidArgumentError("there are no keys", "give a line of ACCESS_KEY_ID SECRET_ACCESS_KEY");
  return keys;
}
