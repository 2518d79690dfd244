import type { JSX } from "preact";
import { toneOf } from "./badge.js";

/** A shape for each state of a job, for eyes that do not tell its colour. */
const shapes: Readonly<Record<string, string>> = {
  succeeded: "M4 13l5 5L20 6",
  failed: "M5 5l14 14M19 5 5 19",
  expired: "M6 3h12M6 21h12M7 3c0 6 10 12 10 18M17 3c0 6-10 12-10 18",
  cancelled: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM5.6 18.4 18.4 5.6",
  running: "M7 4l12 8-12 8z",
  ready: "M12 19a7 7 0 1 0 0-14 7 7 0 0 0 0 14z",
  delayed: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 7v5l4 2",
  suspended: "M8 5v14M16 5v14",
  blocked: "M5 5h14v14H5z",
};

/** The shape of a state, in its colour; the word stands beside it. */
export function StateMark({ state, size = 13 }: { state: string; size?: number }): JSX.Element {
  return (
    <svg
      class={`mark ${toneOf(state)}`}
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill={state === "running" ? "currentColor" : "none"}
      stroke="currentColor"
      stroke-width="3"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      <path d={shapes[state] ?? shapes["ready"]} />
    </svg>
  );
}
