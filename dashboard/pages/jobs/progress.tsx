import type { JSX } from "preact";
import { percent } from "../../format.js";
import { JsonTree } from "../../parts/json-tree.js";
import { Panel } from "../../parts/panel.js";
import { Share } from "../../parts/share.js";
import type { Json } from "../../wire.js";

/** What the handler last said of how far it is: a share of one as a bar, everything else as it is. */
export function Progress({ of }: { of: Json }): JSX.Element {
  const share = shareOf(of);
  return (
    <Panel title="Progress">
      {share !== null && <Share of={Math.min(0.999, share)} text={percent(share)} />}
      {typeof of === "string" ? <p>{of}</p> : (typeof of !== "number" || share === null) && <JsonTree value={of} />}
    </Panel>
  );
}

/**
 * How far it is, where it says so: `0.4`, `{ done: 40, total: 100 }`, `{ percent: 40 }`. What is no part of a whole is
 * none.
 */
export function shareOf(progress: Json): number | null {
  const share = saidShareOf(progress);
  return share !== null && share >= 0 && share <= 1 ? share : null;
}

function saidShareOf(progress: Json): number | null {
  if (typeof progress === "number") return progress > 1 ? progress / 100 : progress;
  if (progress === null || typeof progress !== "object") return null;
  const { done, total, percent } = progress as { done?: Json; total?: Json; percent?: Json };
  if (typeof done === "number" && typeof total === "number" && total > 0) return done / total;
  return typeof percent === "number" ? percent / 100 : null;
}

/** In a few words, for a list. */
export function progressText(progress: Json): string {
  const share = shareOf(progress);
  if (share !== null) return percent(share);
  const text = typeof progress === "string" ? progress : JSON.stringify(progress);
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
