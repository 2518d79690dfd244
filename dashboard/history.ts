import { get } from "./api.js";
import type { History, Point } from "./wire.js";

/** What the sampler of the server remembers of a queue, or of all of them. */
export async function history(
  query: { queue?: string; seconds: number },
  signal?: AbortSignal,
): Promise<readonly Point[]> {
  const { points } = await get<History>("history", query, signal);
  return points.map((point) => ({ ...point, at: Date.parse(point.at) }));
}
