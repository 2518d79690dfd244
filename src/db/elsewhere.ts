import type { CallOptions } from "./foreign.js";
import type { Statements } from "./statements.js";
import type { Enqueued } from "./types.js";

/**
 * What was enqueued, with handles for duplicates of jobs that have ended in the cell that their queue came from
 * (`fingerprints_bring`): those have negative ids here.
 */
export async function withCellsOf(
  db: Statements,
  enqueued: readonly Enqueued[],
  call: CallOptions | undefined,
): Promise<Enqueued[]> {
  const elsewhere = enqueued.map(({ id }) => id).filter((id) => id.startsWith("-"));
  if (elsewhere.length === 0) return [...enqueued];
  const text = "select :fingerprint_cells($1::bigint[]) as value";
  const cells = await db.value<Record<string, string>>("fingerprint_cells", text, [elsewhere], call);
  return enqueued.map((one) => (one.id in cells ? { ...one, id: `${cells[one.id]}:${one.id.slice(1)}` } : one));
}
