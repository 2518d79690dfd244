import { describe, expect, it } from "vitest";
import { useServer } from "./server.js";

const server = useServer();
const megabyte = 1_000_000;

/**
 * What nobody can mean, as long as a body may be: each of these kept the server busy for seconds or more, or was sent
 * back in full.
 */
const long = "x".repeat(megabyte);
const brackets = (levels: number): string => `${"[".repeat(levels)}${"]".repeat(levels)}`;
const preview = (rule: object): readonly [string, string, object] => ["POST", "/schedules/preview", { rule }];
const refusals: readonly (readonly [what: string, method: string, path: string, body: unknown])[] = [
  ["the name of a zone", ...preview({ cron: "* * * * *", tz: long })],
  ["the name of a zone, with spaces", ...preview({ cron: "* * * * *", tz: "a b ".repeat(megabyte / 4) })],
  ["a cron expression", ...preview({ cron: `0 ${"1,".repeat(megabyte / 2)}1 * * *` })],
  ["a cron expression with a million fields", ...preview({ cron: "* ".repeat(megabyte / 2) })],
  [
    "a recurrence",
    ...preview({ rrule: `FREQ=YEARLY;BYDAY=${"MO,".repeat(megabyte / 4)}MO`, anchor: "2026-01-01T00:00:00Z" }),
  ],
  ["a part of a recurrence", ...preview({ rrule: `FREQ=YEARLY;${long}=1`, anchor: "2026-01-01T00:00:00Z" })],
  ["a length of time", ...preview({ every: "1s".repeat(megabyte / 2) })],
  ["a moment", ...preview({ at: long })],
  ["one of many moments", ...preview({ times: [long] })],
  ["a day", ...preview({ cron: "* * * * *", except: ["/".repeat(megabyte)] })],
  ["a calendar", ...preview({ cron: "* * * * *", calendars: [long] })],
  ["many calendars", ...preview({ cron: "* * * * *", calendars: Array.from({ length: 10_000 }, () => "c") })],
  ["a name in a rule", ...preview({ cron: "* * * * *", [long]: 1 })],
  ["a name in a query of a rule", "POST", "/schedules/preview", { rule: {}, [long]: 1 }],
  ["a name nobody knows", "POST", "/jobs", { type: "x", ["x".repeat(16 * megabyte)]: 1 }],
  ["a name of a resource", "POST", "/jobs", { type: "x", resources: { ["x".repeat(16 * megabyte)]: "1" } }],
  [
    "many resources",
    "POST",
    "/jobs",
    { type: "x", resources: Object.fromEntries(Array.from({ length: megabyte }, (_, i) => [i, ""])) },
  ],
  ["many delays", "POST", "/jobs", { type: "x", retry: Array.from({ length: 3 * megabyte }, () => "") }],
  ["many jobs that are none", "POST", "/jobs/many", { jobs: Array.from({ length: 3 * megabyte }, () => ({})) }],
  ["a million ids that are none", "POST", "/claims/settle", { settlements: settlements() }],
  ["a type", "POST", "/jobs", { type: "x".repeat(16 * megabyte) }],
  ["a queue", "POST", "/jobs", { type: "x", queue: "x".repeat(16 * megabyte) }],
  ["a lease", "POST", "/claims/extend", { tokens: [long] }],
  ["an option of a queue", "PUT", "/queues/x", { [long]: 1 }],
  ["levels of an input", "POST", "/jobs", `{"type":"x","input":${brackets(8 * megabyte)}}`],
  ["levels of a rule", "POST", "/schedules/preview", `{"rule":{"cron":${brackets(megabyte / 4)}}}`],
  ["levels that do not end", "POST", "/jobs", "[".repeat(16 * megabyte)],
  ["levels beside a key", "POST", "/jobs", `{"type":"x","input":${'{"a":'.repeat(megabyte)}1${"}".repeat(megabyte)}}`],
];

