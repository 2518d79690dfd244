/** The API as the dashboard sees it, with made-up data: for states that a real database would take long to get into. */
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Overview, Point, QueueSample } from "../../dashboard/wire.js";
import { dashboardPart, takesDashboard } from "../../src/server/dashboard/static-files.js";
import type { Exchange } from "../../src/server/http/exchange.js";
import { type Size, type World, makeWorld } from "./fixture-data.js";

export interface FixtureOptions {
  readonly size: Size;
  readonly prefix?: string;
  /** Default any. */
  readonly port?: number;
  /** Requests without it get 401. */
  readonly token?: string;
  readonly role?: string;
  /** Every act is refused with this problem. */
  readonly refuses?: boolean;
  /** A step of an act on many is answered when the test says so (`letStep`), so that somebody can see it. */
  readonly holdsSteps?: boolean;
  /** What an act on many would touch is found late: none at first, then ten thousand, then all (each by `letStep`). */
  readonly countsLate?: boolean;
}

export interface Fixture {
  /** With the prefix, without a slash at the end. */
  readonly url: string;
  /** What was changed: method, path and body. */
  readonly acts: { readonly method: string; readonly path: string; readonly body: Record<string, unknown> }[];
  /** How many look at the live stream. */
  readonly viewers: () => number;
  /** Answers the step that was held for longest, or the next one. */
  readonly letStep: () => void;
  readonly stop: () => Promise<void>;
}

