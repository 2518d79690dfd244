/** What bytes look like: by their content type, else by themselves. */
export function looksLike(piece: Uint8Array, contentType: string | null): "text" | "hex" | "picture" {
  if (/^image\/(png|jpeg|gif|webp|avif|bmp)/.test(contentType ?? "")) return "picture";
  if (/^text\/|json|xml|yaml|csv/.test(contentType ?? "")) return "text";
  const start = piece.subarray(0, 512);
  // A text has none of the bytes below space but tabs and line ends, and is UTF-8 (its last letter may be cut).
  if (start.some((byte) => byte < 9 || (byte > 13 && byte < 32))) return "hex";
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(start, { stream: true });
    return "text";
  } catch {
    return "hex";
  }
}

/** Sixteen bytes a line, with where they are and what they spell. */
export function hexDump(piece: Uint8Array, offset: number): string {
  const lines: string[] = [];
  for (let at = 0; at < piece.length; at += 16) {
    const row = [...piece.subarray(at, at + 16)];
    const hex = row.map((byte) => byte.toString(16).padStart(2, "0"));
    const letters = row.map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : "·")).join("");
    lines.push(
      `${(offset + at).toString(16).padStart(8, "0")}  ${hex.slice(0, 8).join(" ").padEnd(23)}  ${hex.slice(8).join(" ").padEnd(23)}  ${letters}`,
    );
  }
  return lines.join("\n");
}
