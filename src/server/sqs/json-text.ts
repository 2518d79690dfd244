/**
 * Whether a text is a JSON object or list that PostgreSQL keeps as it is, spaces inside included, but not those around
 * it, and reads again: it reads neither NUL, nor half a surrogate pair, nor deep nesting.
 */
export function isStorableJson(text: string): boolean {
  const ends = `${text[0]}${text.at(-1)}`;
  if ((ends !== "{}" && ends !== "[]") || text.includes("\\u0000") || hasHalfPair(text) || isDeep(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const pair = /\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}/g;
const halfPair = /\\u[dD][89a-fA-F]/;
const maxLevels = 100;

/** A backslash that is escaped escapes nothing: it would make a pair of what is half of one. */
function hasHalfPair(json: string): boolean {
  return halfPair.test(json) && halfPair.test(json.replaceAll("\\\\", " ").replaceAll(pair, ""));
}

/** Brackets in texts do not count: there may be as many that close as there are levels. */
function isDeep(json: string): boolean {
  let level = 0;
  for (let i = 0; i < json.length; i += 1) {
    const code = json.charCodeAt(i);
    if (code === 0x22) i = endOfText(json, i);
    else if (code === 0x7b || code === 0x5b) {
      level += 1;
      if (level > maxLevels) return true;
    } else if (code === 0x7d || code === 0x5d) level -= 1;
  }
  return false;
}

/** Where the text ends that begins here. */
function endOfText(json: string, start: number): number {
  for (let i = start + 1; i < json.length; i += 1) {
    const code = json.charCodeAt(i);
    if (code === 0x22) return i;
    if (code === 0x5c) i += 1;
  }
  return json.length;
}
