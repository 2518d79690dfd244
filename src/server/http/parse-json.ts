import { parseExact } from "../../db/exact-json.js";
import { maxLevels } from "./limits.js";

const utf8 = new TextDecoder("utf-8", { fatal: true });
const quote = 0x22;
const backslash = 0x5c;
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];

/** A JSON text has more levels than anybody here will follow. */
export class TooDeepError extends Error {
  override readonly name = "TooDeepError";
  constructor(readonly levels: number) {
    super(`it has more than ${levels} levels`);
  }
}

/**
 * The value of a JSON text in UTF-8, with integers as they are (`parseExact`); throws what `JSON.parse` throws, or a
 * TooDeepError. Levels are counted before it is parsed: a parser makes an object of each, a gigabyte of 16 MB of
 * brackets, and whoever walks along them comes to the end of the stack.
 */
export function parseJson(bytes: Uint8Array, levels = maxLevels): unknown {
  if (isDeeper(bytes, levels)) throw new TooDeepError(levels);
  return parseExact(utf8.decode(bytes));
}

function isDeeper(bytes: Uint8Array, levels: number): boolean {
  let level = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === quote) at = endOfString(bytes, at);
    else if (byte === openList || byte === openObject) {
      level += 1;
      if (level > levels) return true;
    } else if (byte === closeList || byte === closeObject) level -= 1;
  }
  return false;
}

function endOfString(bytes: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < bytes.length && bytes[at] !== quote) at += bytes[at] === backslash ? 2 : 1;
  return at;
}
