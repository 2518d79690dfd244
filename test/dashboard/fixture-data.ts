/**
 * Three worlds to look at: nothing, a usual day, and far too much of everything. Always the same: nothing here is
 * random but by its seed.
 */
import type {
  Attempt,
  AuditEntry,
  Breaker,
  Child,
  EventOfQueue,
  EventOfSchedule,
  Failure,
  Finding,
  FlowGraph,
  Group,
  Job,
  JobDetails,
  JobState,
  Json,
  Limit,
  List,
  Log,
  Pause,
  Process,
  Queue,
  QueueSample,
  Reason,
  Run,
  RunningJob,
  Schedule,
  ScheduleRun,
  Stage,
  TypeOfQueue,
  Worker,
} from "../../dashboard/wire.js";
import { flowJobs, flowOf } from "./fixture-flows.js";
import { childrenOf, runAt, runOf, stepsOf } from "./fixture-runs.js";

export type Size = "empty" | "normal" | "huge";

/** What tries to become code wherever a text is shown. */
export const hostile = `<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>"'\`\${window.pwned=1}javascript:window.pwned=1`;

/** What turns around what stands beside it, hides, or breaks lines. */
export const turned = "invoice\u202Egnp.exe \u2066\u200Bשלום\u0000\r\n\tend";
/** A name of ten thousand letters without a place to break. */
export const endless = `name-${"n".repeat(10_000)}`;

export interface World {
  readonly queues: readonly Queue[];
  readonly samples: (tick: number) => readonly QueueSample[];
  readonly jobs: readonly Job[];
  readonly details: (id: string) => JobDetails | undefined;
  readonly steps: (id: string, query: URLSearchParams) => Run | undefined;
  readonly children: (id: string) => List<Child> | undefined;
  readonly flow: (id: string) => FlowGraph | undefined;
  readonly payload: (id: string) => Buffer | undefined;
  readonly why: (queue: string) => readonly Reason[];
  readonly jobWhy: (id: string) => readonly Reason[] | undefined;
  readonly types: readonly TypeOfQueue[];
  readonly groups: readonly Group[];
  readonly events: readonly EventOfQueue[];
  readonly stages: readonly Stage[];
  readonly pauses: readonly Pause[];
  readonly failures: readonly Failure[];
  readonly schedules: readonly Schedule[];
  readonly runs: readonly ScheduleRun[];
  readonly scheduleEvents: readonly EventOfSchedule[];
  readonly workers: readonly Worker[];
  readonly processes: readonly Process[];
  readonly running: readonly RunningJob[];
  readonly limits: readonly Limit[];
  readonly breakers: readonly Breaker[];
  readonly findings: readonly Finding[];
  readonly log: (id: string) => Log | undefined;
  readonly names: (kind: string, part: string) => readonly string[];
  readonly audit: readonly AuditEntry[];
}

const beganAt = Date.now();
const ago = (seconds: number): string => new Date(beganAt - seconds * 1000).toISOString();

/** A number from 0 to 1 that depends on its seed only. */
function chance(seed: number): number {
  const x = Math.sin(seed * 12.9898) * 43_758.5453;
  return x - Math.floor(x);
}

const usualQueues = [
  "default",
  "mail",
  "images",
  "import",
  "billing",
  "search-index",
  "webhooks",
  "reports",
  "mail-dead",
];
const types = [
  "send-mail",
  "resize-image",
  "import-file",
  "charge-card",
  "index-document",
  "call-webhook",
  "make-report",
  "sync-account",
];
const tenants = ["acme", "globex", "initech", "umbrella", "hooli", "stark", "wayne", "wonka"];
const long = (word: string): string => `${word}-${"very-".repeat(30)}long`;

