import fc from "fast-check";
import { flag, json, marks, mostly, name, number, some, text, time, whole } from "./values.js";

/** Numbers that are mostly fine as seconds, so that what is accepted goes on to do its harm. */
const seconds: fc.Arbitrary<unknown> = fc.oneof(fc.constantFrom(0, 0.001, 0.5, 1, 30, 3600, 86_400, 1e9), number);
const delays: fc.Arbitrary<unknown> = fc.oneof(
  seconds,
  fc.array(mostly(seconds), { maxLength: 4 }),
  some({
    base: seconds,
    factor: number,
    cap: seconds,
    jitter: fc.oneof(fc.double({ min: 0, max: 1, noNaN: true }), number),
  }),
);
const rate = some(
  {
    perSecond: fc.oneof(fc.constantFrom(0.001, 1, 100, 1e9), number),
    burst: fc.oneof(fc.integer({ min: 1, max: 9 }), number),
    spillPriority: whole,
  },
  3,
);
const resources: fc.Arbitrary<unknown> = fc.dictionary(
  fc.oneof(fc.constantFrom("@r0", "@r1"), name),
  mostly(fc.oneof(fc.integer({ min: 1, max: 3 }), number)),
  { maxKeys: 3, noNullPrototype: true },
);
const clock = fc.constantFrom("00:00", "08:30", "23:59:59", "24:00", "25:00", "8");
const zone = fc.constantFrom("UTC", "Europe/Vienna", "Asia/Kathmandu", "Antarctica/Troll", "Mars/Base", "+14:00", "");
const day = fc.constantFrom(
  "mon",
  "tue",
  "sun",
  1,
  7,
  8,
  "2026-12-25",
  "2026-12-24/2027-01-01",
  "9999-12-31",
  "0000-00-00",
);

/** Of one job: docs/options.md. */
export const jobMembers = {
  queue: marks.queue,
  priority: fc.oneof(fc.integer({ min: 0, max: 10 }), number),
  group: name,
  cost: fc.oneof(fc.integer({ min: 1, max: 1e6 }), number),
  resources,
  tenant: name,
  runAt: time,
  delaySeconds: seconds,
  expiresAt: time,
  ttlSeconds: fc.oneof(seconds, fc.constant("computed")),
  deadline: time,
  maxAttempts: fc.oneof(fc.integer({ min: 1, max: 3 }), number, fc.constant("unlimited")),
  attemptTimeoutSeconds: fc.oneof(fc.constantFrom(0.001, 1, 2_147_483), number),
  retry: delays,
  fingerprint: name,
  fingerprintMode: fc.constantFrom("keep", "replace", "debounce", "followUp", "window"),
  fingerprintSeconds: seconds,
  headers: fc.dictionary(text, json, { maxKeys: 3, noNullPrototype: true }),
  contentType: name,
  schedule: name,
  slotAt: time,
  stage: name,
};
export const payloadMembers = { payload: fc.oneof(fc.constantFrom("", "YWJj", "=", "§"), text), payloadSize: whole };

/** As above, in what the library calls them. */
export const libraryMembers = {
  ...jobMembers,
  delay: fc.oneof(fc.constantFrom("1s", "1h 30m", "5", ""), seconds, some({ minutes: number, seconds: number })),
  ttl: fc.oneof(fc.constantFrom("1s", "computed"), seconds),
  retryDelay: fc.oneof(fc.constantFrom("1s", ["1s", "5m"]), delays),
  attemptTimeout: fc.oneof(fc.constantFrom("1ms", "1s"), number),
  fingerprintFor: seconds,
  whenFull: fc.constantFrom("refuse"),
};

