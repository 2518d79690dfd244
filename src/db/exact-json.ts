/** Marks numbers in JSON texts. It is told to nobody, so that no string of others begins with it. */
const mark = `millrace ${Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(36)).join("")} `;
const marked = new RegExp(`"${mark}(-?\\d+)"`, "g");
/** Most texts have no such number. What only looks like one, inside of a string, is sorted out later. */
const mayHave = /(?:^|[:,[\s])-?\d{16,}(?:[,\]}\s]|$)/;
const integer = /^-?[1-9]\d{15,}$/;
let isUsed = false;

/**
 * An integer that a JavaScript number cannot hold, as it was written. Whoever passes JSON on without looking into it
 * reads it with `parseExact` and writes it with `exactText`: then what comes out is what went in.
 */
export class ExactInteger {
  constructor(readonly text: string) {
    isUsed = true;
  }

  /** For `JSON.stringify`, whose text `exactText` makes right. */
  toJSON(): string {
    return mark + this.text;
  }

  toString(): string {
    return this.text;
  }

  valueOf(): number {
    return Number(this.text);
  }
}

/** As `JSON.parse`, but integers beyond 2^53 are of ExactInteger. */
export function parseExact(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (!mayHave.test(text)) return value;
  const exact = withMarks(text);
  if (exact === text) return value;
  return JSON.parse(exact, (_key, member: unknown) =>
    typeof member === "string" && member.startsWith(mark) ? new ExactInteger(member.slice(mark.length)) : member,
  );
}

/** As `JSON.stringify`, with each ExactInteger as it was written. */
export function exactText(
  value: unknown,
  replacer?: (key: string, member: unknown) => unknown,
  space?: number,
): string {
  const text = JSON.stringify(value, replacer, space);
  return isUsed && text !== undefined ? text.replaceAll(marked, "$1") : text;
}

/** A JSON text whose large integers are marked strings. */
function withMarks(text: string): string {
  const parts: string[] = [];
  let from = 0;
  for (let at = 0; at < text.length;) {
    if (text[at] === '"') at = afterString(text, at);
    else if (isOfNumber(text.charCodeAt(at))) {
      const start = at;
      while (at < text.length && isOfNumber(text.charCodeAt(at))) at += 1;
      const number = text.slice(start, at);
      if (!integer.test(number) || Number.isSafeInteger(Number(number))) continue;
      parts.push(text.slice(from, start), `"${mark}${number}"`);
      from = at;
    } else at += 1;
  }
  parts.push(text.slice(from));
  return parts.join("");
}

function afterString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at + 1;
}

/** Digits, and what may stand between them: + - . E e. */
function isOfNumber(code: number): boolean {
  return (
    (code >= 0x30 && code <= 0x39) || code === 0x2b || code === 0x2d || code === 0x2e || code === 0x45 || code === 0x65
  );
}
