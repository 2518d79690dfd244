import { afterEach, expect, it, vi } from "vitest";
import { useDatabase } from "../support/database.js";

const db = useDatabase();
afterEach(() => vi.restoreAllMocks());

/** Run an example as it stands, and give back what it printed, of each line the first thing. */
async function run(name: string, shown = ([line]: unknown[]): unknown => line): Promise<unknown[]> {
  const log = vi.spyOn(console, "log").mockImplementation(() => {});
  vi.stubEnv("DATABASE_URL", db.url);
  await import(`../../examples/${name}.ts`);
  vi.unstubAllEnvs();
  return log.mock.calls.map(shown);
}

it("a first job [#125]", async () => {
  expect(await run("first-job")).toEqual([{ greeting: "Hello, world!" }]);
});

it("exactly-once effects [#93] [#125]", async () => {
  expect(await run("exactly-once")).toEqual([{ charged: true }, { payments: 1 }]);
});

it("a batch handler [#125]", async () => {
  const [first, ...rest] = await run("batch-handler");
  expect(first).toMatch(/^indexing [123] documents at once$/);
  const results = rest.filter((line) => typeof line !== "string" || !line.startsWith("indexing"));
  expect(results).toEqual([{ words: 3 }, expect.stringContaining("nothing to index"), { words: 2 }]);
});

it("a schedule [#75] [#125]", async () => {
  const said = await run("schedule");
  const isPing = (line: unknown): boolean => line === "ping pings example.org";
  expect(said.filter(isPing).length).toBeGreaterThanOrEqual(2);
  expect(said.filter((line) => !isPing(line))).toEqual([
    "created",
    { health: "paused", pausedBecause: "enough for today", failedRuns: 0 },
    "2099-03-29T01:00:00.000Z",
  ]);
});

it("enqueue in a Drizzle transaction [#117] [#125]", async () => {
  expect(await run("drizzle-transaction")).toEqual(["rolled back, and the job with it", [{ orderId: 1 }]]);
});

it("a crash test [#217]", async () => {
  expect(await run("crash-test", (line) => line)).toEqual([
    [["charge", "cool-off", "mail"], []],
    [["charge", "note"], ['crash after "note": effects are 2, without a crash 1']],
  ]);
});

it("fan-out of 100,000 jobs [#125]", { timeout: 120_000 }, async () => {
  expect(await run("fan-out")).toEqual([{ mails: 100_000 }, "100000 mails sent"]);
});

it("inputs and results that the database holds encrypted", async () => {
  expect(await run("encryption", (line) => line)).toEqual([
    [{ finding: "Ada is well" }],
    ["the database has neither", ["aes256gcm"]],
  ]);
});

it("errors that go to a reporter, with the request they came from", async () => {
  expect(await run("error-reporting", (line) => line)).toEqual([
    ["reported: Error: the card was declined of", { type: "charge", attempt: 1, request: "r-42" }],
    ["charged 995 for request r-42"],
  ]);
});