/** Of a type, and of a queue. Not those that stop the queue for good: they are no attack, and would end it. */
export const typeMembers = {
  priority: jobMembers.priority,
  cost: jobMembers.cost,
  maxAttempts: jobMembers.maxAttempts,
  ttlSeconds: seconds,
  attemptTimeoutSeconds: jobMembers.attemptTimeoutSeconds,
  retry: delays,
  leaseSeconds: seconds,
  leaseFactor: number,
  leaseCapSeconds: seconds,
  agingSeconds: seconds,
  rate,
  resources,
  maxRunning: fc.oneof(fc.integer({ min: 1, max: 5 }), number),
  breaker: some({ failures: whole, withinSeconds: seconds, pauseSeconds: seconds, pauseCapSeconds: seconds }),
  deadLetterQueue: marks.queue,
  errorRules: fc.array(
    some(
      {
        code: fc.oneof(fc.constant("lost"), name),
        pattern: fc.constantFrom("a", ".", "(a+)+$", "[", "\\", "(?<x>a)", "a{1,255}", ".*".repeat(50)),
        fail: fc.constant(true),
        retry: delays,
        delays: fc.array(mostly(seconds), { maxLength: 3 }),
      },
      2,
    ),
    { maxLength: 3 },
  ),
};
export const queueMembers = {
  ...typeMembers,
  enqueueRate: rate,
  groupRate: rate,
  groupMaxRunning: fc.oneof(fc.integer({ min: 1, max: 5 }), number),
  ordered: fc.constantFrom(true, false, "batches"),
  maxDepth: fc.oneof(fc.integer({ min: 1, max: 100 }), number),
  maxAgeSeconds: seconds,
  freshnessSeconds: seconds,
  drainsAt: some({ times: fc.array(clock, { maxLength: 3 }), zone, days: fc.array(day, { maxLength: 3 }) }, 3),
  blocked: fc.array(
    some({
      from: fc.oneof(clock, time),
      to: fc.oneof(clock, time),
      until: time,
      days: fc.array(day, { maxLength: 3 }),
      zone,
    }),
    {
      maxLength: 3,
    },
  ),
  waitsFor: fc.array(marks.queue, { maxLength: 3 }),
  onFailure: fc.constantFrom("continue", "pause"),
  finalStages: fc.array(name, { maxLength: 3 }),
  deadLetterAfter: fc.oneof(fc.integer({ min: 1, max: 3 }), number),
  lostAlone: flag,
  spread: fc.constantFrom("tenant", null),
};

/** Of a claim. */
export const claimMembers = {
  queues: fc.array(fc.oneof(marks.queue, name), { maxLength: 3 }),
  types: fc.array(fc.oneof(marks.type, name), { maxLength: 3 }),
  limit: fc.oneof(fc.integer({ min: 1, max: 20 }), number),
  groupLimit: fc.oneof(fc.integer({ min: 1, max: 20 }), number),
  maxBytes: number,
  worker: name,
  leaseSeconds: seconds,
  leaseFactor: number,
  leaseCapSeconds: seconds,
  trackStart: flag,
};

/** What an error may look like. */
export const error: fc.Arbitrary<unknown> = mostly(
  some({ name, code: name, message: text, stack: text, cause: json, details: json }),
  3,
);
/** A delay that a report asks for. */
export const delay = seconds;

/** When a schedule runs. */
export const rule: fc.Arbitrary<unknown> = mostly(
  fc.oneof(
    ...[
      { cron: fc.constantFrom("* * * * *", "*/5 * * * * *", "0 0 30 2 *", "0 0 29 2 *", "@daily", "61 * * * *", "L") },
      { every: fc.oneof(fc.constantFrom("1s", "1h", "1ms", "0s", "400d"), number) },
      { after: fc.oneof(fc.constantFrom("1s", "1h"), number) },
      {
        rrule: fc.constantFrom(
          "FREQ=DAILY",
          "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30",
          "FREQ=SECONDLY;COUNT=9",
          "FREQ=DAILY;UNTIL=19700101T000000Z",
          "RRULE",
        ),
        anchor: time,
      },
      { times: fc.array(time, { maxLength: 3 }) },
      { at: time },
    ].map((kind) =>
      fc
        .tuple(
          fc.record(kind as Record<string, fc.Arbitrary<unknown>>, { noNullPrototype: true }),
          some(
            {
              tz: zone,
              startsAt: time,
              endsAt: time,
              anchor: time,
              jitter: fc.oneof(fc.constantFrom("1s", "32d"), number),
              except: fc.array(day, { maxLength: 2 }),
              calendars: fc.array(name, { maxLength: 2 }),
            },
            2,
          ),
        )
        .map(([one, more]) =>
          typeof more === "object" && more !== null && !Array.isArray(more) ? { ...one, ...more } : one,
        ),
    ),
  ),
);
export const scheduleMembers = {
  overlap: fc.constantFrom("queue", "skip", "allow", "cancel"),
  missed: fc.oneof(
    fc.constantFrom("last", "none"),
    some({ all: number, within: fc.constantFrom("3h", "1000y"), withinSeconds: seconds }, 1),
  ),
  afterFailure: fc.oneof(fc.constantFrom("retry", "skip"), some({ stopAfter: number }, 1)),
  maxRuns: number,
  keepRuns: number,
  cancelStops: flag,
};
