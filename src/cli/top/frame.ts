import { count, duration, oneLine } from "../format.js";
import type { Output } from "../output.js";
import { queueCells, queueColumns } from "../queue-columns.js";
import { textTable } from "../text-table.js";
import type { RunningJob, Sample, SampledQueue } from "./sampler.js";

/** What `millrace top` shows at one moment. */
export interface Frame {
  readonly at: Date;
  readonly queues: readonly QueueLine[];
  readonly running: readonly RunningJob[];
}

interface QueueLine extends SampledQueue {
  /** Jobs that went, each second; null while there is nothing to compare with. */
  readonly outPerSecond: number | null;
}

/** Two samples make rates: what went is what came, less what the queue has grown by. */
export function makeFrame(now: Sample, before: Sample | undefined): Frame {
  const seconds = before ? Math.max(0.001, (now.at.getTime() - before.at.getTime()) / 1000) : 0;
  return {
    at: now.at,
    running: now.running,
    queues: now.queues.map((queue) => {
      const earlier = before?.queues.find(({ name }) => name === queue.name);
      if (!earlier || queue.inPerSecond === null) return { ...queue, inPerSecond: null, outPerSecond: null };
      const growth = (total(queue) - total(earlier)) / seconds;
      return {
        ...queue,
        inPerSecond: round(queue.inPerSecond),
        outPerSecond: round(Math.max(0, queue.inPerSecond - growth)),
      };
    }),
  };
}

const total = (queue: { waiting: number; delayed: number; running: number }): number =>
  queue.waiting + queue.delayed + queue.running;
const round = (n: number): number => Math.round(n * 10) / 10;
const rate = (n: number | null): string =>
  n === null ? "–" : n >= 10 || n === 0 ? count(Math.round(n)) : n.toFixed(1);

/** A frame as lines, at most `height` of them. */
export function frameLines(frame: Frame, title: string, out: Output, height: number): string[] {
  const room = Math.max(4, height - 5);
  const queues = frame.queues
    .toSorted((a, b) => total(b) - total(a))
    .slice(0, Math.max(1, Math.min(frame.queues.length, Math.floor(room / 2))));
  const running = frame.running.slice(0, Math.max(1, room - queues.length));
  const [queueTitles, ...queueLines] = queueTable(queues, out.width);
  const [runningTitles, ...runningLines] = runningTable(running, out.width);
  return [
    oneLine(title, out.width),
    "",
    out.style("bold", queueTitles!),
    ...queueLines.map((line, i) => (queues[i]?.state === "paused" ? out.style("yellow", line) : line)),
    "",
    ...(running.length === 0 ? ["nothing runs"] : [out.style("bold", runningTitles!), ...runningLines]),
  ];
}

function queueTable(queues: readonly QueueLine[], width: number): string[] {
  return textTable(
    [...queueColumns, { title: "IN/S", align: "right" }, { title: "OUT/S", align: "right" }],
    queues.map((queue) => [...queueCells(queue), rate(queue.inPerSecond), rate(queue.outPerSecond)]),
    width,
  );
}

function runningTable(jobs: readonly RunningJob[], width: number): string[] {
  return textTable(
    [
      { title: "JOB" },
      { title: "TYPE" },
      { title: "QUEUE" },
      { title: "ATTEMPT", align: "right" },
      { title: "ELAPSED", align: "right" },
      { title: "WORKER" },
      { title: "PROGRESS" },
    ],
    jobs.map((job) => [
      job.id,
      job.type,
      job.queue,
      String(job.attempt),
      duration(job.elapsedMs),
      job.worker ?? "",
      [job.leaseEnded ? "lease ended" : "", job.progress === null ? "" : JSON.stringify(job.progress)]
        .filter(Boolean)
        .join(" "),
    ]),
    width,
  );
}
