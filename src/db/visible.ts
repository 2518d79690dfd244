// Controls of terminals (C0, DEL, C1), what changes the direction of writing, and what takes no room: all that can make
// a text look like another. The two joiners stay, because scripts and emoji need them.
const hidden =
  /[\p{Cc}\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/**
 * Text from anywhere, for a terminal or a log: control characters are shown as JSON would write them, so that they do
 * nothing.
 */
export function visible(text: string): string {
  return text.replaceAll(hidden, escaped);
}

/** The same for text of several lines. */
export function visibleLines(text: string): string {
  return text.replaceAll(hidden, (character) =>
    character === "\n" || character === "\t" ? character : escaped(character),
  );
}

const short: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

function escaped(character: string): string {
  return (
    short[character] ??
    Array.from(
      { length: character.length },
      (_, i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, "0")}`,
    ).join("")
  );
}
