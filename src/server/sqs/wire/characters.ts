/** Any character a message may not contain; with the `u` flag half a surrogate pair counts as one. */
const illegal = /[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/u;
const everyIllegal = new RegExp(illegal, "gu");

/** Whether a text holds characters that SQS refuses, which are those that XML 1.0 cannot carry. */
export function hasIllegalCharacters(text: string): boolean {
  return illegal.test(text);
}

/** The text with every such character replaced, for an XML answer that must be read whatever is in it. */
export function replaceIllegalCharacters(text: string): string {
  return text.replace(everyIllegal, "\uFFFD");
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Bytes as text, or undefined if they are not UTF-8: replaced characters would be stored as if they had been sent. */
export function textOf(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}
