import { describe, expect, it } from "vitest";
import { useServer } from "../server/api/server.js";

const server = useServer();
const producer = { role: "producer" } as const;
const worker = { role: "worker" } as const;
const nested = (levels: number): string => "[".repeat(levels) + "]".repeat(levels);

/** Enqueue with a producer's token; the text of the job as it is written. */
const enqueue = (text: string) => server.ask("POST", "/jobs", text, producer);

/** Another queue, which must not notice. */
async function expectOthersGoOn(): Promise<void> {
  const { body } = await enqueue('{"type": "good"}');
  const claimed = await server.ask("POST", "/claims", { types: ["good"], limit: 100 }, worker);
  expect(claimed.status).toBe(200);
  expect(JSON.stringify(claimed.body)).toContain(body.id);
  expect((await server.db.engine.maintain()).failed).toBeUndefined();
}

describe("over HTTP, with a producer's token", () => {
  it.each([
    [
      "retry delays that no time can be moved by",
      '{"type":"t","ttlSeconds":"computed","attemptTimeoutSeconds":1,"retry":1e13}',
    ],
    ["a retry delay of years", '{"type":"t","retry":1e16}'],
    ["a deadline beyond JavaScript's dates", '{"type":"t","deadline":"280000-01-01T00:00:00Z"}'],
    ["a deadline that never comes", '{"type":"t","deadline":"infinity"}'],
    ["a deadline in the year 10000", '{"type":"t","deadline":"9999-12-31T23:59:59-23:59"}'],
    ["a time to run that is none", '{"type":"t","runAt":"tomorrow"}'],
    ["half a character in a type", '{"type":"\\ud800"}'],
    ["half a character in a key of the input", '{"type":"t","input":{"\\udc00":1}}'],
    ["NUL in the input", '{"type":"t","input":"a\\u0000b"}'],
    ["half a character in the headers", '{"type":"t","headers":{"a":"\\ud800"}}'],
    ["a group that is no text", '{"type":"t","group":{}}'],
    ["lists in lists", `{"type":"t","input":${nested(505)}}`],
    ["very many lists in lists", `{"type":"t","input":${nested(100_000)}}`],
    ["headers that are too large", `{"type":"t","headers":{"x":"${"x".repeat(4_200_000)}"}}`],
    ["an input that is too large", `{"type":"t","input":"${"x".repeat(16_777_300)}"}`],
  ])("%s: a client's mistake, and others go on", async (_, text) => {
    const { status, body } = await enqueue(text);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(status).toBeLessThan(500);
    expect(body.code).toMatch(/^MR\d{3}$/);
    await expectOthersGoOn();
  });

  it("a lease, a factor and a timeout of a queue that no time can hold", async () => {
    for (const options of [{ leaseSeconds: 1e300 }, { leaseFactor: 1e300 }, { attemptTimeoutSeconds: 1e9 }]) {
      expect((await server.ask("PUT", "/queues/default", options)).status).toBe(400);
    }
    await expectOthersGoOn();
  });

  it("an error of any form is recorded, and lists of failures show it", async () => {
    for (const error of [{ message: "a\u0000b" }, { message: "x".repeat(300_000) }]) {
      await enqueue('{"type": "failing"}');
      const { body } = await server.ask("POST", "/claims", { types: ["failing"] }, worker);
      const [{ token, id }] = body.items as [{ token: string; id: string }];
      const settlements = [{ token, outcome: "failed", jobs: [id], error }];
      expect(await server.ask("POST", "/claims/settle", { settlements }, worker)).toMatchObject({
        status: 200,
        body: { refused: [] },
      });
    }
    expect((await server.ask("GET", "/failures")).status).toBe(200);
    await expectOthersGoOn();
  });
});
