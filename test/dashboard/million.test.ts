import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { useServer } from "../server/api/server.js";
import { until } from "../support/wait.js";
import { hasBrowser, useBrowser } from "./browser.js";

const server = useServer();
const waiting = 1_000_000;
const finished = 50_000;
const failed = 3000;

describe.skipIf(!hasBrowser)("the dashboard with a million jobs", () => {
  const open = useBrowser();
  const asked = new Set<string>();
  const slow: [path: string, ms: number][] = [];
  let page: Page;
  let someId: string;

  beforeAll(async () => {
    const { engine } = server.db;
    await engine.queuePut("bulk");
    await engine.queuePut("mail");
    const thousand = Array.from({ length: 1000 }, (_, n) => ({ n, to: `user-${n}@example.com` }));
    for (let done = 0; done < finished + failed; done += 1000)
      await engine.enqueueMany("send-mail", thousand, { queue: "mail" });
    for (let done = 0; done < finished + failed; done += 1000) {
      const jobs = await engine.claim({ queues: ["mail"], limit: 1000, worker: "host.example:7" });
      const ids = jobs.map(({ id }) => id);
      const token = jobs[0]!.token;
      if (done < finished) await engine.completeMany(token, ids);
      else await engine.settle([{ token, outcome: "failed", jobs: ids, error: { message: "mailbox 17 is full" } }]);
    }
    for (let done = 0; done < waiting; done += 1000) {
      const group = done % 10_000 === 0 ? `tenant-${done / 10_000}` : undefined;
      const jobs = await engine.enqueueMany("resize", thousand, {
        queue: "bulk",
        ...(group ? { group, tenant: group } : {}),
      });
      someId ??= jobs[0]!.id;
    }
    await engine.claim({ queues: ["bulk"], limit: 500, worker: "host.example:8", leaseSeconds: 600 });
  }, 600_000);

  async function visit(address: string): Promise<void> {
    await page.evaluate((to) => (location.hash = `#/${to}`), address);
    await page.locator("h1").waitFor();
    await page
      .waitForFunction(() => document.querySelectorAll(".skeleton").length === 0)
      .catch((error: unknown) => {
        throw new Error(`${address} is not there yet: it waits for ${[...asked].join(", ")}`, { cause: error });
      });
    expect(await page.locator(".problem").allInnerTexts(), address).toEqual([]);
  }

  it("shows every page, counts all of them, pages through them and finds one among them", async () => {
    const opened = await open();
    page = opened.page;
    page.on("request", (request) => asked.add(request.url()));
    page.on("requestfinished", (request) => {
      const { pathname, search } = new URL(request.url());
      asked.delete(request.url());
      if (pathname.startsWith("/api/") && !pathname.endsWith("/live"))
        slow.push([pathname + search, request.timing().responseEnd]);
    });
    await page.addInitScript((token) => sessionStorage.setItem("millrace.token", token), server.tokens.admin);
    await page.goto(`${server.url}/dashboard/`);
    await page.locator("h1").waitFor();
    for (const address of ["queues", "jobs", "failures", "groups", "schedules", "workers", "limits", "health", "audit"])
      await visit(address);
    for (const tab of ["", "/types", "/groups", "/stages", "/peek", "/events", "/options"])
      await visit(`queues/bulk${tab}`);
    await visit("queues");
    await until("the million is counted", async () =>
      /(1,000,\d\d\d|1M|1\.0M|999,\d\d\d)/.test(await page.locator("tbody").first().innerText()),
    );
    await visit("jobs?queue=bulk&state=ready");
    expect(await page.locator("tbody tr").count()).toBeGreaterThan(10);
    const first = await page.locator("tbody tr").first().innerText();
    await page.getByRole("link", { name: "Older" }).click();
    await page.waitForFunction((before) => document.querySelector("tbody tr")?.textContent !== before, first);
    await visit(`jobs/${someId}`);
    await visit("jobs?state=failed");
    await visit("jobs?tenant=tenant-40");
    expect(await page.locator("tbody tr").count()).toBeGreaterThan(0);
    await visit("failures");
    expect(await page.locator("main").innerText()).toContain("mailbox");
    slow.sort(([, a], [, b]) => b - a);
    console.log(
      `slowest requests with ${waiting.toLocaleString("en")} waiting:\n${slow
        .slice(0, 6)
        .map(([path, ms]) => `  ${Math.round(ms)} ms ${path}`)
        .join("\n")}`,
    );
    expect(opened.complaints).toEqual([]);
  }, 300_000);
});