export async function startFixture({
  size,
  prefix = "",
  port = 0,
  token,
  role = "admin",
  refuses = false,
  holdsSteps = false,
  countsLate = false,
}: FixtureOptions): Promise<Fixture> {
  const world = makeWorld(size);
  const acts: Fixture["acts"] = [];
  const viewers = new Set<ServerResponse>();
  const held: (() => void)[] = [];
  let mayGo = 0;
  const letHeld = (): void => {
    for (; mayGo > 0 && held.length > 0; mayGo -= 1) held.shift()!();
  };
  const files = dashboardPart({ isMounted: false });
  let tick = 700;
  const show = setInterval(() => {
    tick += 1;
    const text = `event: sample\ndata: ${JSON.stringify(momentOf(world, tick))}\n\n`;
    for (const viewer of viewers) viewer.write(text);
  }, 1000);

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url!, "http://fixture");
    if (!url.pathname.startsWith(prefix)) return answer(response, 404, {});
    const path = url.pathname.slice(prefix.length);
    const exchange = {
      request,
      response,
      path,
      target: url.pathname,
      query: url.searchParams,
      id: "fixture",
    } as unknown as Exchange;
    if (takesDashboard(exchange)) return files(exchange);
    const words = path
      .replace(/^\/api\/v1\//, "")
      .split("/")
      .map(decodeURIComponent);
    if (token !== undefined && request.headers.authorization !== `Bearer ${token}`)
      return problem(response, 401, "MR101", "the token is not known", "ask for another one");
    if (request.method === "GET" && words[0] === "live") return stream(response, viewers, () => momentOf(world, tick));
    if (request.method === "GET") {
      const found = find(world, words, url.searchParams, tick, role, token === undefined);
      if (Buffer.isBuffer(found)) response.writeHead(200, { "content-type": "application/octet-stream" }).end(found);
      else if (found === undefined)
        problem(response, 404, "MR002", `there is nothing at ${path}`, "it may have been removed after its retention");
      else answer(response, 200, found);
      return;
    }
    const body = JSON.parse((await text(request)) || "{}") as Record<string, unknown>;
    if (body["dryRun"] === true && countsLate) {
      const looked = Number(body["cursor"] ?? 0);
      const next = { ...body, cursor: String(looked + 1) };
      if (looked === 0) return answer(response, 200, { count: 0, isExact: false, next });
      held.push(() =>
        answer(response, 200, looked === 1 ? { count: 10_000, isExact: false, next } : { count: 7, isExact: true }),
      );
      return letHeld();
    }
    if (body["dryRun"] === true && words[0] === "jobs" && words.length === 2 && words[1] !== "replay")
      return answer(response, 200, wouldTouch(body, size));
    if (body["dryRun"] === true)
      return answer(response, 200, { count: size === "huge" ? 12_345_678 : 42, isExact: size !== "huge" });
    if (words[1] === "preview")
      return answer(response, 200, {
        items: Array.from({ length: 5 }, (_, n) => new Date(Date.now() + (n + 1) * 86_400_000).toISOString()),
        description: "at 03:00",
      });
    if (refuses) return problem(response, 409, "MR014", "the queue is closed", "open it first");
    acts.push({ method: request.method!, path: `/${words.join("/")}`, body });
    if (words.length === 1 && words[0] === "jobs")
      return answer(response, 200, { id: world.jobs[0]!.id, duplicate: false });
    if (words[0] === "jobs" && words.length === 2 && body["filter"] !== undefined) {
      if (!holdsSteps) return answer(response, 200, step(body));
      held.push(() => answer(response, 200, step(body)));
      return letHeld();
    }
    if (words[0] === "jobs" && words.length === 2)
      return answer(response, 200, { count: (body["ids"] as unknown[]).length, isExact: true });
    answer(response, 200, { done: true, count: 42, isExact: true });
  };

  const server = createServer((request, response) => {
    serve(request, response).catch((error) => response.destroy(error as Error));
  });
  server.keepAliveTimeout = 60_000; // a browser under load comes back late, to a connection that would be gone
  server.listen(port, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${prefix}`,
    acts,
    viewers: () => viewers.size,
    letStep() {
      mayGo += 1;
      letHeld();
    },
    async stop() {
      clearInterval(show);
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const matching = 2500;

function wouldTouch({ ids }: Record<string, unknown>, size: Size): object {
  if (Array.isArray(ids)) return { count: ids.length, isExact: true };
  return size === "huge" ? { count: 10_000, isExact: false } : { count: matching, isExact: true };
}

/** A thousand of all that match; the cursor says how many went before. */
function step(body: Record<string, unknown>): object {
  const done = Number(body["cursor"] ?? 0);
  const count = Math.min(matching - done, Number(body["limit"] ?? 100_000));
  const isLast = done + count >= matching;
  return { count, isExact: isLast, ...(!isLast && { next: { ...body, cursor: String(done + count) } }) };
}

function stream(response: ServerResponse, viewers: Set<ServerResponse>, now: () => unknown): void {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  response.write(`retry: 2000\n\nevent: sample\ndata: ${JSON.stringify(now())}\n\n`);
  viewers.add(response);
  response.on("close", () => viewers.delete(response));
}

function find(
  world: World,
  [first, name, third]: readonly string[],
  query: URLSearchParams,
  tick: number,
  role: string,
  isOpen: boolean,
): unknown {
  const list = (items: readonly unknown[] | undefined) => items && { items };
  switch (first) {
    case "session":
      return { name: "ann", role, version: "0.1.0", schema: "millrace", isOpen, isMounted: false };
    case "overview":
      return momentOf(world, tick).overview;
    case "history":
      return historyOf(world, query, tick);
    case "queues": {
      if (name === undefined) return list(world.queues);
      const queue = world.queues.find((one) => one.name === name);
      if (third === "why") return list(queue && world.why(queue.name));
      if (third === "types") return list(world.types);
      if (third === "groups") return list(world.groups);
      if (third === "peek") return list(world.jobs.filter(({ state }) => state === "ready").slice(0, 50));
      if (third === "events") return list(world.events);
      return queue;
    }
    case "groups":
      return list(
        world.groups.flatMap(({ group, settings: _settings, share: _share, ...rest }) =>
          group === null ? [] : [{ group, queues: world.queues.slice(0, 3).map((queue) => queue.name), ...rest }],
        ),
      );
    case "jobs":
      if (name === undefined) return jobsOf(world, query);
      if (third === "why") return list(world.jobWhy(name));
      if (third === "steps") return world.steps(name, query);
      if (third === "children") return world.children(name);
      if (third === "below") return { count: world.flow(name)?.jobs.length ?? 0, isExact: true };
      if (third === "log") return world.log(name);
      if (third === "payload") return pieceOf(world.payload(name), query);
      return world.details(name);
    case "names":
      return list(world.names(query.get("kind")!, query.get("part") ?? ""));
    case "flows":
      return world.flow(name!);
    case "schedules":
      if (name === undefined) return list(world.schedules);
      if (third === "runs") return list(world.runs);
      if (third === "events") return list(world.scheduleEvents);
      if (third === "next")
        return list(Array.from({ length: 5 }, (_, n) => new Date(Date.now() + (n + 1) * 3_600_000).toISOString()));
      return world.schedules.find((one) => one.name === name);
    case "alerts":
      return list(alertsOf(world.queues.length === 0, name));
    case "unhandled":
      return list(
        world.queues.slice(5, 6).map(({ name: queue }) => ({
          queue,
          type: "call-webhook",
          waiting: 1e12,
          oldestReadyAt: null,
          oldestAgeSeconds: null,
        })),
      );
    case "definitions":
      return {
        items: [
          {
            type: query.get("type") ?? "send",
            version: 3,
            queue: "mail",
            defaults: { maxAttempts: 7, retryDelaySeconds: [10, 60], attemptTimeoutSeconds: 120 },
            inputSchema: { type: "object", required: ["to"], properties: { to: { type: "string" } } },
            declaredBy: "mailer 2.1",
            declaredAt: new Date(Date.now() - 3_600_000).toISOString(),
          },
        ],
      };
    case "stages":
    case "pauses":
    case "workers":
    case "processes":
    case "running":
    case "limits":
    case "breakers":
      return list(world[first]);
    case "audit":
      return list(
        world.audit.filter(
          ({ who, action, object, result, because }) =>
            (!query.has("who") || query.get("who") === who) &&
            action.toLowerCase().includes((query.get("action") ?? "").toLowerCase()) &&
            `${object} ${because}`.includes(query.get("object") ?? "") &&
            (!query.has("result") || (query.get("result") === "done") === (result === "done")),
        ),
      );
    case "failures": {
      const total = world.failures.reduce((sum, { jobs }) => sum + jobs, 0);
      return { items: world.failures, total, isExact: total < 10_000 };
    }
    case "doctor":
      return list(world.findings);
    default:
      return undefined;
  }
}

/** Alerts, rules, web hooks or events. */
function alertsOf(isEmpty: boolean, what: string | undefined): readonly unknown[] {
  const at = new Date(Date.now() - 300_000).toISOString();
  const rule = { kind: "oldest", forSeconds: 60, remindSeconds: 86_400, silences: [], putBy: null, putAt: at };
  const unsilenced = { silencedUntil: null, silencedBy: null, silencedBecause: null };
  if (what === "rules")
    return [
      { ...rule, ...unsilenced, name: "oldest-job", options: { seconds: 900 }, hooks: [], on: true },
      {
        ...rule,
        name: "old-mail",
        options: { queue: "mail", seconds: 600 },
        hooks: ["ops"],
        on: true,
        silencedUntil: new Date(Date.now() + 1_800_000).toISOString(),
        silencedBy: "ann",
        silencedBecause: "known",
        silences: [
          { subject: "mail/send", until: new Date(Date.now() + 600_000).toISOString(), by: "bob", because: null },
        ],
      },
      { ...rule, ...unsilenced, name: "disk-size", kind: "size", options: { bytes: 5e10 }, hooks: [], on: false },
    ];
  if (isEmpty) return [];
  if (what === "hooks")
    return [
      { name: "ops", origin: "https://hooks.example.com", putBy: "ann", putAt: at, rules: ["old-mail"], senders: 0 },
    ];
  const message = "the oldest ready job of webhooks has waited for 1042 s";
  if (what === "events")
    return [
      { id: "2", at, event: "fired", rule: "oldest-job", subject: "webhooks", value: 1042, message, by: null },
      { id: "1", at, event: "put", rule: "old-mail", subject: null, value: null, message: null, by: "ann" },
    ];
  const alert = { rule: "oldest-job", kind: "oldest", since: at, value: 1042, silenced: false };
  return [
    { ...alert, subject: "webhooks", state: "firing", firedAt: at, message },
    {
      ...alert,
      rule: "old-mail",
      subject: "mail",
      state: "pending",
      firedAt: null,
      message: "the oldest ready job of mail has waited for 640 s",
    },
  ];
}

function jobsOf(world: World, query: URLSearchParams): unknown {
  // A look that has found nothing yet, as for a rare state among very many jobs.
  if (query.get("state") === "expired" && !query.has("cursor")) return { items: [], next: "7419230000000000001" };
  const wanted = ["state", "queue", "type", "group"] as const;
  const found = world.jobs.filter(
    (job) =>
      wanted.every((key) => !query.has(key) || job[key] === query.get(key)) &&
      (job.lastError?.message ?? "").includes(query.get("error") ?? "") &&
      (!query.has("failure") || job.lastError !== null) &&
      JSON.stringify(job.input).includes(query.get("input") ?? "") &&
      [job.type, job.queue, job.group, JSON.stringify(job.input), job.lastError?.message ?? ""].some((text) =>
        text?.toLowerCase().includes((query.get("text") ?? "").toLowerCase()),
      ),
  );
  const from = query.has("cursor") ? found.findIndex(({ id }) => id === query.get("cursor")) + 1 : 0;
  const items = found.slice(from, from + Number(query.get("limit") ?? 50));
  return { items, ...(from + items.length < found.length && { next: items.at(-1)!.id }) };
}

function pieceOf(bytes: Buffer | undefined, query: URLSearchParams): Buffer | undefined {
  if (!query.has("offset")) return bytes;
  const offset = Number(query.get("offset"));
  return bytes?.subarray(offset, offset + Number(query.get("length")));
}

const sum = (
  samples: readonly QueueSample[],
  key: "ready" | "blocked" | "delayed" | "suspended" | "running" | "in" | "out" | "failed",
): number => samples.reduce((total, one) => total + (one[key] ?? 0), 0);

function momentOf(world: World, tick: number): { overview: Overview; queues: readonly QueueSample[] } {
  const queues = world.samples(tick);
  const ages = queues.flatMap(({ oldestReadySeconds }) => oldestReadySeconds ?? []);
  const isEmpty = queues.length === 0;
  return {
    overview: {
      at: new Date().toISOString(),
      queues: queues.length,
      ready: sum(queues, "ready"),
      blocked: sum(queues, "blocked"),
      delayed: sum(queues, "delayed"),
      suspended: sum(queues, "suspended"),
      running: sum(queues, "running"),
      failedLastHour: isEmpty ? 0 : 37,
      failedLastHourIsExact: world.failures.length < 100,
      oldestReadySeconds: isEmpty ? null : Math.max(...ages),
      rates: {
        enqueuedPerSecond: sum(queues, "in"),
        finishedPerSecond: sum(queues, "out"),
        failedPerSecond: sum(queues, "failed"),
      },
      latency: isEmpty
        ? { p50: null, p95: null }
        : { p50: 0.012 + 0.004 * Math.sin(tick / 11), p95: 0.09 + 0.05 * Math.sin(tick / 19) ** 2 },
      workers: world.processes.flatMap(({ workers, state }) => (state === "lost" ? [] : workers)).length,
      holders: world.workers.length,
      warnings: world.findings.filter(({ state }) => state === "wrong").length,
      alerts: isEmpty ? 0 : 1,
    },
    queues,
  };
}

function historyOf(
  world: World,
  query: URLSearchParams,
  tick: number,
): { step: number; points: (Omit<Point, "at"> & { at: string })[] } {
  const seconds = Number(query.get("seconds") ?? 600);
  const step = seconds <= 600 ? 1 : seconds <= 86_400 ? 60 : 3600;
  const length = Math.min(world.queues.length > 100 ? 60 : 600, seconds / step);
  const points = Array.from({ length: world.queues.length === 0 ? 0 : length }, (_, n) => {
    const { overview, queues } = momentOf(world, tick - (length - 1 - n));
    const one = queues.find(({ queue }) => queue === query.get("queue"));
    const { ready, blocked, delayed, suspended, running, oldestReadySeconds, rates, latency } = overview;
    const point = one ?? {
      ready,
      blocked,
      delayed,
      suspended,
      running,
      oldestReadySeconds,
      in: rates.enqueuedPerSecond,
      out: rates.finishedPerSecond,
      failed: rates.failedPerSecond,
    };
    const stored =
      step === 1 ? {} : { runP50: 0.2, runP95: 1.1, kinds: n % 7 === 0 ? { TimeoutError: 2, lost: 1 } : null };
    // What is stored does not tell them apart.
    const told = { ...point, waiting: point.ready + point.blocked };
    const depth = step === 1 ? told : { ...told, ready: null, blocked: null, delayed: null, suspended: null };
    return { ...depth, ...latency, ...stored, at: new Date(Date.now() - (length - 1 - n) * step * 1000).toISOString() };
  });
  return { step, points };
}

async function text(request: IncomingMessage): Promise<string> {
  let all = "";
  for await (const chunk of request) all += String(chunk);
  return all;
}

function answer(response: ServerResponse, status: number, value: unknown, type = "application/json"): void {
  response.writeHead(status, { "content-type": type, "cache-control": "no-store" }).end(JSON.stringify(value));
}

function problem(response: ServerResponse, status: number, code: string, detail: string, remedy: string): void {
  answer(
    response,
    status,
    {
      type: "about:blank",
      title: detail,
      status,
      code,
      detail,
      remedy,
      requestId: "9d1c1e1a-0000-4000-8000-000000000001",
    },
    "application/problem+json",
  );
}
