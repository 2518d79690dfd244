import { get } from "./api.js";
import type { History, Point } from "./wire.js";

/** What is remembered of a queue, of a type of it, or of all of them. */
export async function history(
  query: { queue?: string; type?: string; seconds: number },
  signal?: AbortSignal,
): Promise<readonly Point[]> {
  const { points } = await get<History>("history", query, signal);
  return points.map((point) => ({ ...point, at: Date.parse(point.at) }));
}
