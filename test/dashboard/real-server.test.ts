import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { useServer } from "../server/api/server.js";
import { waitingRun } from "../support/runs.js";
import { until } from "../support/wait.js";
import { hasBrowser, useBrowser } from "./browser.js";
import { hostile } from "./fixture-data.js";

const server = useServer({ prefix: "/ops" });
const pages = [
  "",
  "queues",
  "jobs",
  "failures",
  "groups",
  "schedules",
  "workers",
  "limits",
  "alerts",
  "health",
  "audit",
];

describe.skipIf(!hasBrowser)("the dashboard on a real server", () => {
  const open = useBrowser();
  let failedId: string;
  let bytesId: string;
  let hostileId: string;

  async function signIn(address: string): Promise<{ page: Page; complaints: string[] }> {
    const { page, complaints } = await open();
    await page.addInitScript((token) => sessionStorage.setItem("millrace.token", token), server.tokens.admin);
    await page.goto(`${server.url}/dashboard/#/${address}`);
    await page.locator("h1").waitFor();
    return { page, complaints };
  }

  async function visit(page: Page, address: string): Promise<void> {
    await page.evaluate((to) => (location.hash = `#/${to}`), address);
    await page.locator("h1").waitFor();
    await page.waitForFunction(() => document.querySelectorAll(".skeleton").length === 0);
    expect(await page.locator(".problem").allInnerTexts(), address).toEqual([]);
  }

  const confirm = async (
    page: Page,
    act: string | RegExp,
    button: string,
    fill: Record<string, string> = {},
  ): Promise<void> => {
    await page.getByRole("button", { name: act, exact: true }).first().click();
    const dialog = page.getByRole("dialog");
    for (const [label, value] of Object.entries(fill)) await dialog.getByLabel(label, { exact: true }).fill(value);
    await dialog.getByRole("button", { name: button, exact: true }).click();
    await dialog.waitFor({ state: "detached" });
  };

  it("helps where there is nothing yet", async () => {
    const { page, complaints } = await signIn("");
    for (const address of pages) await visit(page, address);
    await visit(page, "");
    await page.getByRole("heading", { name: "The first job" }).waitFor();
    await visit(page, "jobs");
    await page.getByText("await mill.enqueue").waitFor();
    expect(complaints).toEqual([]);
  });

  describe("with jobs", () => {
    beforeAll(async () => {
      const { engine } = server.db;
      await engine.queuePut("mail", {
        groupMaxRunning: 3,
        rate: { perSecond: 90, burst: 120 },
        breaker: { failures: 100 },
        deadLetterQueue: null,
      });
      await engine.queuePut("bulk");
      await engine.resourcePut("gpu", { maxRunning: 4 });
      await engine.enqueueMany(
        "send-mail",
        Array.from({ length: 30 }, (_, n) => ({ n })),
        { queue: "bulk" },
      );
      for (const group of ["acme", "globex"])
        await engine.enqueueMany(
          "send-mail",
          Array.from({ length: 20 }, (_, n) => ({ n })),
          { queue: "mail", group },
        );
      await engine.enqueue({ type: "invoice", queue: "mail", stage: "approval", input: {} });
      failedId = (await engine.enqueue({ type: "charge", queue: "mail", priority: 0, input: { account: 7 } })).id;
      hostileId = (
        await engine.enqueue({
          type: hostile,
          queue: "mail",
          priority: 0,
          group: hostile,
          input: { [hostile]: hostile },
        })
      ).id;
      bytesId = (
        await engine.enqueue({
          type: "upload",
          queue: "bulk",
          input: { name: "a.bin" },
          payload: Buffer.from(Array.from({ length: 100_000 }, (_, at) => at % 256)),
          contentType: "application/octet-stream",
        })
      ).id;
      const claimed = await engine.claim({
        queues: ["mail"],
        types: ["charge", hostile],
        limit: 5,
        worker: "host.example:17",
      });
      for (const job of claimed)
        await engine.fail(job, {
          message: job.type === "charge" ? "account 7 does not exist" : hostile,
          stack: hostile,
        });
      await engine.claim({
        queues: ["bulk"],
        types: ["send-mail"],
        limit: 4,
        worker: "host.example:18",
        leaseSeconds: 600,
      });
      await server.running.mill.schedule("nightly", { cron: "0 3 * * *", tz: "Europe/Berlin" }, "report", {
        kind: "daily",
      });
    });

    it("shows every page and every part of it without a complaint", async () => {
      const { page, complaints } = await signIn("");
      const parts = ["types", "groups", "stages", "peek", "events", "options"].map((tab) => `queues/mail/${tab}`);
      for (const address of [
        ...pages,
        "queues/mail",
        ...parts,
        `jobs/${failedId}`,
        `jobs/${bytesId}`,
        `jobs/${hostileId}`,
        `jobs?type=${encodeURIComponent(hostile)}`,
        "schedules/nightly",
      ])
        await visit(page, address);
      await visit(page, `jobs/${bytesId}`);
      await page.locator(".hex").getByText("00000000  00 01 02 03").waitFor();
      await page.getByRole("button", { name: "After" }).click();
      await page.locator(".hex").getByText("00004000  00 01 02 03").waitFor();
      await visit(page, "workers");
      expect(await page.locator("tbody").first().innerText()).toContain("host.example:18");
      await visit(page, "groups");
      expect(await page.locator("tbody").first().innerText()).toMatch(/acme[\s\S]*globex|globex[\s\S]*acme/);
      await visit(page, "");
      await until(
        "the sampler has counted",
        async () => (await page.locator(".totals dd").first().innerText()) !== "–",
      );
      expect(await page.evaluate(() => (globalThis as { pwned?: number }).pwned)).toBeUndefined();
      expect(complaints).toEqual([]);
    });

    it("pauses, resumes and limits a queue", async () => {
      const { page } = await signIn("queues/mail");
      const state = async () => (await server.ask("GET", "/queues/mail")).body;
      await confirm(page, "Pause", "Pause", { Why: "moving" });
      expect(await state()).toMatchObject({ state: "paused", pausedBy: "the-admin", pausedBecause: "moving" });
      await page.getByText("Paused").first().waitFor();
      await page.getByRole("button", { name: "Undo" }).click();
      await page.getByText("Taken back").waitFor();
      expect(await state()).toMatchObject({ state: "active" });
      await confirm(page, "Set limits", "Set", { "At once": "9", "Starts per second": "50" });
      expect((await state()).options).toMatchObject({
        maxRunning: 9,
        rate: { perSecond: 50, burst: 120 },
        groupMaxRunning: 3,
      });
      await visit(page, "queues/mail/groups");
      await confirm(page, "Pause acme", "Pause");
      expect((await server.ask("GET", "/pauses")).body.items).toMatchObject([{ queue: "mail", group: "acme" }]);
      await confirm(page, "Resume acme", "Resume");
      await confirm(page, "Set weight and limits of acme", "Set", { Weight: "3" });
      expect(await server.db.sql("select weight from groups where queue = 'mail'")).toEqual([{ weight: 3 }]);
      await visit(page, "queues/mail/stages");
      await confirm(page, "Release", "Release");
      expect((await server.ask("GET", "/stages")).body.items).toEqual([]);
    });

    it("retries what failed, by itself and by its kind, and cancels and purges what waits", async () => {
      const { page } = await signIn(`jobs/${failedId}`);
      const stateOf = async (id: string) => (await server.ask("GET", `/jobs/${id}`)).body.job.state;
      await confirm(page, "Retry", "Retry", { Why: "it exists now" });
      expect(await stateOf(failedId)).toBe("ready");
      await page.getByText("will be tried again").waitFor();
      expect(await page.getByRole("button", { name: "Undo" }).count(), "a retry cannot be taken back").toBe(0);
      await page.getByText("it exists now").waitFor();
      await visit(page, "failures");
      await confirm(page, /^Retry 1 jobs/, "Retry them");
      expect(["ready", "delayed"]).toContain(await stateOf(hostileId));
      await visit(page, `jobs/${failedId}`);
      await confirm(page, "Cancel", "Cancel the job");
      expect(await stateOf(failedId)).toBe("cancelled");
      await visit(page, "jobs?queue=bulk&type=send-mail");
      await page.getByRole("button", { name: "Cancel all" }).click();
      await page.getByRole("dialog").getByText("30 jobs").waitFor();
      await page.getByRole("dialog").getByRole("button", { name: "Keep as it is" }).click();
      await visit(page, "queues/mail");
      await page.getByRole("button", { name: "Purge" }).click();
      await page
        .getByRole("dialog")
        .getByText(/Touches \d+ jobs/)
        .waitFor();
      await page.getByRole("dialog").getByLabel("Type “mail” to confirm").fill("mail");
      await page.getByRole("dialog").getByRole("button", { name: "Purge" }).click();
      await page.getByText("mail is purged").waitFor();
      expect((await server.ask("GET", "/queues/mail")).body.depth.ready).toBe(0);
    });

    it("lets a delayed job run now, and no other", async () => {
      const { engine } = server.db;
      const { id } = await engine.enqueue({ type: "later", queue: "bulk", delaySeconds: 7200 });
      const { page } = await signIn(`jobs/${id}`);
      await confirm(page, "Run now", "Run now", { Why: "the customer waits" });
      await page.getByText(`later ${id} is due now`).waitFor();
      expect((await engine.get(id))!.job.state).toBe("ready");
      await until("it says so", () => page.getByRole("button", { name: "Run now", exact: true }).isDisabled());
      expect(JSON.stringify((await server.ask("GET", "/audit?limit=5")).body)).toContain("the customer waits");
    });

    it("runs, pauses, removes and brings back a schedule, and tries a rule", async () => {
      const { page } = await signIn("schedules/nightly");
      const get = async () => (await server.ask("GET", "/schedules/nightly")).body;
      await page.getByRole("button", { name: "Run now" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Run now" }).click();
      await page.getByText("nightly runs").waitFor();
      expect((await get()).openJobs).toHaveLength(1);
      await confirm(page, "Pause", "Pause", { Why: "inventory" });
      expect(await get()).toMatchObject({ health: "paused", pausedBecause: "inventory" });
      await confirm(page, "Resume", "Resume");
      await confirm(page, "Remove", "Remove");
      await page.waitForURL(/#\/schedules$/);
      expect(await get()).toMatchObject({ code: "MR016" });
      await page.getByRole("button", { name: "Declare it again" }).click();
      await page.getByText("is declared again").waitFor();
      expect(await get()).toMatchObject({
        rule: { cron: "0 3 * * *", tz: "Europe/Berlin" },
        job: { type: "report" },
        input: { kind: "daily" },
      });
      await page.getByLabel("Rule", { exact: true }).fill("every 15m");
      await page.getByRole("button", { name: "Show the next runs" }).click();
      await page.getByRole("list", { name: "Next runs" }).waitFor();
      expect(await page.getByRole("list", { name: "Next runs" }).getByRole("listitem").count()).toBe(10);
      await page.getByLabel("Rule", { exact: true }).fill("61 * * * *");
      await page.getByRole("button", { name: "Show the next runs" }).click();
      await page.getByRole("alert").getByText("MR001").waitFor();
    });

    it("shows the steps of a run and its children, and tells it what it waits for [#216]", async () => {
      await server.db.engine.queuePut("orders");
      const { id, children } = await waitingRun(server.db, "orders");
      const { page, complaints } = await signIn(`jobs/${id}`);
      const steps = page.getByRole("region", { name: "Steps" });
      await steps.getByText("card refused").waitFor();
      const told = await steps.innerText();
      for (const part of [
        "and waits for",
        "approved or rejected",
        "3 of 3 children of",
        "try 1",
        "2 tries",
        "for 34 ms",
        "3 jobs",
      ])
        expect(told.replaceAll(/\s+/g, " ")).toContain(part);
      await steps.getByText("What it gave").click();
      await steps.getByText("paid: true").waitFor();
      const listed = page.getByRole("region", { name: "Children" }).first();
      expect(await listed.locator("tbody .badge").allInnerTexts()).toEqual(["ready", "ready", "ready"]);

      await steps.getByRole("button", { name: "Tell" }).click();
      const dialog = page.getByRole("dialog", { name: "Tell order" });
      expect(await dialog.getByLabel("Signal").inputValue()).toBe("approved");
      await dialog.getByLabel("Value").fill("{not json");
      await dialog.getByRole("button", { name: "Tell" }).click();
      await dialog.getByText("the value is not JSON").waitFor();
      await dialog.getByLabel("Value").fill('{"by": "ann"}');
      await dialog.getByRole("button", { name: "Tell" }).click();
      await page.getByText(`order ${id} was told approved`).waitFor();
      await steps.getByText("came for").waitFor();
      expect((await server.db.engine.get(id))!.job).toMatchObject({ state: "ready", waits: null });

      await page.getByRole("link", { name: children[0]! }).first().click();
      await page.locator("h1", { hasText: children[0]! }).waitFor();
      await page.getByRole("link", { name: id }).click();
      await page.locator("h1", { hasText: id }).waitFor();
      expect(complaints).toEqual([]);
    });

    it("shows a flow as a graph, rewinds a run, and cancels one with what is below it [#216]", async () => {
      const { engine } = server.db;
      await engine.queuePut("flows");
      const options = { queue: "flows" };
      const { id, jobs } = await engine.flowEnqueue(
        [
          { type: "plan", options },
          ...Array.from({ length: 60 }, () => ({ type: "extract", options, after: [0] })),
          { type: "report", options, after: Array.from({ length: 60 }, (_, n) => n + 1) },
        ],
        { name: "nightly", queue: "flows" },
      );
      const { page, complaints } = await signIn(`jobs/${id}`);
      await page.locator("h1", { hasText: "nightly" }).waitFor();
      const graph = page.getByRole("list", { name: /^Jobs of the flow/ });
      await graph.getByText("60 suspended").waitFor();
      expect(await graph.getByRole("listitem").count()).toBe(3);
      await graph.getByRole("link", { name: /^plan/ }).click();
      await page.locator("h1", { hasText: jobs[0]! }).waitFor();
      await page.getByRole("link", { name: id }).click();
      await page.getByRole("button", { name: "Cancel", exact: true }).click();
      await page.getByRole("dialog").getByText("63 jobs").waitFor();
      await page.getByRole("dialog").getByRole("button", { name: "Cancel the job" }).click();
      await until("all have ended", async () => (await engine.below(id)).count === 0);
      await page.getByText("62 cancelled", { exact: true }).waitFor();

      const run = await waitingRun(server.db, "flows");
      await visit(page, `jobs/${run.id}`);
      await page.getByRole("button", { name: "Rewind to charge" }).click();
      await page.getByRole("dialog").getByText("charge, pack will be done again").waitFor();
      await page.getByRole("dialog").getByLabel("Why").fill("another card");
      await page.getByRole("dialog").getByRole("button", { name: "Rewind" }).click();
      await page.getByRole("region", { name: "Steps" }).getByText("another card").waitFor();
      expect((await engine.get(run.id))!.job.state).toBe("ready");
      expect((await engine.get(run.children[0]!))!.job.state).toBe("cancelled");
      expect(complaints).toEqual([]);
    });

    it("tells who did all that", async () => {
      const { page } = await signIn("audit");
      await page.getByText("rewind job").first().waitFor();
      await page.getByText("purge queue").first().waitFor();
      await page.getByText("tell job").first().waitFor();
      expect(await page.locator("tbody tr").count()).toBeGreaterThan(10);
    });

    it("lets a reader look and nothing else", async () => {
      const { page } = await open();
      await page.goto(`${server.url}/dashboard/#/queues/mail`);
      await page.getByLabel("Token").fill(server.tokens.reader);
      await page.keyboard.press("Enter");
      await page.getByText("the-reader (reader)").waitFor();
      await page.getByText("Over time").waitFor();
      expect(await page.getByRole("button", { name: "Purge" }).count()).toBe(0);
    });
  });
});