export function makeWorld(size: Size): World {
  const names =
    size === "empty"
      ? []
      : size === "normal"
        ? usualQueues
        : [
            ...usualQueues,
            hostile,
            turned,
            endless,
            long("queue"),
            ...Array.from({ length: 1500 }, (_, n) => `tenant-${String(n).padStart(4, "0")}`),
          ];
  const jobs = size === "empty" ? [] : makeJobs(size, names);
  const scale = size === "huge" ? 1_000_000 : 1;
  return {
    queues: names.map((name) => makeQueue(name)),
    samples: (tick) => names.map((name, n) => sampleOf(name, n, tick, scale)),
    jobs,
    details: (id) => detailsOf(jobs, id, size),
    steps: (id, query) => stepsOf(jobs, id, query, size === "huge" ? hostile : null),
    children: (id) => childrenOf(jobs, id),
    flow: (id) => flowOf(id, size === "huge" ? hostile : null),
    payload: (id) => payloadOf(jobs.find((job) => job.id === id)),
    why: (queue) => (size === "empty" ? [] : makeWhy(queue, size)),
    jobWhy: (id) => {
      const job = jobs.find((one) => one.id === id);
      return job && makeJobWhy(job);
    },
    types:
      size === "empty"
        ? []
        : (size === "huge" ? [...types, hostile, ...Array.from({ length: 400 }, (_, n) => `type-${n}`)] : types).map(
            (type, n) => ({
              type,
              ...waitingOf(Math.round(chance(n) * 900 * scale), n % 3 === 0 ? 1 : 0),
              delayed: n * 3,
              running: n % 4,
              oldestAgeSeconds: n * 11,
            }),
          ),
    groups: size === "empty" ? [] : makeGroups(size),
    events: size === "empty" ? [] : makeEvents(size),
    stages: size === "empty" ? [] : [{ queue: "mail", stage: "approval", jobs: 42 * scale, since: ago(4000) }],
    pauses:
      size === "empty"
        ? []
        : [
            {
              queue: "webhooks",
              type: null,
              group: null,
              pausedAt: ago(900),
              pausedBy: "ann",
              pausedBecause: "the customer's endpoint is being moved",
              jobId: null,
            },
            ...partPauses(size),
          ],
    failures: size === "empty" ? [] : makeFailures(size),
    schedules: size === "empty" ? [] : makeSchedules(size),
    runs: size === "empty" ? [] : Array.from({ length: size === "huge" ? 2000 : 12 }, (_, n) => makeRun(n)),
    scheduleEvents:
      size === "empty"
        ? []
        : [
            {
              id: "1",
              at: ago(86_400),
              schedule: "nightly-report",
              event: "created",
              slotAt: null,
              slots: null,
              by: "deploy",
              because: null,
            },
          ],
    workers:
      size === "empty"
        ? []
        : Array.from({ length: size === "huge" ? 400 : 4 }, (_, n) => ({
            name: `worker-${n}.eu.example:${4000 + n}`,
            host: `worker-${n}.eu.example`,
            held: 6,
            running: 4,
            types: types.slice(n % 3, (n % 3) + 2),
            queues: ["mail", "images"],
            since: ago(10 + n),
          })),
    processes:
      size === "empty"
        ? []
        : Array.from({ length: size === "huge" ? 400 : 5 }, (_, n) => ({
            id: `worker-${n}.eu.example:${4000 + n}:0b7c`,
            host: `worker-${n}.eu.example`,
            pid: 4000 + n,
            release: n % 2 === 0 ? "2026.11.2" : null,
            workers: [
              {
                name: size === "huge" && n === 1 ? hostile : n === 0 ? "mailer" : `worker-${n}.eu.example:${4000 + n}`,
                queues: ["mail", "images"],
                types: n % 4 === 3 ? null : types.slice(n % 3, (n % 3) + 2),
                concurrency: 10 + n,
                running: n % 4 === 1 ? 4 : 0,
                ...(n === 0 ? { held: "paused" as const } : n === 4 ? { held: "drained" as const } : {}),
              },
            ],
            state: (["idle", "busy", "stalled", "lost"] as const)[n % 4]!,
            running: n % 4 === 1 ? 4 : 0,
            memoryBytes: 120_000_000 + n * 7_000_000,
            stalledSeconds: n % 4 === 2 ? 14 : 0,
            orders:
              n === 0 || n === 4
                ? [
                    {
                      process: n === 4 ? `worker-${n}.eu.example:${4000 + n}:0b7c` : null,
                      worker: n === 0 ? "mailer" : null,
                      hold: n === 0 ? ("pause" as const) : ("drain" as const),
                      concurrency: null,
                      at: ago(300),
                      by: "ann",
                      because: n === 0 ? "the provider is down" : null,
                    },
                  ]
                : [],
            startedAt: ago(86_400),
            seenAt: ago(n % 4 === 3 ? 400 : n % 9),
            expectedAt: ago(n % 4 === 3 ? 375 : -20),
          })),
    running: jobs
      .filter(({ state }) => state === "running")
      .map((job, n) => ({
        id: job.id,
        queue: job.queue,
        type: job.type,
        priority: 5,
        attempt: job.attempts,
        worker: job.worker,
        startedAt: ago(n * 3),
        elapsedSeconds: n * 3,
        leaseEndsAt: ago(-20),
        isStarted: n % 5 !== 0,
        progress: n % 2 === 0 ? { done: n * 7, total: 100 } : null,
      })),
    limits: size === "empty" ? [] : makeLimits(size),
    breakers:
      size === "empty"
        ? []
        : [
            {
              queue: "webhooks",
              type: "call-webhook",
              state: "open",
              failures: null,
              opensAt: 5,
              openedAt: ago(20),
              openUntil: ago(-10),
              pauseSeconds: 30,
              failedAt: ago(20),
              lastError: {
                message: size === "huge" ? hostile : "connect ECONNREFUSED 10.0.0.7:443",
                code: "ECONNREFUSED",
              },
            },
            ...(["half-open", "closed"] as const).map((state, n) => ({
              queue: "billing",
              type: size === "huge" && n === 0 ? endless : types[n + 3]!,
              state,
              failures: state === "closed" ? 3 : null,
              opensAt: 5,
              openedAt: state === "closed" ? null : ago(200),
              openUntil: state === "closed" ? null : ago(2),
              pauseSeconds: state === "closed" ? null : 60,
              failedAt: ago(30 + n),
              lastError: { message: size === "huge" ? turned : "the card issuer does not answer" },
            })),
          ],
    findings: makeFindings(size),
    log: (id) => {
      const job = jobs.find((one) => one.id === id);
      if (!job) return undefined;
      const line = (n: number) =>
        `${ago(40 - n)} ${size === "huge" && n % 5 === 0 ? hostile : `resized uploads/${n}.png to 640 × 480`}`;
      return {
        isRunning: job.state === "running",
        lines: Array.from({ length: 40 }, (_, n) => line(n)),
        updatedAt: ago(1),
      };
    },
    names: (kind, part) =>
      ({
        queue: names,
        type:
          size === "empty" ? [] : [...types, "render-video", ...(size === "huge" ? [hostile, turned, endless] : [])],
        group: size === "empty" ? [] : tenants,
        tenant: [],
      })[kind]
        ?.filter((name) => name.includes(part))
        .slice(0, 20) ?? [],
    audit: size === "empty" ? [] : makeAudit(size),
  };
}

