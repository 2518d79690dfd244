/** The messages of PostgreSQL's protocol in some bytes, and the rest of one that has not arrived yet. */
export function cut(bytes: Buffer): { messages: Buffer[]; rest: Buffer } {
  const messages = [];
  let at = 0;
  while (bytes.length - at >= 5) {
    const end = at + 1 + bytes.readInt32BE(at + 1);
    if (end > bytes.length) break;
    messages.push(bytes.subarray(at, end));
    at = end;
  }
  return { messages, rest: bytes.subarray(at) };
}

export const kindOf = (message: Buffer): string => String.fromCodePoint(message[0]!);

/** The server says that it is ready, and in no transaction. */
export const isOutside = (message: Buffer): boolean =>
  kindOf(message) === "Z" && String.fromCodePoint(message[5]!) === "I";
