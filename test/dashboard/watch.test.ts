import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { useServer } from "../server/api/server.js";
import { hasBrowser, useBrowser } from "./browser.js";

const server = useServer();

async function confirm(page: Page, act: string, button: string, fill: Record<string, string> = {}): Promise<void> {
  await page.getByRole("button", { name: act, exact: true }).first().click();
  const dialog = page.getByRole("dialog");
  for (const [label, value] of Object.entries(fill)) {
    const field = dialog.getByLabel(new RegExp(`^${label}( \\(needed\\))?$`));
    if ((await field.evaluate(({ localName }) => localName)) === "select") await field.selectOption(value);
    else await field.fill(value);
  }
  await dialog.getByRole("button", { name: button, exact: true }).click();
  await dialog.waitFor({ state: "detached" });
}

describe.skipIf(!hasBrowser)("what people on call look at", () => {
  const open = useBrowser();

  async function signIn(address: string): Promise<{ page: Page; complaints: string[] }> {
    const { page, complaints } = await open();
    await page.addInitScript((token) => sessionStorage.setItem("millrace.token", token), server.tokens.admin);
    await page.goto(`${server.url}/dashboard/#/${address}`);
    await page.locator("h1").waitFor();
    return { page, complaints };
  }

  it("two workers of one process each say what they run", async () => {
    const worker = { queues: ["default"], types: ["send"], concurrency: 10 };
    const workers = [
      { ...worker, name: "runs-five", running: 5 },
      { ...worker, name: "runs-none", running: 0 },
      { ...worker, name: "has-not-said" },
    ];
    const facts = { host: "host", pid: 8, release: null, workers };
    await server.db.engine.workerBeat("host:8:x", facts, { running: 5, memoryBytes: 5e6, stalledSeconds: 0 });
    const { page } = await signIn("workers");
    const cells = async (name: string) =>
      (await page.getByRole("row", { name }).getByRole("cell").allInnerTexts()).slice(0, 3).map((text) => text.trim());
    await page.getByRole("row", { name: "runs-five" }).waitFor();
    expect(await cells("runs-five")).toEqual(["busy", "5", "10"]);
    expect(await cells("runs-none")).toEqual(["idle", "0", "10"]);
    expect(await cells("has-not-said")).toEqual(["busy", "–", "10"]);
    await server.db.engine.workerLeave("host:8:x");
  });

  describe("workers", () => {
    const id = "host:7:x";
    beforeAll(async () => {
      const worker = { name: "mailer", queues: ["default"], types: ["send"], concurrency: 10 };
      const facts = { host: "host", pid: 7, release: "r1", workers: [worker] };
      await server.db.engine.workerBeat(id, facts, { running: 1, memoryBytes: 5e6, stalledSeconds: 0 });
    });

    it("are listed while idle, paused with a reason, resumed, and told how many at once", async () => {
      const { page, complaints } = await signIn("workers");
      const row = page.getByRole("row", { name: /mailer/ });
      await row.getByText("busy").waitFor();
      await confirm(page, "Pause mailer", "Pause", { Why: "the provider is down" });
      await row.getByText("asked to pause by the-admin: the provider is down").waitFor();
      expect(
        (await server.db.engine.workerBeat(id, null, { running: 0, memoryBytes: 5e6, stalledSeconds: 0 })).orders,
      ).toEqual([
        expect.objectContaining({ worker: "mailer", hold: "pause", by: "the-admin", because: "the provider is down" }),
      ]);
      await confirm(page, "Drain mailer", "Drain", { Why: "a new release" });
      await row.getByText("asked to drain by the-admin: a new release").waitFor();
      await page.getByRole("button", { name: "Undo" }).last().click();
      await row.getByText("asked to pause by the-admin: the provider is down").waitFor();
      await confirm(page, "Resume mailer", "Resume");
      await confirm(page, "Concurrency of mailer", "Set", { "At once": "3" });
      await row.getByText("3 at once by the-admin").waitFor();
      expect((await server.ask("GET", "/audit?limit=1")).body.items[0]).toMatchObject({
        action: "POST /workers/concurrency",
        object: `worker mailer of process ${id}`,
        result: "done",
      });
      expect(complaints).toEqual([]);
    });
  });

  it("history is shown by the hour, the day and the month, of all, of a queue and of a type", async () => {
    const { engine } = server.db;
    await engine.queuePut("past");
    await engine.historySample();
    for (let n = 0; n < 2; n += 1) {
      await server.db.moveClock(62);
      await engine.historySample();
      await engine.enqueueMany("send", [1, 2, 3], { queue: "past" });
    }
    await server.db.moveClock(62);
    await engine.historySample();
    const { page, complaints } = await signIn("queues/past/types/send");
    await page
      .getByText(/^waiting: now [36],/)
      .first()
      .waitFor({ state: "attached" });
    await page.getByText("Failures by kind").waitFor();
    await page.getByText("30 days").click();
    await page.evaluate(() => (location.hash = "#/"));
    for (const span of ["1 h", "24 h", "30 days"]) {
      await page.getByText(span, { exact: true }).click();
      await page.getByText("Run time").waitFor();
    }
    expect(complaints).toEqual([]);
  });

  it("alerts: a rule is made, silenced and fires on the overview; a web hook shows its secret once", async () => {
    const { page, complaints } = await signIn("alerts");
    await confirm(page, "Set a web hook", "Set", { Name: "ops", Address: "http://127.0.0.1:9/secret-path" });
    await page.getByText(/^whsec_/).waitFor();
    await page.getByRole("button", { name: "I have it" }).click();
    await page.getByRole("row", { name: /ops/ }).getByText("http://127.0.0.1:9/…").waitFor();
    await confirm(page, "Make a rule", "Set", {
      Name: "large",
      Kind: "size",
      Bytes: "1",
      "For seconds": "0",
      "Web hooks": "ops",
    });
    await server.db.moveClock(20);
    await page
      .getByText(/^the tables have/)
      .first()
      .waitFor();
    await page.evaluate(() => (location.hash = "#/"));
    await page
      .getByText(/the tables have/)
      .first()
      .waitFor();
    await page.evaluate(() => (location.hash = "#/alerts"));
    await confirm(page, "Silence large", "Silence", { Why: "known" });
    await page
      .getByRole("row", { name: /^large/ })
      .getByText("silenced", { exact: true })
      .waitFor();
    await confirm(page, "Test ops", "Send");
    expect(await page.getByText("secret-path").count()).toBe(0);
    const metrics = await (
      await fetch(`${server.url}/metrics`, { headers: { authorization: `Bearer ${server.tokens.reader}` } })
    ).text();
    expect(metrics).toContain('millrace_alerts_firing{rule="large",subject="disk",silenced="true"} 1');
    const audit = JSON.stringify((await server.ask("GET", "/audit?limit=20")).body);
    expect(audit).toContain("web hook ops");
    expect(audit).not.toContain("secret-path");
    expect(complaints).toEqual([]);
  });
});
