import { beforeAll, describe, expect, it } from "vitest";
import type { z } from "zod";
import type { ClaimedJob, EnqueuedFlow } from "../../../src/db/types.js";
import type { Route } from "../../../src/server/api/route.js";
import { routes } from "../../../src/server/api/routes/index.js";
import { claimOne, enqueue } from "../../support/jobs.js";
import { type WaitingRun, waitingRun } from "../../support/runs.js";
import { useServer } from "./server.js";

const server = useServer();

interface Sent {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** What the answer has, beside its shape. */
  readonly expected?: object;
}

const ids = { failed: "", expired: "", waiting: "", withPayload: "", cancelled: "" };
let held: ClaimedJob;
let letter: ClaimedJob;
let run: WaitingRun;
let flow: EnqueuedFlow;
let callback: string;

beforeAll(async () => {
  const { engine } = server.db;
  await engine.queuePut("work", { breaker: { failures: 3 } });
  await engine.queuePut("letters");
  await engine.queuePut("grouped");
  ids.failed = await enqueue(server.db, "work");
  await engine.fail(await claimOne(server.db, "work"), { message: "could not", code: "E1", stack: "at x" });
  await engine.enqueue({ type: "work", queue: "work", input: { n: 1 } });
  held = await claimOne(server.db, "work", { worker: "host:1", leaseSeconds: 600 });
  await engine.progressPut(held, { percent: 7 });
  ids.withPayload = await enqueue(server.db, "work", {
    payload: Buffer.from("0123456789"),
    contentType: "text/html",
    input: { a: [1] },
    maxAttempts: Infinity,
  });
  ids.waiting = await enqueue(server.db, "work", { delaySeconds: 3600, headers: { a: 1 }, fingerprint: "fp" });
  await engine.enqueue({ type: "work", queue: "work", stage: "approval" });
  await engine.enqueue({ type: "work", queue: "work", stage: "other" });
  await engine.enqueue({ type: "work", queue: "grouped", group: "acme" });
  await enqueue(server.db, "work", { type: "dead" });
  letter = await claimOne(server.db, "work", { types: ["dead"], leaseSeconds: 600 });
  await engine.queuePut("in-steps");
  run = await waitingRun(server.db, "in-steps");
  await enqueue(server.db, "in-steps", { type: "told", fingerprint: "told" });
  await enqueue(server.db, "in-steps", { type: "asks" });
  callback = await engine.stepToken(
    await claimOne(server.db, "in-steps", { types: ["asks"], leaseSeconds: 600 }),
    "#token ok",
    "ok",
    60,
  );
  await server.db.engine.queuePut("in-flow");
  flow = await server.db.engine.flowEnqueue(
    [
      { type: "a", options: { queue: "in-flow" } },
      { type: "b", options: { queue: "in-flow" }, after: [0], when: "ended" },
    ],
    { name: "import", queue: "in-flow" },
  );
  await engine.typeDeclare([{ type: "declared", version: 2, queue: "work", defaults: { maxAttempts: 3 } }], "r1");
  await engine.workerBeat(
    "host:7:x",
    {
      host: "host",
      pid: 7,
      release: "r1",
      workers: [{ name: "host:7", queues: ["work"], types: null, concurrency: 10 }],
    },
    { running: 1, memoryBytes: 5_000_000, stalledSeconds: 0 },
  );
  await engine.resourcePut("gpu", { maxRunning: 4, rate: { perSecond: 5 } });
  await server.ask("PUT", "/schedules/other", { rule: { every: "1h" }, job: { type: "tick" } });
});

