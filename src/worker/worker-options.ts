import { checkKeys } from "../db/encode.js";
import { InvalidArgumentError } from "../db/errors.js";
import { type Duration, durationMs, timerMs } from "../job/duration.js";

/** Options of `mill.worker`. */
export interface WorkerOptions {
  /** Queues to work on. Default `["default"]`. */
  readonly queues?: readonly string[];
  /** How many handlers may run at once in this worker. Default 10. */
  readonly concurrency?: number;
  /**
   * How many jobs may be held beyond the free slots, as a share of `concurrency`; `"auto"` follows the speed of the
   * handlers, up to `maxPrefetch`. Default `"auto"`.
   */
  readonly prefetch?: number | "auto";
  /** The most jobs `prefetch: "auto"` holds beyond the free slots. Default 2000. */
  readonly maxPrefetch?: number;
  /** Name shown in listings. Default host name and process id. */
  readonly name?: string;
  /**
   * How long a claim lives without a heartbeat. Default that of the job's type, its queue or the cell, else `"30s"`.
   */
  readonly lease?: Duration;
  /**
   * How often to look for jobs nobody told of. Unless it is below a second, a few workers do so for all, at the cost of
   * one transaction per second together; who cannot hear them looks by itself. Default `"1s"`.
   */
  readonly pollInterval?: Duration;
  /** How long running handlers may go on after `stop()` before their signal fires. Default `"30s"`. */
  readonly grace?: Duration;
  /**
   * Keep leases alive from a thread with its own connection, so that a busy event loop does not lose them. Default
   * true.
   */
  readonly heartbeatThread?: boolean;
  /** How long the event loop may stand still before its leases are no longer prolonged. Default `"60s"`. */
  readonly stallTimeout?: Duration;
  /** Do the upkeep any process may do for all: promote, reap, expire, give space back. Default true. */
  readonly maintenance?: boolean;
  /** Make the runs of schedules when their time comes; one of all processes that may does it. Default true. */
  readonly schedules?: boolean;
  /**
   * How often to measure how much waits in these queues, and for how long; only when the client has `metrics`. Default
   * `"15s"`.
   */
  readonly backlogInterval?: Duration;
  /** Stop gracefully on SIGTERM and SIGINT, at once on the second. Default false. */
  readonly handleSignals?: boolean;
}

export interface WorkerSettings {
  readonly queues: readonly string[];
  readonly concurrency: number;
  readonly prefetch: number | "auto";
  readonly maxPrefetch: number;
  readonly name: string;
  readonly leaseMs: number | undefined;
  readonly pollMs: number;
  readonly graceMs: number;
  readonly heartbeatThread: boolean;
  readonly stallMs: number;
  readonly maintenance: boolean;
  readonly schedules: boolean;
  readonly backlogMs: number;
  readonly handleSignals: boolean;
}

const keys = new Set<string>([
  "queues",
  "concurrency",
  "prefetch",
  "maxPrefetch",
  "name",
  "lease",
  "pollInterval",
  "grace",
  "heartbeatThread",
  "stallTimeout",
  "maintenance",
  "schedules",
  "backlogInterval",
  "handleSignals",
] satisfies (keyof WorkerOptions)[]);

export function checkWorkerOptions(options: WorkerOptions, defaultName: string): WorkerSettings {
  checkKeys(options, keys);
  const { queues = ["default"], concurrency = 10, prefetch = "auto", maxPrefetch = 2000 } = options;
  if (!Array.isArray(queues) || queues.length === 0)
    throw new InvalidArgumentError("a worker needs a queue", 'give queues: ["default"]');
  checkConcurrency(concurrency);
  if (prefetch !== "auto" && !(prefetch >= 0 && prefetch <= 1000))
    throw new InvalidArgumentError(`prefetch cannot be ${String(prefetch)}`, 'give a share such as 0.2, or "auto"');
  if (!Number.isInteger(maxPrefetch) || maxPrefetch < 0 || maxPrefetch > 9000)
    throw new InvalidArgumentError(`maxPrefetch cannot be ${maxPrefetch}`, "give 0 to 9000");
  const leaseMs = options.lease === undefined ? undefined : durationMs(options.lease, "lease");
  if (leaseMs !== undefined && leaseMs < 100)
    throw new InvalidArgumentError("a lease shorter than 100 ms cannot be kept", "give a second or more");
  const pollMs = timerMs(options.pollInterval ?? 1000, "pollInterval");
  if (pollMs < 1)
    throw new InvalidArgumentError(
      "a worker that polls without a pause never rests",
      "give pollInterval a millisecond or more",
    );
  const backlogMs = timerMs(options.backlogInterval ?? 15_000, "backlogInterval");
  if (backlogMs < 100)
    throw new InvalidArgumentError(
      "what waits cannot be measured more often than every 100 ms",
      "give backlogInterval a second or more",
    );
  return Object.freeze({
    queues,
    concurrency,
    prefetch,
    maxPrefetch,
    name: options.name ?? defaultName,
    leaseMs,
    pollMs,
    graceMs: timerMs(options.grace ?? 30_000, "grace"),
    heartbeatThread: options.heartbeatThread ?? true,
    stallMs: durationMs(options.stallTimeout ?? 60_000, "stallTimeout"),
    maintenance: options.maintenance ?? true,
    schedules: options.schedules ?? true,
    backlogMs,
    handleSignals: options.handleSignals ?? false,
  });
}

export function checkConcurrency(concurrency: number): void {
  if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > 9000) {
    throw new InvalidArgumentError(`concurrency cannot be ${concurrency}`, "give a whole number from 1 to 9000");
  }
}
