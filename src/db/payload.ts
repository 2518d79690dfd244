import { InvalidArgumentError } from "./errors.js";

/** Pieces of a payload have this many bytes, the last one fewer; sql/enqueue/payload_append.sql relies on it. */
export const pieceBytes = 1_048_576;

/** Cut a stream of bytes into pieces, holding at most one piece and one incoming chunk. */
export async function* payloadChunks(bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<Buffer> {
  let piece = Buffer.allocUnsafe(pieceBytes);
  let filled = 0;
  for await (const chunk of bytes) {
    for (let at = 0; at < chunk.length;) {
      const taken = Math.min(pieceBytes - filled, chunk.length - at);
      piece.set(chunk.subarray(at, at + taken), filled);
      filled += taken;
      at += taken;
      if (filled === pieceBytes) {
        yield piece;
        piece = Buffer.allocUnsafe(pieceBytes);
        filled = 0;
      }
    }
  }
  if (filled > 0) yield piece.subarray(0, filled);
}

/** A payload of so many bytes, at most a piece. What comes in one is not copied. */
export async function payloadWhole(
  bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  size: number,
): Promise<Uint8Array> {
  let whole: Uint8Array = new Uint8Array();
  let seen = 0;
  for await (const chunk of bytes) {
    if (seen + chunk.length > size) throw wrongLength(seen + chunk.length, size);
    if (chunk.length === size) whole = chunk;
    else {
      if (seen === 0) whole = Buffer.allocUnsafe(size);
      whole.set(chunk, seen);
    }
    seen += chunk.length;
  }
  if (seen !== size) throw wrongLength(seen, size);
  return whole;
}

/** A stream had more bytes than it was said to have, or ended before. */
export function wrongLength(seen: number, size: number): InvalidArgumentError {
  return new InvalidArgumentError(`the payload had ${seen} bytes, not ${size}`, "give its exact length");
}