/** What is asked of each route. Functions, because ids are known only later. */
const requests: Readonly<Record<string, () => readonly Sent[]>> = {
  "GET /session": () => [{ expected: { name: "the-admin", role: "admin", isOpen: false, schema: "millrace" } }],
  "GET /overview": () => [{}],
  "GET /history": () => [
    {},
    { query: "queue=work&seconds=60" },
    { query: "seconds=86400", expected: { step: 60 } },
    { query: "queue=work&type=t&seconds=2592000", expected: { step: 3600, points: [] } },
    { query: "queue=none", expected: { points: [] } },
  ],
  "GET /running": () => [{ query: "limit=5" }],
  "GET /workers": () => [
    {
      expected: { items: expect.arrayContaining([expect.objectContaining({ name: "host:1", host: "host", held: 1 })]) },
    },
  ],
  "GET /processes": () => [
    {
      expected: {
        items: [
          {
            host: "host",
            pid: 7,
            release: "r1",
            state: "busy",
            running: 1,
            workers: [{ name: "host:7", queues: ["work"], types: null, concurrency: 10 }],
          },
        ],
      },
    },
  ],
  "POST /workers/pause": () => [
    { body: { worker: "host:7", because: "test" }, expected: { workers: 1 } },
    { body: { process: "host:7:x" }, expected: { workers: 1 } },
  ],
  "POST /workers/drain": () => [{ body: { process: "host:7:x", worker: "host:7" }, expected: { workers: 1 } }],
  "POST /workers/resume": () => [
    { body: { worker: "host:7" }, expected: { workers: 1 } },
    { body: { process: "host:7:x" }, expected: { workers: 1 } },
    { body: { process: "host:7:x" }, expected: { workers: 0 } },
  ],
  "POST /workers/concurrency": () => [
    { body: { worker: "host:7", concurrency: 3 }, expected: { workers: 1 } },
    { body: { worker: "host:7", concurrency: null }, expected: { workers: 1 } },
  ],
  "GET /alerts": () => [{}],
  "GET /alerts/events": () => [{ query: "limit=1" }],
  "GET /alerts/rules": () => [
    { expected: { items: expect.arrayContaining([expect.objectContaining({ name: "oldest-job", on: true })]) } },
  ],
  "PUT /alerts/rules/{name}": () => [
    { params: { name: "mine" }, body: { kind: "oldest", queue: "work", seconds: 60 }, expected: { done: true } },
  ],
  "POST /alerts/rules/{name}/silence": () => [{ params: { name: "mine" }, body: { seconds: 60, because: "test" } }],
  "DELETE /alerts/rules/{name}": () => [{ params: { name: "mine" } }],
  "GET /alerts/hooks": () => [{}],
  "PUT /alerts/hooks/{name}": () => [
    { params: { name: "ops" }, body: { url: "http://127.0.0.1:9/x" }, expected: { secret: expect.any(String) } },
  ],
  "POST /alerts/hooks/{name}/test": () => [{ params: { name: "ops" }, expected: { job: expect.any(String) } }],
  "DELETE /alerts/hooks/{name}": () => [{ params: { name: "ops" } }],
  "GET /definitions": () => [
    { query: "type=none", expected: { items: [] } },
    {
      expected: {
        items: [{ type: "declared", version: 2, queue: "work", defaults: { maxAttempts: 3 }, declaredBy: "r1" }],
      },
    },
  ],
  "GET /unhandled": () => [
    {},
    {
      query: "minAgeSeconds=0",
      expected: {
        items: expect.arrayContaining([expect.objectContaining({ queue: "in-flow", type: "a", waiting: 1 })]),
      },
    },
  ],
  "GET /queues": () => [
    {},
    { query: "limit=1", expected: { items: [{ name: "default" }], next: "default" } },
    { query: "cursor=letters", expected: { items: [{ name: "work" }] } },
  ],
  "GET /queues/{queue}": () => [{ params: { queue: "work" }, expected: { name: "work", depth: { running: 2 } } }],
  "PUT /queues/{queue}": () => [
    { params: { queue: "fresh" }, body: { maxRunning: 3 }, expected: { name: "fresh", options: { maxRunning: 3 } } },
  ],
  "POST /queues/{queue}/pause": () => [
    { params: { queue: "fresh" }, body: { because: "why" } },
    { params: { queue: "fresh" }, body: { type: "a", group: "g" } },
  ],
  "POST /queues/{queue}/resume": () => [
    { params: { queue: "fresh" } },
    { params: { queue: "fresh" }, body: { type: "a", group: "g" } },
  ],
  "POST /queues/{queue}/close": () => [{ params: { queue: "fresh" }, body: { because: "done" } }],
  "POST /queues/{queue}/open": () => [{ params: { queue: "fresh" } }],
  "POST /queues/{queue}/purge": () => [
    { params: { queue: "grouped" }, body: { dryRun: true }, expected: { count: 1, isExact: true } },
    { params: { queue: "fresh" } },
  ],
  "POST /queues/{queue}/shed": () => [
    { params: { queue: "work" }, body: { before: "2100-01-01T00:00:00Z", type: "work", dryRun: true } },
    { params: { queue: "fresh" }, body: { before: new Date() } },
  ],
  "POST /queues/{queue}/set-aside": () => [
    { params: { queue: "work" }, body: { dryRun: true } },
    { params: { queue: "fresh" }, body: {} },
  ],
  "POST /queues/{queue}/redrive": () => [
    { params: { queue: "letters" }, body: { dryRun: true }, expected: { count: 1 } },
    { params: { queue: "letters" }, body: { limit: 10 }, expected: { count: 1, isExact: true } },
  ],
  "GET /groups": () => [
    {
      query: "limit=1000",
      expected: { items: expect.arrayContaining([expect.objectContaining({ group: "acme", queues: ["grouped"] })]) },
    },
  ],
  "GET /queues/{queue}/why": () => [
    { params: { queue: "work" } },
    { params: { queue: "grouped" }, query: "group=acme", expected: { items: expect.any(Array) } },
  ],
  "GET /queues/{queue}/types": () => [{ params: { queue: "work" } }],
  "GET /queues/{queue}/groups": () => [
    { params: { queue: "grouped" }, query: "limit=3", expected: { items: [{ group: "acme", waiting: 1 }] } },
  ],
  "PUT /queues/{queue}/groups/{group}": () => [
    {
      params: { queue: "grouped", group: "a/b c" },
      body: { weight: 3, rate: { perSecond: 2 } },
      expected: { weight: 3 },
    },
  ],
  "GET /queues/{queue}/peek": () => [
    { params: { queue: "work" }, expected: { items: [{ id: ids.withPayload, maxAttempts: "unlimited" }] } },
  ],
  "GET /queues/{queue}/events": () => [{ params: { queue: "fresh" } }],
  "GET /events": () => [{ expected: { items: expect.arrayContaining([expect.objectContaining({ queue: "fresh" })]) } }],
  "GET /stages": () => [{ expected: { items: [{ queue: "work", stage: "approval", jobs: 1 }, { stage: "other" }] } }],
  "POST /queues/{queue}/stages/{stage}/release": () => [
    { params: { queue: "work", stage: "approval" }, body: { dryRun: true }, expected: { count: 1 } },
    { params: { queue: "work", stage: "approval" }, body: { because: "ok" }, expected: { count: 1 } },
  ],
  "POST /queues/{queue}/stages/{stage}/cancel": () => [
    { params: { queue: "work", stage: "other" }, expected: { count: 1 } },
  ],
  "POST /jobs": () => [
    {
      body: {
        type: "made",
        queue: "work",
        input: { deep: [1, { a: null }] },
        delaySeconds: 60,
        maxAttempts: "unlimited",
        retry: [1, 2],
        headers: { x: 1 },
      },
      expected: { duplicate: false },
    },
    { body: { type: "made", payloadBase64: "AAEC", contentType: "application/x" } },
  ],
  "POST /jobs/many": () => [
    {
      body: {
        jobs: [
          { type: "made", fingerprint: "same" },
          { type: "made", fingerprint: "same", input: 2 },
        ],
      },
      expected: { items: [{ duplicate: false }, { duplicate: true }] },
    },
  ],
  "GET /jobs": () => [
    {},
    { query: "state=failed&queue=work&error=COULD", expected: { items: [{ id: ids.failed, state: "failed" }] } },
    {
      query: `key=fp&type=work&since=2020-01-01T00:00:00Z&until=2100-01-01T00:00:00Z`,
      expected: { items: [{ id: ids.waiting }] },
    },
    { query: "undecided=true&limit=1" },
    { query: "group=acme" },
    { query: `cursor=${ids.failed}`, expected: { items: [] } },
  ],
  "GET /jobs/counts": () => [{ query: "tenant=nobody&queue=work", expected: { ready: 0, failed: 0 } }],
  "GET /jobs/durations": () => [
    {
      query: "type=work&windows=60,86400",
      expected: { items: [{ type: "work", windowSeconds: 60, failed: 1 }, { windowSeconds: 86_400 }] },
    },
    {},
  ],
  "GET /jobs/{id}/result": () => [
    {
      params: { id: ids.failed },
      expected: { state: "failed", result: null, error: expect.stringContaining("could not") },
    },
    { params: { id: held.id }, query: "waitSeconds=1", expected: { state: "running", result: null, error: null } },
  ],
  "POST /jobs/count": () => [{ body: { state: "failed", queue: "work" }, expected: { count: 1, isExact: true } }],
  "POST /jobs/cancel": () => [
    { body: { filter: { type: "made" }, dryRun: true }, expected: { count: 3, isExact: true } },
    { body: { filter: { type: "made" }, because: "no" }, expected: { count: 3 } },
    { body: { ids: [ids.waiting], dryRun: true }, expected: { count: 1 } },
    { body: { ids: [ids.waiting] }, expected: { count: 1 } },
  ],
  "POST /jobs/retry": () => [
    { body: { ids: [ids.failed], dryRun: true }, expected: { count: 1 } },
    { body: { filter: { type: "work", queue: "work" }, dryRun: true }, expected: { count: 1 } },
    { body: { filter: { type: "nothing" }, attempts: 2, perSecond: 1 }, expected: { count: 0 } },
  ],
  "GET /names": () => [
    { query: "kind=queue&part=WOR", expected: { items: expect.arrayContaining(["work"]) } },
    { query: "kind=type&part=or&limit=5", expected: { items: expect.arrayContaining(["work"]) } },
    { query: "kind=group&part=no+such+group", expected: { items: [] } },
    { query: "kind=tenant", expected: { items: expect.any(Array) } },
  ],
  "POST /jobs/discard": () => [
    { body: { filter: { type: "work", queue: "work" }, dryRun: true }, expected: { count: 1, isExact: true } },
    { body: { filter: { type: "nothing" } }, expected: { count: 0, isExact: true } },
  ],
  "POST /jobs/rewind": () => [
    { body: { filter: { type: "work" }, to: "never done", dryRun: true }, expected: { count: 0, isExact: true } },
    { body: { ids: [ids.failed], to: "never done" }, expected: { count: 0, isExact: true } },
  ],
  "GET /jobs/{id}": () => [
    {
      params: { id: ids.failed },
      expected: { job: { state: "failed" }, attempts: [{ outcome: "failed", error: { message: "could not" } }] },
    },
    { params: { id: held.id }, expected: { job: { state: "running" }, progress: { percent: 7 } } },
  ],
  "GET /jobs/{id}/log": () => [
    { params: { id: held.id }, expected: { isRunning: true, lines: [] } },
    { params: { id: ids.failed }, expected: { isRunning: false } },
  ],
  "GET /jobs/{id}/steps": () => [
    {
      params: { id: run.id },
      expected: {
        state: "suspended",
        parent: null,
        waits: { signals: ["approved", "rejected"], children: [{ step: "pack", left: 3, of: 3 }] },
        items: [{ kind: "try" }, { kind: "done", tries: 2, value: { paid: true } }, { kind: "started", children: 3 }],
      },
    },
    {
      params: { id: run.id },
      query: "key=charge&valueBytes=3&limit=2&newest=true",
      expected: { items: [{ value: null }, {}] },
    },
    { params: { id: run.children[0]! }, expected: { parent: run.id, items: [], waits: null, suspendedAt: null } },
  ],
  "GET /jobs/{id}/children": () => [
    {
      params: { id: run.id },
      query: "limit=2",
      expected: { items: [{ step: "pack", state: "ready" }, {}], next: run.children[1]! },
    },
    { params: { id: run.children[0]! }, expected: { items: [] } },
  ],
  "GET /jobs/{id}/why": () => [
    {
      params: { id: run.id },
      expected: { items: expect.arrayContaining([expect.objectContaining({ text: expect.any(String) })]) },
    },
  ],
  "GET /jobs/{id}/below": () => [
    { params: { id: run.id }, expected: { count: 3, isExact: true } },
    { params: { id: flow.id }, expected: { count: 2 } },
    { params: { id: run.children[0]! }, expected: { count: 0, isExact: true } },
  ],
  "POST /jobs/{id}/tell": () => [
    { params: { id: run.id }, body: { name: "later", value: { by: "ann" }, id: "hook" }, expected: { isNew: true } },
    { params: { id: run.id }, body: { name: "later", id: "hook" }, expected: { isNew: false } },
  ],
  "POST /jobs/tell": () => [
    { body: { queue: "in-steps", fingerprint: "told", name: "later", id: "hook" }, expected: { isNew: true } },
    { body: { queue: "in-steps", fingerprint: "told", name: "later", id: "hook" }, expected: { isNew: false } },
  ],
  "POST /answers/{token}": () => [{ params: { token: callback }, body: { by: "ann" }, expected: { done: true } }],
  "POST /jobs/{id}/rewind": () => [
    { params: { id: run.id }, body: { to: "charge", because: "a mistake" }, expected: { done: true } },
  ],
  "POST /flows": () => [
    {
      body: {
        name: "nightly",
        queue: "in-flow",
        jobs: [
          { type: "load", queue: "in-flow", after: ["a"], when: "ended", input: { n: 1 }, priority: 3 },
          { name: "a", type: "extract", queue: "in-flow" },
        ],
      },
      expected: { id: expect.any(String), jobs: [expect.any(String), expect.any(String)] },
    },
    { body: { flow: flow.id, jobs: [{ type: "later", queue: "in-flow" }] }, expected: { id: flow.id } },
    { body: { jobs: [] }, expected: { jobs: [] } },
  ],
  "GET /flows/{id}": () => [
    {
      params: { id: flow.id },
      query: "limit=5",
      expected: {
        id: flow.id,
        name: "import",
        state: "suspended",
        total: 3,
        jobs: [{ after: [] }, { after: [flow.jobs[0]] }, { type: "later" }],
      },
    },
  ],
  "POST /jobs/{id}/discard": () => [
    { params: { id: ids.failed }, body: { because: "enough" }, expected: { done: true } },
  ],
  "POST /jobs/{id}/retry": () => [{ params: { id: ids.failed }, expected: { done: false } }],
  "POST /jobs/{id}/run-now": () => [
    { params: { id: ids.failed }, body: { because: "it is urgent" }, expected: { done: false } },
  ],
  "POST /jobs/{id}/cancel": () => [{ params: { id: ids.withPayload }, expected: { done: true } }],
  "POST /claims": () => [
    { body: { queues: ["work", "default"], limit: 2, leaseSeconds: 10 } },
    { body: { types: [] } },
  ],
  "POST /claims/extend": () => [
    { body: { tokens: [held.token], seconds: 60 }, expected: { items: [{ token: held.token, jobIds: [held.id] }] } },
  ],
  "POST /claims/progress": () => [
    { body: { token: held.token, job: held.id, progress: { percent: 50 } }, expected: { done: true } },
  ],
  "POST /claims/settle": () => [
    {
      body: {
        settlements: [
          { token: held.token, outcome: "succeeded", jobs: [held.id], results: [{ ok: true }] },
          {
            token: letter.token,
            outcome: "deadLetter",
            jobs: [letter.id],
            queue: "letters",
            error: { message: "poison" },
          },
        ],
      },
      expected: { refused: [] },
    },
    {
      body: { settlements: [{ token: held.token, outcome: "retryLater", jobs: [held.id], delaySeconds: 1 }] },
      expected: { refused: [held.id] },
    },
  ],
  "GET /failures": () => [
    {
      query: "queue=work&since=2020-01-01T00:00:00Z",
      expected: { items: [{ message: "could not", jobs: 1 }], total: 1, isExact: true },
    },
  ],
  "POST /failures/retry": () => [
    { body: { type: "work", dryRun: true }, expected: { count: 1, isExact: true } },
    { body: { fingerprint: "0123456789abcdef" }, expected: { count: 0 } },
  ],
  "POST /jobs/replay": () => [
    { body: { since: "2020-01-01T00:00:00Z", dryRun: true, states: ["failed"] }, expected: { isExact: true } },
    { body: { since: "2020-01-01T00:00:00Z", type: "nothing" }, expected: { count: 0 } },
  ],
  "GET /schedules": () => [{}, { query: "limit=1", expected: { items: [{ name: "nightly" }], next: "nightly" } }],
  "POST /schedules/preview": () => [
    {
      body: { rule: { cron: "0 3 * * *", tz: "Europe/Berlin" }, count: 3 },
      expected: { description: "cron 0 3 * * * in Europe/Berlin" },
    },
  ],
  "GET /schedules/{name}": () => [{ params: { name: "nightly" }, expected: { name: "nightly", health: "healthy" } }],
  "PUT /schedules/{name}": () => [
    {
      params: { name: "nightly" },
      body: {
        rule: { cron: "0 3 * * *" },
        job: { type: "report", queue: "work" },
        input: { a: 1 },
        options: { overlap: "skip" },
      },
      expected: { change: "created" },
    },
  ],
  "DELETE /schedules/{name}": () => [{ params: { name: "other" }, expected: { done: true } }],
  "POST /schedules/{name}/pause": () => [{ params: { name: "nightly" }, body: { because: "x" } }],
  "POST /schedules/{name}/resume": () => [{ params: { name: "nightly" }, body: { catchUp: true } }],
  "POST /schedules/{name}/trigger": () => [{ params: { name: "nightly" } }],
  "POST /schedules/{name}/backfill": () => [
    {
      params: { name: "nightly" },
      body: { since: "2020-01-01T00:00:00Z", until: "2020-01-03T00:00:00Z", dryRun: true },
      expected: { count: 2, isExact: true },
    },
    {
      params: { name: "nightly" },
      body: { since: "2020-01-01T00:00:00Z", until: "2020-01-02T00:00:00Z" },
      expected: { count: 1 },
    },
  ],
  "GET /schedules/{name}/runs": () => [{ params: { name: "nightly" } }],
  "GET /schedules/{name}/events": () => [{ params: { name: "nightly" } }],
  "GET /schedules/{name}/durations": () => [
    {
      params: { name: "nightly" },
      query: "runs=3&windows=60",
      expected: { items: [{ windowSeconds: null }, { windowSeconds: 60 }] },
    },
  ],
  "GET /schedule-events": () => [{ query: "limit=2" }],
  "PUT /calendars/{name}": () => [{ params: { name: "holidays" }, body: { days: ["2026-12-25"] } }],
  "GET /schedules/{name}/next": () => [{ params: { name: "nightly" }, query: "count=2" }],
  "GET /limits": () => [
    {
      expected: {
        items: expect.arrayContaining([expect.objectContaining({ kind: "resource", name: "gpu", maxRunning: 4 })]),
      },
    },
  ],
  "PUT /resources/{name}": () => [
    { params: { name: "api:x" }, body: { maxRunning: 2, rate: null }, expected: { maxRunning: 2 } },
  ],
  "GET /breakers": () => [{}],
  "POST /breakers/reset": () => [{ body: { queue: "work", dryRun: true } }, {}],
  "GET /pauses": () => [{}],
  "GET /cells": () => [{}],
  "GET /doctor": () => [
    { expected: { items: expect.arrayContaining([expect.objectContaining({ name: "schema", state: "ok" })]) } },
  ],
  "GET /audit": () => [{ query: "limit=3" }, { query: "who=nobody", expected: { items: [] } }],
  "GET /openapi.json": () => [{}],
};

