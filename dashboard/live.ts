/** What happens now: one stream for the whole page, closed while nobody looks. */
import { batch, computed, effect, signal } from "@preact/signals";
import { isSignedOut, request, signInReason } from "./api.js";
import { heardTime } from "./clock.js";
import { history } from "./history.js";
import type { Overview, Point, QueueSample, Sample } from "./wire.js";

/** As many seconds as the sampler of the server keeps at full pace. */
const keptSeconds = 600;
/** Of each queue less: its sparklines are small. */
const keptOfQueue = 60;
const longestWaitMs = 30_000;
/** The server says something at least every two seconds, if only that its database does not answer. */
const silenceMs = 15_000;

export const connection = signal<"connecting" | "live" | "paused" | "blind" | "lost">("connecting");
export const overview = signal<Overview | null>(null);
/** Numbers that are shown are of before: the stream does not tell whether they still hold. */
export const isStale = computed(() => connection.value !== "live" && overview.value !== null);
/** Of all queues together, oldest first. */
export const recent = signal<readonly Point[]>([]);
/** The newest of each queue. */
export const queueSamples = signal<ReadonlyMap<string, QueueSample>>(new Map());

const trails = new Map<string, QueueSample[]>();

/** What a queue did in the last minute, oldest first. */
export function trailOf(queue: string): readonly QueueSample[] {
  // Subscribes whoever draws it.
  void queueSamples.value;
  return trails.get(queue) ?? [];
}

function take({ overview: next, queues }: Sample): void {
  heardTime(next.at);
  const { ready, blocked, delayed, suspended, running, oldestReadySeconds, rates, latency } = next;
  const at = Date.parse(next.at);
  const point: Point = {
    at,
    waiting: ready + blocked,
    ready,
    blocked,
    delayed,
    suspended,
    running,
    oldestReadySeconds,
    in: rates.enqueuedPerSecond,
    out: rates.finishedPerSecond,
    failed: rates.failedPerSecond,
    ...latency,
  };
  const newest = new Map(queues.map((line) => [line.queue, line]));
  for (const [name, line] of newest) trails.set(name, [...(trails.get(name) ?? []).slice(1 - keptOfQueue), line]);
  for (const name of trails.keys()) if (!newest.has(name)) trails.delete(name);
  batch(() => {
    recent.value = [...recent.value.filter((one) => one.at > at - keptSeconds * 1000 && one.at < at), point];
    queueSamples.value = newest;
    overview.value = next;
    connection.value = "live";
  });
}

/** The texts of an event stream, one after another. */
async function* events(body: ReadableStream<Uint8Array>): AsyncGenerator<{ event: string; data: string }> {
  const reader = body.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value.replaceAll("\r\n", "\n")).split("\n\n");
    rest = parts.pop()!;
    for (const part of parts) {
      const lines = part.split("\n");
      const of = (field: string) =>
        lines
          .filter((line) => line.startsWith(`${field}:`))
          .map((line) => line.slice(field.length + 1).replace(/^ /, ""));
      yield { event: of("event")[0] ?? "message", data: of("data").join("\n") };
    }
  }
}

/** Resolves when the stream has ended: true when it may be asked for again at once. */
async function listen(signal: AbortSignal): Promise<boolean> {
  const silent = new AbortController();
  const either = AbortSignal.any([signal, silent.signal]);
  let alarm = setTimeout(() => silent.abort(), silenceMs);
  try {
    const response = await request("GET", "live", { signal: either, headers: { accept: "text/event-stream" } });
    for await (const { event, data } of events(response.body!)) {
      if (event === "message") continue; // only keeps the connection open
      clearTimeout(alarm);
      alarm = setTimeout(() => silent.abort(), silenceMs);
      if (event === "sample") take(JSON.parse(data) as Sample);
      else if (event === "blind") connection.value = "blind";
      else if (event === "again") return true;
    }
    return false;
  } finally {
    clearTimeout(alarm);
  }
}

/** What happened before the page was opened, or while it was hidden. */
async function catchUp(signal: AbortSignal): Promise<void> {
  const points = await history({ seconds: keptSeconds }, signal);
  const newest = points.at(-1)?.at ?? 0;
  recent.value = [...points, ...recent.value.filter(({ at }) => at > newest)];
}

async function stayTuned(signal: AbortSignal): Promise<void> {
  for (let failures = 0; !signal.aborted; failures += 1) {
    const began = Date.now();
    try {
      await catchUp(signal).catch(() => {});
      if (await listen(signal)) {
        failures = -1;
        continue;
      }
    } catch {
      // Told by the light in the corner; the next try follows.
    }
    if (signal.aborted) return;
    if (Date.now() - began > longestWaitMs) failures = 0;
    connection.value = "lost";
    const waitMs = Math.min(longestWaitMs, 500 * 2 ** failures) * (0.5 + Math.random() / 2);
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, waitMs);
      signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
    });
  }
}

/** Listen while the tab is seen and the server lets us in. */
export function startLive(): void {
  const hidden = signal(document.hidden);
  document.addEventListener("visibilitychange", () => (hidden.value = document.hidden));
  effect(() => {
    if (hidden.value || signInReason.value !== null || isSignedOut.value) {
      connection.value = "paused";
      return;
    }
    connection.value = "connecting";
    const ending = new AbortController();
    void stayTuned(ending.signal);
    return () => ending.abort();
  });
}
