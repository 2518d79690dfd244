import type { JSX } from "preact";

type Tone = "ready" | "running" | "delayed" | "blocked" | "good" | "bad" | "warn" | "neutral";

const tones: Readonly<Record<string, Tone>> = {
  // Jobs
  ready: "ready",
  running: "running",
  delayed: "delayed",
  suspended: "delayed",
  blocked: "blocked",
  succeeded: "good",
  failed: "bad",
  expired: "warn",
  cancelled: "neutral",
  // Attempts
  lost: "warn",
  // Acts
  refused: "bad",
  // Workers
  idle: "neutral",
  busy: "running",
  stalled: "bad",
  draining: "warn",
  drained: "good",
  // Steps
  done: "good",
  timeout: "warn",
  tried: "warn",
  waits: "delayed",
  got: "ready",
  signal: "ready",
  started: "running",
  gone: "warn",
  // Queues
  active: "good",
  "no worker": "bad",
  paused: "warn",
  waiting: "delayed",
  closed: "neutral",
  finished: "neutral",
  // Cells
  member: "good",
  joining: "warn",
  known: "neutral",
  missing: "bad",
  // Breakers
  open: "bad",
  "half-open": "warn",
  // Schedules
  healthy: "good",
  failing: "bad",
  stopped: "bad",
  // Alerts
  firing: "bad",
  fired: "bad",
  pending: "warn",
  resolved: "good",
  silenced: "neutral",
  on: "good",
  off: "neutral",
  // Findings
  ok: "good",
  wrong: "bad",
  skipped: "neutral",
};

/** The class that gives something the colour of a state. */
export const toneOf = (state: string): string => `tone-${tones[state] ?? "neutral"}`;

/** A state, in its colour and in words. */
export function Badge({ state, title }: { state: string; title?: string | null }): JSX.Element {
  return (
    <span class={`badge ${toneOf(state)}`} title={title ?? undefined}>
      {state}
    </span>
  );
}
