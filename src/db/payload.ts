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