function settlements(): object[] {
  const jobs = Array.from({ length: 10_000 }, () => "x");
  return Array.from({ length: 300 }, () => ({ token: "t", outcome: "succeeded", jobs }));
}

describe("what a request makes the server compute is bounded", () => {
  for (const [what, method, path, body] of refusals) {
    it(`${what}: refused at once, in few words`, { timeout: 30_000 }, async () => {
      const answer = await server.ask(method, path, body);
      expect(answer.body.code, JSON.stringify(answer.body).slice(0, 1000)).toMatch(/^MR00[13]$/);
      expect(JSON.stringify(answer.body).length).toBeLessThan(10_000);
    });
  }

  it("an Idempotency-Key with a deep body is refused like any other", async () => {
    const answer = await server.ask("POST", "/jobs", `{"type":"x","input":${brackets(100_000)}}`, {
      headers: { "idempotency-key": "deep" },
    });
    expect(answer).toMatchObject({
      status: 400,
      body: { code: "MR001", detail: expect.stringContaining("510 levels") },
    });
  });

  it("a rule that is counted to the year 9000 is refused, and one whose slots are rare tells some, while others are served", async () => {
    const rule = {
      rrule: "FREQ=SECONDLY;INTERVAL=61;BYSECOND=1;BYMINUTE=1;BYHOUR=1;COUNT=10000",
      anchor: "1970-01-01T00:00:00Z",
    };
    const ask = (body: object) => server.ask("POST", "/schedules/preview", body, { role: "reader" });
    expect(await ask({ rule, from: "9000-01-01T00:00:00Z" })).toMatchObject({ status: 400, body: { code: "MR001" } });
    const rare = Array.from({ length: 5 }, (_, i) =>
      ask({
        rule: { ...rule, rrule: `FREQ=SECONDLY;INTERVAL=${601 + i};BYSECOND=0;BYMINUTE=0;BYHOUR=0` },
        count: 1000,
      }),
    );
    let isOver = false;
    const all = Promise.all(rare).finally(() => (isOver = true));
    expect((await server.ask("GET", "/session")).status).toBe(200);
    expect(isOver).toBe(false);
    for (const { status, body } of await all) {
      expect(status).toBe(200);
      expect(body.items.length).toBeGreaterThan(0);
    }
  });

  it("schedules with large inputs come in pages, however many are asked for", async () => {
    const put = (i: number) =>
      server.ask("PUT", `/schedules/large-${i}`, { rule: { every: "1d" }, job: { type: "x" }, input: long });
    for (let i = 0; i < 10; i += 1) expect((await put(i)).status).toBe(200);
    const first = (await server.ask("GET", "/schedules?limit=1000")).body;
    expect(first.items).toHaveLength(8);
    expect(first.next).toBe("large-7");
    const second = (await server.ask("GET", `/schedules?limit=1000&cursor=${first.next}`)).body;
    expect(second.items.map(({ name }: { name: string }) => name)).toEqual(["large-8", "large-9"]);
    expect(second.next).toBeUndefined();
  });

  it("dead letters, each a statement of its own, are a thousand at most", async () => {
    const jobs = Array.from({ length: 501 }, () => "1");
    const settlements = [1, 2].map(() => ({ token: "t", outcome: "deadLetter", queue: "dead", jobs }));
    expect(await server.ask("POST", "/claims/settle", { settlements })).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining("1000 dead letters") },
    });
  });

  it("brackets in a text are no levels", async () => {
    expect((await server.ask("POST", "/jobs", { type: "x", input: `"\\"${"[".repeat(5000)}` })).status).toBe(200);
  });

  it("what the audit notes of an object is short", async () => {
    expect((await server.ask("POST", "/failures/retry", { fingerprint: long })).status).toBeLessThan(500);
    const { body } = await server.ask("GET", "/audit?limit=10");
    expect(Math.max(...body.items.map(({ object }: { object: string }) => object.length))).toBeLessThanOrEqual(500);
  });
});
