import { describe, expect, it } from "vitest";
import { moment } from "../../../src/server/api/schemas.js";
import { waitingRun } from "../../support/runs.js";
import { until } from "../../support/wait.js";
import { makeToken, parseTokens } from "../../../src/server/auth/tokens.js";
import { startServer } from "../../../src/server/server.js";
import { useServer } from "./server.js";

const server = useServer();

describe("overview and live", () => {
  it("tells what waits, what came and what ended, by queue", async () => {
    const { engine } = server.db;
    await engine.queuePut("mail");
    expect((await server.ask("GET", "/session")).body).toMatchObject({
      name: "the-admin",
      role: "admin",
      schema: "millrace",
      isOpen: false,
    });
    await engine.enqueueMany(
      "send",
      Array.from({ length: 100 }, (_, i) => i),
      { queue: "mail" },
    );
    await until("the jobs are seen", async () => (await server.ask("GET", "/overview")).body.ready === 100);
    const jobs = await engine.claim({ queues: ["mail"], limit: 10, worker: "w" });
    await engine.fail(jobs[0]!, { message: "no" });
    await engine.completeMany(
      jobs[1]!.token,
      jobs.slice(1).map(({ id }) => id),
    );
    const seen = { out: 0, failed: 0, in: 0 };
    await until("rates", async () => {
      const { body } = await server.ask("GET", "/queues/mail");
      for (const key of ["in", "out", "failed"] as const) seen[key] = Math.max(seen[key], body[key] ?? 0);
      return seen.out > 0 && seen.failed > 0;
    });
    expect((await server.ask("GET", "/overview")).body).toMatchObject({ queues: 2, ready: 90, failedLastHour: 1 });
    expect((await server.ask("GET", "/history?queue=mail")).body.points.length).toBeGreaterThan(1);
  });

  it("streams a moment every second to all who look", async () => {
    const response = await fetch(`${server.url}/api/v1/live`, {
      headers: { authorization: `Bearer ${server.tokens.reader}` },
    });
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    let text = "";
    for await (const chunk of response.body!) {
      text += Buffer.from(chunk).toString();
      if (text.split("event: sample").length > 3) break;
    }
    const [, data] = /event: sample\ndata: (.*)\n\n/.exec(text)!;
    expect(moment.safeParse(JSON.parse(data!)).error?.issues).toBeUndefined();
    expect(JSON.parse(data!)).toMatchObject({
      overview: { ready: 90 },
      queues: [
        { queue: "default", ready: 0 },
        { queue: "mail", ready: 90 },
      ],
    });
  });

  it("says so while the database does not answer, and goes on afterwards", async () => {
    const ending = new AbortController();
    const response = await fetch(`${server.url}/api/v1/live`, {
      headers: { authorization: `Bearer ${server.tokens.reader}` },
      signal: ending.signal,
    });
    const events: string[] = [];
    const reading = (async () => {
      for await (const chunk of response.body!)
        for (const [, event] of Buffer.from(chunk)
          .toString()
          .matchAll(/^event: (\w+)$/gm))
          events.push(event!);
    })().catch(() => {});
    await until("a sample", () => events.at(-1) === "sample");
    await server.db.sql("alter function millrace.live_sample rename to live_sample_away");
    await until("it is blind", () => events.at(-1) === "blind");
    await server.db.sql("alter function millrace.live_sample_away rename to live_sample");
    await until("it sees again", () => events.at(-1) === "sample");
    ending.abort();
    await reading;
  });

  it("ends for those whose token is no longer one", async () => {
    const [one, other] = [makeToken("one", "reader"), makeToken("other", "reader")];
    const tokens = (...lines: string[]) => parseTokens(lines.join("\n"));
    const running = await startServer({ connection: server.db.url, port: 0, tokens: tokens(one.line, other.line) });
    const look = (token: string) =>
      fetch(`${running.url}/api/v1/live`, { headers: { authorization: `Bearer ${token}` } });
    try {
      const [ends, lasts] = [await look(one.token), await look(other.token)];
      running.replaceTokens(tokens(other.line));
      await expect(ends.text()).rejects.toThrow();
      const { value } = await lasts.body!.getReader().read();
      expect(Buffer.from(value).toString()).toContain("retry");
    } finally {
      await running.stop();
    }
  });
});

it("the oldest that is ready is none of a paused queue, nor a dead letter", async () => {
  const { engine } = server.db;
  const overview = async () => (await server.ask("GET", "/overview")).body as { oldestReadySeconds: number | null };
  const ageOf = async (queue: string) =>
    (await server.ask("GET", `/queues/${queue}`)).body.oldestReadySeconds as number;
  await engine.queuePut("letters");
  await engine.queuePut("source", { deadLetterQueue: "letters" });
  await engine.queuePut("held");
  for (const queue of ["letters", "held"]) await engine.enqueue({ type: "old", queue });
  await engine.queuePause("mail");
  await until("the letters' age is known", async () => (await ageOf("letters")) > 0);
  await until("nothing is ready but what is held", async () => {
    await engine.queuePause("held");
    return (await overview()).oldestReadySeconds === null;
  });
  expect(await ageOf("letters"), "it is told of its own queue").toBeGreaterThan(0);
  await engine.queueResume("held");
  await until("what was held is ready", async () => ((await overview()).oldestReadySeconds ?? 0) > 0);
});

it("suspended jobs are no delayed ones, as the states of jobs have it", async () => {
  const { db } = server;
  await db.engine.queuePut("sleepers");
  await waitingRun(db, "sleepers");
  await db.engine.enqueue({ type: "later", queue: "sleepers", delaySeconds: 3600 });
  const ofQueue = async () =>
    ((await server.ask("GET", "/history?queue=sleepers")).body.points as Record<string, number>[]).at(-1);
  await until("it is seen", async () => (await ofQueue())?.["suspended"] === 1);
  await until("the other one too", async () => (await ofQueue())?.["delayed"] === 1);
  const state = async (name: string) =>
    (await server.ask("GET", `/jobs?queue=sleepers&state=${name}`)).body.items.length as number;
  expect(await ofQueue()).toMatchObject({ delayed: await state("delayed"), suspended: await state("suspended") });
  expect(await ofQueue(), "ready and blocked").toMatchObject({ waiting: 3, ready: 3, blocked: 0 });
});

it("what is stored of a minute tells what waited, and does not call it ready", async () => {
  const { db } = server;
  await db.engine.historySample();
  await db.moveClock(60);
  await db.engine.historySample();
  const [point] = (await server.ask("GET", "/history?queue=sleepers&seconds=3600")).body.points.slice(-1);
  expect(point).toMatchObject({ waiting: 3, ready: null, blocked: null, delayed: null, suspended: null });
});