/** A type, a group, and both of one. */
function partPauses(size: Size): Pause[] {
  const part = { pausedAt: ago(300), pausedBy: "bob", jobId: null };
  return [
    { ...part, queue: "mail", type: "send-mail", group: null, pausedBecause: "the template is wrong" },
    { ...part, queue: "mail", type: null, group: size === "huge" ? endless : "acme", pausedBecause: null },
    {
      ...part,
      queue: "billing",
      type: "charge-card",
      group: size === "huge" ? turned : "hooli",
      pausedBecause: "fraud?",
    },
  ];
}

function makeAudit(size: Size): AuditEntry[] {
  const some: Pick<AuditEntry, "action" | "object" | "count" | "because" | "before" | "after">[] = [
    {
      action: "PUT /queues/{queue}",
      object: "queue billing",
      count: null,
      because: null,
      before: { maxRunning: 25, rate: null },
      after: { maxRunning: 10, rate: { perSecond: 25 } },
    },
    ...[1000, 1000, 420].map((jobs) => ({
      action: "POST /jobs/retry",
      object: 'jobs {"state":"failed","type":"send-mail"}',
      count: jobs,
      because: "the provider is back",
      before: null,
      after: null,
    })),
    {
      action: "POST /queues/{queue}/pause",
      object: "queue mail, group acme",
      count: null,
      because: "they asked us to wait",
      before: {},
      after: { pausedParts: [{ group: "acme" }] },
    },
    {
      action: "PUT /schedules/{name}",
      object: "schedule nightly-report",
      count: null,
      because: null,
      before: { rule: { cron: "0 2 * * *" } },
      after: { rule: { cron: "0 3 * * *", tz: "Europe/Berlin" } },
    },
    {
      action: "POST /jobs/{id}/cancel",
      object: `job ${idOf(7)}`,
      count: 1,
      because: "sent twice",
      before: null,
      after: null,
    },
    {
      action: "POST /queues/{queue}/purge",
      object: "queue reports",
      count: null,
      because: null,
      before: null,
      after: null,
    },
  ];
  return Array.from({ length: size === "huge" ? 100 : some.length }, (_, n) => {
    const entry = some[n % some.length]!;
    return {
      id: String(1000 - n),
      at: ago(n * 600 + 30),
      who: size === "huge" ? [hostile, turned, endless][n % 3]! : n % 4 === 3 ? "bob" : "ann",
      address: "10.0.0.4",
      requestId: "0e5c3a52-8d0b-4d5e-9f6b-0a2d5a2b7c11",
      result: n % some.length === some.length - 1 ? "MR014" : "done",
      ...entry,
      ...(size === "huge" && {
        because: n % 3 === 1 ? turned : hostile,
        object: n % 5 === 0 ? `queue ${endless}` : entry.object,
        before: { [hostile]: turned },
        after: { [hostile]: endless },
      }),
    };
  });
}

