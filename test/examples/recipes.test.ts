import { readFileSync, readdirSync } from "node:fs";
import { drizzle } from "drizzle-orm/node-postgres";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from "vitest";
import { agent, runAgent } from "../../examples/recipes/agent.js";
import { answerExpense, askForExpense, decideExpense, expense } from "../../examples/recipes/approval.js";
import { answerLeave, decideLeave, leave } from "../../examples/recipes/email-link.js";
import { campaignEnded, mail, sendMail, startCampaign, summarize } from "../../examples/recipes/batch-callback.js";
import {
  declareNightly,
  extract,
  load,
  loadAll,
  nightly,
  report,
  startImport,
} from "../../examples/recipes/nightly-import.js";
import { syncAll, syncItem, syncShop } from "../../examples/recipes/pages.js";
import { exportReport, runExport } from "../../examples/recipes/polling.js";
import { bookTrip, trip } from "../../examples/recipes/saga.js";
import { PermanentError, type Worker } from "../../src/index.js";
import { type TestMill, createTestMill } from "../../src/testing/index.js";

let test: TestMill;
let worker: Worker;
let world: string[] = [];
const before = (): void => void (world = []);
const effects = (): string[] => world.toSorted();
const does = (what: string): Promise<void> => Promise.resolve(void world.push(what));

beforeAll(async () => {
  test = await createTestMill({ url: inject("serverUrl"), schema: "recipes" });
});
beforeEach(() => {
  before();
  worker = test.mill.worker({ pollInterval: 50, heartbeatThread: false });
});
afterEach(() => worker.stop({ force: true }));
afterAll(() => test.close());