/** Those that answer with something else than JSON have tests of their own: live.test.ts, payloads.test.ts. */
const elsewhere = ["GET /live", "GET /jobs/{id}/payload", "POST /jobs/stream"];
/** What comes first, because others need it, and what comes late, because it takes away what others need. */
const first = ["PUT /schedules/{name}", "PUT /alerts/rules/{name}"];
const last = [
  "POST /claims/extend",
  "POST /claims/progress",
  "POST /claims/settle",
  "POST /queues/{queue}/redrive",
  "POST /jobs/{id}/discard",
  "POST /jobs/{id}/retry",
  "POST /jobs/{id}/cancel",
  "POST /claims",
  "DELETE /schedules/{name}",
  "DELETE /alerts/rules/{name}",
  "PUT /alerts/hooks/{name}",
  "POST /alerts/hooks/{name}/test",
  "DELETE /alerts/hooks/{name}",
];

const keyOf = ({ method, path }: Route): string => `${method} ${path}`;
const rank = (key: string): number =>
  first.includes(key) ? first.indexOf(key) : last.includes(key) ? 1000 + last.indexOf(key) : 100;

describe("every route", () => {
  it("is in the document, and asked for here", async () => {
    const { body: document } = await server.ask("GET", "/openapi.json");
    const documented = Object.entries(document.paths as Record<string, object>).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(documented.toSorted()).toEqual(routes.map(keyOf).toSorted());
    expect([...Object.keys(requests), ...elsewhere].toSorted()).toEqual(documented.toSorted());
    expect(
      new Set(
        Object.values(document.paths as Record<string, Record<string, { operationId: string }>>).flatMap((methods) =>
          Object.values(methods).map(({ operationId }) => operationId),
        ),
      ).size,
    ).toBe(documented.length);
    const named = new Set(
      [...JSON.stringify(document).matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name),
    );
    for (const name of named) expect(document.components.schemas).toHaveProperty(name!);
    expect(JSON.stringify(document)).not.toContain("#/$defs/");
  });

  for (const route of routes
    .filter((one) => !elsewhere.includes(keyOf(one)))
    .toSorted((a, b) => rank(keyOf(a)) - rank(keyOf(b)))) {
    it(`${keyOf(route)} answers as its schema says`, async () => {
      for (const { params = {}, query, body, headers, expected = {} } of requests[keyOf(route)]!()) {
        const path = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name]!));
        const answer = await server.ask(
          route.method,
          `${path}${query ? `?${query}` : ""}`,
          body,
          headers ? { headers } : {},
        );
        expect(answer.body, JSON.stringify(answer.body)).toMatchObject(expected);
        expect(answer.status).toBe(200);
        const checked = (route.answer as z.ZodType).safeParse(answer.body);
        expect(checked.error?.issues, JSON.stringify(answer.body)).toBeUndefined();
      }
    });
  }
});