function makeQueue(name: string): Queue {
  const isPaused = name === "webhooks";
  const isClosed = name === "import";
  return {
    name,
    state: isPaused ? "paused" : isClosed ? "closed" : name === "reports" ? "waiting" : "active",
    options:
      name === "billing"
        ? { maxRunning: 10, rate: { perSecond: 25 }, ordered: true }
        : name === "mail"
          ? { groupMaxRunning: 3, maxDepth: 100_000 }
          : name === "search-index"
            ? { ordered: "batches" }
            : {},
    pausedAt: isPaused ? ago(900) : null,
    pausedBy: isPaused ? "ann" : null,
    pausedBecause: isPaused ? "the customer's endpoint is being moved" : null,
    createdAt: ago(864_000),
    waiting: 120,
    ready: isPaused || name === "reports" ? 0 : 90,
    blocked: isPaused || name === "reports" ? 120 : 30,
    delayed: 8,
    running: 4,
    staged: 0,
    suspended: 3,
    waitsFor: name === "reports" ? ["import"] : [],
    closedAt: isClosed ? ago(4000) : null,
    closedBy: isClosed ? "ann" : null,
    closedBecause: isClosed ? "all files are in" : null,
    finishedAt: null,
    pauses: [],
  };
}

/** Waves, so that lines look like lines. */
function sampleOf(queue: string, n: number, tick: number, scale: number): QueueSample {
  const wave = (speed: number, shift: number): number => 0.5 + 0.5 * Math.sin(tick / speed + shift);
  const flow = Math.max(0, 40 * chance(n + 1) * (0.6 + 0.4 * wave(23, n)) + 6 * chance(tick * 31 + n));
  const state =
    queue === "webhooks" ? "paused" : queue === "import" ? "closed" : queue === "reports" ? "waiting" : "active";
  const stands = state === "paused" || state === "waiting";
  return {
    queue,
    state,
    ready: stands ? 0 : Math.round(300 * chance(n + 9) * wave(47, n) * scale),
    blocked: stands ? Math.round((800 + tick) * scale) : queue === "mail" ? 3600 : 0,
    delayed: Math.round(60 * chance(n + 5) * scale),
    suspended: Math.round(20 * chance(n + 5) * scale),
    running: stands ? 0 : Math.round(12 * wave(13, n)),
    oldestReadySeconds: stands ? null : chance(n + 3) * 8 * wave(31, n) * (scale > 1 ? 9000 : 1),
    in: flow,
    out: stands ? 0 : Math.max(0, flow + 4 * (wave(9, n * 2) - 0.5)),
    failed: queue === "webhooks" ? 0 : flow * 0.02 * wave(17, n),
  };
}

const states: readonly JobState[] = [
  "ready",
  "running",
  "succeeded",
  "failed",
  "delayed",
  "succeeded",
  "expired",
  "cancelled",
  "blocked",
  "succeeded",
];

const idOf = (n: number): string => String(7_419_230_000_000_000_000n - BigInt(n) * 1_048_576n);