describe("recipes, with a crash after each step", () => {
  it.each([
    { ok: true, state: "succeeded", effects: ["flight", "hotel"] },
    { ok: false, state: "failed", effects: ["flight", "hotel", "no flight", "no hotel"] },
  ])("saga: the card is good: $ok [#217]", async ({ ok, ...end }) => {
    const bookings = (id: string) => ({
      book: async () => does(id).then(() => ({ id })),
      cancel: async () => does(`no ${id}`),
    });
    const travel = { flights: bookings("flight"), hotels: bookings("hotel"), bank: { charge: async () => ({ ok }) } };
    const told = await test.runWithCrashes(trip, { to: "Oslo", cents: 9900 }, bookTrip(travel), { before, effects });
    expect(told.differences).toEqual([]);
    expect(told.steps).toEqual(["flight", "hotel", "pay"]);
    expect(told.without).toMatchObject(end);
  });

  it("human approval with reminders [#217]", async () => {
    const handler = decideExpense({ send: async (to, text) => does(`${to}: ${text}`) });
    const input = { id: "7", boss: "ann" };
    const late = await test.runWithCrashes(expense, input, handler, { before, effects });
    expect(late.differences).toEqual([]);
    expect(late.without.result).toEqual({ approved: false, by: "nobody" });
    expect(late.without.calls).toEqual({ ask: 1, remind: 1, "remind#2": 1, "remind#3": 1 });

    before();
    worker.handle(expense, handler);
    const job = await askForExpense(test.mill, input);
    await test.drain(worker);
    await test.advance("49h");
    await test.drain(worker);
    const answer = () => answerExpense(test.mill, "7", { approved: true, by: "ann" }, "click-1");
    expect(await answer()).toBe(true);
    expect(await answer().catch(() => false)).toBe(false); // a duplicate, or too late
    await test.drain(worker);
    expect(await test.mill.result(job)).toEqual({ approved: true, by: "ann" });
    expect(world).toEqual(["ann: Please look at expense 7.", "ann: Expense 7 still waits."]);
  });

  it("approval by a link in a mail [#202] [#217]", async () => {
    const input = { person: "bob", boss: "ann" };
    const handler = decideLeave({ send: async (to) => does(`ask ${to}`) }, "https://example.com");
    const report = await test.runWithCrashes(leave, input, handler, {
      before,
      effects,
      signals: [{ name: "decided", value: { approved: true } }],
    });
    expect(report.differences).toEqual([]);
    expect(report.steps).toEqual(["token decided", "ask", "decided"]);

    let link = "";
    worker.handle(leave, decideLeave({ send: async (_to, text) => void (link = text) }, "https://example.com"));
    const job = await test.mill.enqueue(leave, input);
    await test.drain(worker);
    const token = /token=(\w+)/.exec(link)![1]!;
    expect(await answerLeave(test.mill, token.slice(0, -1), true)).toBe("This link is not complete.");
    expect(await answerLeave(test.mill, token, true)).toBe("Thank you.");
    expect(await answerLeave(test.mill, token, false)).toMatch(/^Too late: this token was used before/);
    await test.drain(worker);
    expect(await test.mill.result(job)).toEqual({ approved: true });
  });

  it("polling until it is ready [#217]", async () => {
    const handler = runExport({
      start: async () => does("start").then(() => ({ id: "e1" })),
      look: async () =>
        does("look").then(() => (world.length < 5 ? { state: "busy" } : { state: "ready", url: "https://x.test/e1" })),
    });
    const told = await test.runWithCrashes(exportReport, { report: "sales" }, handler, { before, effects });
    expect(told.differences).toEqual([]);
    expect(told.without).toMatchObject({ state: "succeeded", result: { url: "https://x.test/e1" } });
    expect(told.steps).toHaveLength(9);
  });

  it("an agent with tools and a budget [#217]", async () => {
    const tools = { add: async (input: unknown) => (input as number[]).reduce((sum, n) => sum + n, 0) };
    const handler = runAgent(async (messages) => {
      await does(`turn ${messages.length}`);
      if (messages.length > 1) return { text: JSON.stringify(messages.at(-1)!.content), calls: [], cents: 3 };
      const calls = [
        { id: "a", tool: "add", input: [1, 2] },
        { id: "b", tool: "fly", input: null },
      ];
      return { text: "", calls, cents: 4 };
    }, tools);
    const told = await test.runWithCrashes(agent, { task: "1 + 2", budgetCents: 10 }, handler, { before, effects });
    expect(told.differences).toEqual([]);
    expect(told.without.result).toMatchObject({ cents: 7, answer: expect.stringMatching(/^\[3,"failed: .*no tool/) });
    const poor = await test.runWithCrashes(agent, { task: "1 + 2", budgetCents: 4 }, handler, { before, effects });
    expect(poor.differences).toEqual([]);
    expect(poor.without).toMatchObject({ state: "failed", error: "the budget is used up", effects: ["turn 1"] });
  });

  it("fan-out over pages [#217]", async () => {
    const pages = [["a", "b"], ["c"], ["d"]];
    const list = async (cursor: string | null) => {
      const at = Number(cursor ?? 0);
      return { ids: pages[at]!, next: at + 1 < pages.length ? String(at + 1) : null };
    };
    worker.handle(syncItem, async ({ input }) => does(input).then(() => true));
    const options = { before, effects, worker };
    const told = await test.runWithCrashes(syncShop, { shop: "s" }, syncAll({ list }), options);
    expect(told.differences).toEqual([]);
    expect(told.without).toMatchObject({ result: { pages: 3, items: 4 }, effects: ["a", "b", "c", "d"] });
  });

  it("a nightly import, whose flow is made once [#217]", async () => {
    const store = { files: async (day: string) => [`${day}-1.csv`, `${day}-2.csv`] };
    const handler = startImport(test.mill, drizzle(test.pool), store);
    const told = await test.runWithCrashes(nightly, null, handler, {
      before: async () => void (world = (await test.enqueued("millrace.flow")).map(({ id }) => id)),
      effects: async () => (await test.enqueued("millrace.flow")).length - world.length,
      isSame: (a, b) => Object.keys(a as object).join() === Object.keys(b as object).join(),
    });
    expect(told.differences).toEqual([]);
    expect(told.without).toMatchObject({ state: "succeeded", effects: 1 });
  });
});

it("a nightly import: the schedule, the flow and what its jobs hand on", async () => {
  const days: string[] = [];
  const store = { files: async (day: string) => [`${day}-1.csv`, `${day}-2.csv`, `${day}-3.csv`] };
  for (const { id } of await test.enqueued("millrace.flow")) await test.mill.cancel(id); // those that crashes left
  worker
    .handle(nightly, startImport(test.mill, drizzle(test.pool), store))
    .handle(extract, ({ input }) => {
      if (input.file.endsWith("3.csv") && days.length > 0) throw new PermanentError("not a CSV");
      return { rows: 10 };
    })
    .handle(load, loadAll)
    .handle(report, ({ input }) => void days.push(input.day));
  const { next } = await declareNightly(test.mill);
  for (let night = 0; night < 2; night += 1) {
    await test.advance("1d");
    await test.drain(worker);
  }
  await test.mill.schedules.remove("nightly-import");
  expect(days).toEqual(next.slice(0, 2).map((slot) => slot.toISOString().slice(0, 10)));
  const loads = (await test.enqueued(load)).filter(({ input }) => days.includes((input as { day: string }).day));
  expect(loads.slice(-2).map(({ state, result }) => [state, result])).toEqual([
    ["succeeded", { rows: 30 }],
    ["cancelled", null],
  ]);
});

it("a batch with a callback at the end, also when some of it fails", async () => {
  worker.handle(
    mail,
    sendMail({ send: async (to) => (to === "bad" ? Promise.reject(new Error("no such address")) : does(to)) }),
  );
  worker.handle(campaignEnded, summarize);
  const { id, jobs } = await startCampaign(test.mill, "spring", ["ann", "bad", "bob"]);
  await test.drain(worker);
  for (let hour = 0; hour < 2; hour += 1) {
    await test.advance("1h");
    await test.drain(worker);
  }
  expect(await test.mill.result(jobs.at(-1)!)).toEqual({ sent: 2, failed: 1 });
  await expect(test.mill.result(id)).rejects.toThrow();
  expect(world.toSorted()).toEqual(["ann", "bob"]);
});

describe("docs/recipes.md", () => {
  const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
  const page = read("docs/recipes.md");
  const files = readdirSync(new URL("../../examples/recipes", import.meta.url)).map(
    (file) => `examples/recipes/${file}`,
  );

  it.each(files)("shows %s as it is", (file) => {
    const part = page.split("\n## ").find((section) => section.includes(`(../${file})`));
    const blocks = [...(part ?? "").matchAll(/```ts\n([\s\S]*?)```/g)].map(([, block]) => block!);
    expect(blocks).toHaveLength(1);
    expect(read(file)).toContain(blocks[0]);
  });

  it("has a recipe for each, and is found from the README and from the guide", () => {
    expect(page.match(/^## /gm)).toHaveLength(files.length);
    expect(read("README.md")).toContain("(docs/recipes.md)");
    expect(read("docs/steps.md")).toContain("(recipes.md)");
  });
});