function makeJobs(size: Size, queues: readonly string[]): Job[] {
  const jobs = Array.from({ length: size === "huge" ? 1000 : 120 }, (_, n) => {
    const state = n === runAt ? "suspended" : states[n % states.length]!;
    const isEnd = ["succeeded", "failed", "expired", "cancelled"].includes(state);
    const isHostile = size === "huge" && n % 7 === 3;
    const attempts = ["ready", "delayed", "blocked", "cancelled"].includes(state) ? 0 : state === "failed" ? 3 : 1;
    return {
      id: idOf(n),
      queue: queues[n % Math.min(queues.length, 11)]!,
      type: isHostile ? hostile : size === "huge" && n % 11 === 0 ? long("type") : types[n % types.length]!,
      state,
      reason: state === "failed" ? "exhausted" : null,
      priority: 5,
      group: isHostile ? hostile : tenants[n % tenants.length]!,
      tenant: null,
      attempts,
      maxAttempts: n % 13 === 0 ? "unlimited" : 25,
      createdAt: ago(n * 37 + 5),
      updatedAt: ago(n * 37),
      runAt: state === "delayed" ? ago(-n * 60) : ago(n * 37 + 5),
      expiresAt: null,
      deadline: null,
      lastAttemptAt: attempts > 0 ? ago(n * 37 + 3) : null,
      finishedAt: isEnd ? ago(n * 37) : null,
      worker: state === "running" ? `worker-${n % 4}.eu.example:${4000 + (n % 4)}` : null,
      leaseEndsAt: state === "running" ? ago(-22) : null,
      leaseEnded: false,
      discardedAt: null,
      lastError:
        state === "failed" || state === "expired"
          ? {
              message: isHostile ? hostile : `connect ETIMEDOUT 10.0.0.${n % 200}:443`,
              code: "ETIMEDOUT",
              name: "Error",
            }
          : null,
      result: state === "succeeded" ? { width: 640, height: 480 } : null,
      attemptTimeoutSeconds: 120,
      retry: null,
      fingerprint: n % 4 === 0 ? `fp-${n}` : null,
      schedule: n % 10 === 6 ? "nightly-report" : null,
      scheduleSlot: n % 10 === 6 ? ago(3600) : null,
      source: null,
      headers: n % 5 === 0 ? { traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" } : null,
      input: inputOf(n, size, isHostile),
      payloadSize: payloadSizes[n % 10] ?? null,
      contentType: payloadTypes[n % 10] ?? null,
      stage: null,
      cost: 1,
      resources: n % 7 === 0 ? { gpu: 1 } : null,
      ...runOf(n, idOf, ago(7200)),
    } satisfies Job;
  });
  // A bad night: ten thousand that failed alike, older than all of the others.
  const failed = jobs.find(({ state }) => state === "failed")!;
  const night = Array.from({ length: size === "huge" ? 10_000 : 0 }, (_, n) => ({
    ...failed,
    id: idOf(100_000 + n),
    type: n === 0 ? endless : n === 1 ? turned : "charge-card",
    group: n === 2 ? endless : failed.group,
    lastError: { message: n === 3 ? endless : n === 4 ? turned : `the card of account ${n} was refused` },
    createdAt: ago(40_000 + n),
  }));
  return [...jobs, ...flowJobs(jobs[0]!), ...night];
}

const payloadTypes: Readonly<Record<number, string>> = {
  2: "image/png",
  4: "application/octet-stream",
  5: "text/html",
};
const payloadSizes: Readonly<Record<number, number>> = { 2: 68, 4: 40_000, 5: 140 };

function inputOf(n: number, size: Size, isHostile: boolean): Json {
  if (isHostile) return { [hostile]: hostile, list: [hostile, { deeper: { and: { deeper: hostile } } }] };
  if (size === "huge" && n === 0)
    return {
      rows: Array.from({ length: 20_000 }, (_, row) => ({ row, text: "x".repeat(20) })),
      text: "y".repeat(300_000),
    };
  return {
    key: `uploads/${n}.png`,
    sizes: [64, 256, 1024],
    options: { quality: 0.8, strip: true },
    requestedBy: "ann@example.com",
  };
}

function payloadOf(job: Job | undefined): Buffer | undefined {
  if (!job || job.payloadSize === null) return undefined;
  if (job.contentType === "image/png")
    return Buffer.from(
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
      "base64",
    ).subarray(0, 68);
  if (job.contentType === "text/html") return Buffer.from(`<h1>hello</h1>${hostile}`.padEnd(140).slice(0, 140));
  return Buffer.from(Array.from({ length: job.payloadSize }, (_, at) => (at * 7) % 256));
}

/** Errors as SQL may report them: of any kind. */
const oddErrors = ["just text", 42, [1, "two", null], {}, false, { message: 5, stack: [] }] as unknown as NonNullable<
  Attempt["error"]
>[];

function detailsOf(jobs: readonly Job[], id: string, size: Size): JobDetails | undefined {
  const job = jobs.find((one) => one.id === id);
  if (!job) return undefined;
  const many = size === "huge" && job === jobs[3] ? 500 : job.attempts;
  const isOpen = job.state === "running" || job.state === "suspended";
  const attempts = Array.from({ length: isOpen ? 0 : many }, (_, n): Attempt => {
    const isLast = n === many - 1;
    const failed = !isLast || job.state === "failed";
    return {
      jobId: id,
      attempt: n + 1,
      outcome: failed ? (n === 1 ? "lost" : "failed") : "succeeded",
      finalState: isLast ? job.state : null,
      reason: isLast ? job.reason : null,
      worker: `worker-${n % 4}.eu.example:${4000 + (n % 4)}`,
      startedAt: new Date(Date.parse(job.createdAt) + 600 + n * 1000).toISOString(),
      finishedAt: new Date(Date.parse(job.createdAt) + 1400 + n * 1000).toISOString(),
      error:
        n >= many - oddErrors.length && many > 3
          ? oddErrors[many - 1 - n]!
          : failed
            ? {
                name: "FetchError",
                code: "ETIMEDOUT",
                message: size === "huge" ? hostile.repeat(20) : "connect ETIMEDOUT 10.0.0.7:443",
                stack: `FetchError: connect ETIMEDOUT\n${"    at Socket.connect (node:net:1247:16)\n".repeat(8)}`,
              }
            : null,
      result: null,
      log:
        n === 0
          ? [
              "12:00:01.204 fetching uploads/3.png",
              "12:00:02.790 640 × 480, 3 sizes wanted",
              size === "huge" ? hostile : "12:00:03.002 waiting for the store",
            ]
          : null,
    };
  });
  return {
    job,
    attempts,
    failure: job.lastError === null ? null : "00000048c2739500",
    progress: job.state === "running" ? { done: 42, total: 100, step: "resizing" } : null,
    decisions:
      job.state === "failed"
        ? [
            {
              jobId: id,
              action: "retry",
              attempts: 1,
              decidedAt: new Date(Date.parse(job.createdAt) + 2900).toISOString(),
              by: "ann",
              because: size === "huge" ? hostile : "the store is back",
            },
          ]
        : job.state === "cancelled"
          ? [
              {
                jobId: id,
                action: "cancel",
                attempts: null,
                decidedAt: job.finishedAt!,
                by: "ann",
                because: size === "huge" ? hostile : "sent twice",
              },
            ]
          : [],
  };
}

function makeWhy(queue: string, size: Size): Reason[] {
  if (queue === "webhooks")
    return [
      { code: "paused", since: ago(900), by: "ann", because: "the customer's endpoint is being moved", jobs: 4800 },
    ];
  if (queue === "reports") return [{ code: "queueWaits", queues: ["import"], jobs: 820 }];
  if (queue !== "mail") return [{ code: "backlog", running: 4, jobs: 90 }];
  return [
    { code: "paused", type: types[0]!, since: ago(7200), by: "bob", because: "a wrong text", jobs: 1600 },
    { code: "paused", group: size === "huge" ? hostile : tenants[0]!, since: ago(600), by: "ann", jobs: 1200 },
    { code: "breakerOpen", type: types[1]!, since: ago(60), until: ago(-540), error: "503 of the bank", jobs: 800 },
    {
      code: "limit",
      of: "group",
      group: size === "huge" ? "tenant-1" : tenants[1]!,
      maxRunning: 3,
      running: 3,
      jobs: 88,
    },
    { code: "noWorker", type: types[2]!, jobs: 12 },
    { code: "backlog", running: 12, jobs: 3688 },
  ];
}

function makeJobWhy({ state, runAt, type }: Job): Reason[] {
  switch (state) {
    case "blocked":
      return [
        { code: "paused", type, since: ago(7200), by: "bob", because: "a wrong text" },
        { code: "behind", jobs: 1_204, urgent: 12 },
      ];
    case "ready":
      return [{ code: "behind", jobs: 100_000, isExact: false, group: "acme" }];
    case "delayed":
      return [{ code: "time", until: runAt }];
    case "suspended":
      if (type === "millrace.flow") return [{ code: "children", step: "flow", of: 5, left: 2 }];
      return [{ code: "signal", signals: ["approved", "rejected"] }];
    default:
      return [];
  }
}

/** What waits, and how much of it is ready and blocked. */
function waitingOf(waiting: number, share: number): { waiting: number; ready: number; blocked: number } {
  const blocked = Math.round(waiting * share);
  return { waiting, ready: waiting - blocked, blocked };
}

function makeGroups(size: Size): Group[] {
  const names =
    size === "huge"
      ? [hostile, turned, endless, long("tenant"), ...Array.from({ length: 498 }, (_, n) => `tenant-${n}`)]
      : tenants;
  const waiting = names.map((_, n) => Math.round((2000 / (n + 1)) * (size === "huge" ? 5000 : 1)));
  const all = waiting.reduce((sum, one) => sum + one, 0);
  return names.map((group, n) => ({
    group,
    ...waitingOf(waiting[n]!, n % 4 === 2 ? 0.5 : 0),
    delayed: n,
    running: n % 4,
    oldestAgeSeconds: 3 + n * 2,
    share: waiting[n]! / all,
    estimated: size === "huge",
    settings: n === 0 ? { weight: 3, maxRunning: 20, rate: { perSecond: 5, burst: 10 } } : null,
  }));
}

function makeEvents(size: Size): EventOfQueue[] {
  const some: EventOfQueue[] = [
    { at: ago(90_000), queue: "webhooks", event: "paused", by: "ann", because: "first try of the move" },
    { at: ago(88_000), queue: "webhooks", event: "resumed", by: "ann" },
    { at: ago(900), queue: "webhooks", event: "paused", by: "ann", because: "the customer's endpoint is being moved" },
  ];
  return size === "huge"
    ? Array.from({ length: 3000 }, (_, n) => ({
        at: ago(n * 60),
        queue: "webhooks",
        event: n % 2 === 0 ? "paused" : "resumed",
        by: hostile,
        because: hostile,
      }))
    : some;
}

function makeFailures(size: Size): Failure[] {
  const messages = [
    "connect ETIMEDOUT 10.0.0.7:443",
    "the image is broken: unexpected end of file",
    "account 4711 does not exist",
    "rate limit exceeded, try again in 30 s",
    "insufficient funds",
  ];
  return Array.from({ length: size === "huge" ? 200 : messages.length }, (_, n) => ({
    fingerprint: (5_000_000_000_000 + n).toString(16).padStart(16, "0"),
    name: n % 2 === 0 ? "FetchError" : "Error",
    code: n % 2 === 0 ? "ETIMEDOUT" : null,
    message: size === "huge" ? `${hostile} ${"and so on ".repeat(60)}` : messages[n]!,
    jobs: Math.round((size === "huge" ? 9_000_000 : 420) / (n + 1)),
    firstAt: ago(90_000 + n),
    lastAt: ago(n * 300 + 12),
    types: types.slice(n % 4, (n % 4) + (size === "huge" ? 5 : 1)),
    queues: usualQueues.slice(n % 5, (n % 5) + 1),
    lastJobId: String(7_419_230_000_000_000_000n - 3n * 1_048_576n),
  }));
}

function makeSchedules(size: Size): Schedule[] {
  const base = [
    { name: "nightly-report", rule: { cron: "0 3 * * *", tz: "Europe/Berlin" }, health: "healthy" },
    { name: "sync-accounts", rule: { every: "5m" }, health: "failing" },
    { name: "poll-inbox", rule: { after: "30s" }, health: "healthy" },
    {
      name: "invoices",
      rule: { rrule: "FREQ=MONTHLY;BYDAY=FR;BYSETPOS=-1", anchor: "2026-01-01T18:00:00+01:00" },
      health: "paused",
    },
  ] as const;
  const more =
    size === "huge"
      ? Array.from({ length: 1000 }, (_, n) => ({
          name: n === 0 ? hostile : `poll:tenant-${n}`,
          rule: { every: "1m" } as Json,
          health: "healthy" as const,
        }))
      : [];
  return [...base, ...more].map(({ name, rule, health }, n) => ({
    name,
    rule,
    job: { type: types[n % types.length]!, queue: usualQueues[n % usualQueues.length]! },
    input: { kind: "daily" },
    options: { overlap: "queue" },
    revision: 1,
    version: null,
    app: "default",
    declaredBy: "app.eu.example:12",
    declaredAt: ago(80_000),
    createdAt: ago(864_000),
    changedAt: ago(80_000),
    pausedAt: health === "paused" ? ago(4000) : null,
    pausedBy: health === "paused" ? "ann" : null,
    pausedBecause: health === "paused" ? "waiting for the new price list" : null,
    finishedAt: null,
    finishedBecause: null,
    health,
    message: health === "failing" ? "the last 3 runs failed: account 4711 does not exist" : null,
    error: null,
    nextSlot: health === "paused" ? null : ago(-60 * (n + 1)),
    nextAttemptAt: health === "paused" ? null : ago(-60 * (n + 1)),
    lastSlot: ago(240),
    lastAttemptAt: ago(240),
    lastSuccessAt: ago(health === "failing" ? 4000 : 240),
    failedAttempts: health === "failing" ? 9 : 0,
    failedRuns: health === "failing" ? 3 : 0,
    runs: 1204,
    succeeded: 1190,
    attempts: 1250,
    totalSeconds: 5100,
    lastSeconds: 4.1,
    averageSeconds: 4.23,
    missed: n % 3,
    openJobs: [],
    pending: 0,
    description: "daily at 03:00, Europe/Berlin",
  }));
}

function makeRun(n: number): ScheduleRun {
  const failed = n % 6 === 2;
  return {
    schedule: "nightly-report",
    slotAt: ago(n * 86_400 + 3000),
    jobId: String(7_419_200_000_000_000_000n - BigInt(n)),
    kind: n === 4 ? "manual" : "slot",
    outcome: n === 0 ? null : failed ? "failed" : "succeeded",
    attempts: failed ? 3 : 1,
    startedAt: ago(n * 86_400 + 2999),
    finishedAt: n === 0 ? null : ago(n * 86_400 + 2994),
    seconds: n === 0 ? null : 4 + chance(n),
    error: failed ? { message: "the warehouse did not answer" } : null,
  };
}

function makeLimits(size: Size): Limit[] {
  const some: Limit[] = [
    { kind: "queue", queue: "billing", name: null, maxRunning: 10, rate: { perSecond: 25 }, inUse: 10 },
    { kind: "each group", queue: "mail", name: null, maxRunning: 3, rate: null, inUse: null },
    { kind: "group", queue: "mail", name: "acme", maxRunning: 20, rate: null, inUse: null },
    { kind: "type", queue: null, name: "make-report", maxRunning: 2, rate: null, inUse: 1 },
    { kind: "resource", queue: null, name: "api:stripe", maxRunning: 20, rate: { perSecond: 25, burst: 50 }, inUse: 7 },
  ];
  return size === "huge"
    ? [
        ...some,
        ...Array.from({ length: 2000 }, (_, n): Limit => ({
          kind: "group",
          queue: "mail",
          name: n === 0 ? hostile : `tenant-${n}`,
          maxRunning: 5,
          rate: null,
          inUse: null,
        })),
      ]
    : some;
}

function makeFindings(size: Size): Finding[] {
  const fine: Finding[] = [
    { name: "schema", state: "ok", message: "schema millrace is at version 1" },
    { name: "clock", state: "ok", message: "the clocks agree within 3 ms" },
    { name: "pooler", state: "skipped", message: "there is no pooler between us and the database" },
  ];
  if (size === "empty") return fine;
  return [
    ...fine,
    {
      name: "snapshots",
      state: "wrong",
      message: size === "huge" ? hostile : "a transaction of psql has been open for 2 h 10 m (pid 4711)",
      remedy: "commit it or end it: select pg_terminate_backend(4711)",
    },
  ];
}
