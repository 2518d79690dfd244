import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningServer, startServer } from "../../src/server/server.js";
import { useCellMills } from "../support/cell-mills.js";
import { makeIdsEqual } from "../support/equal-ids.js";
import { type Proxy, startProxy } from "../support/proxy.js";
import { until } from "../support/wait.js";
import { hasBrowser, useBrowser } from "./browser.js";

const cells = useCellMills();
const shots = process.env["SHOTS"];

describe.skipIf(!hasBrowser)("the dashboard over three cells", () => {
  const open = useBrowser();
  const queues: Record<string, string> = {};
  let server: RunningServer;
  let proxy: Proxy;
  const ends: (() => void)[] = [];

  beforeAll(async () => {
    proxy = await startProxy(cells.urls.b, (end) => ends.push(end));
    server = await startServer({ cells: { ...cells.urls, b: proxy.url }, port: 0, graceMs: 500 });
    for (const [n, cell] of ["a", "b", "c"].entries()) {
      queues[cell] = await cells.nameIn(cell, server.mill);
      await server.mill.queues.put(queues[cell]);
      await server.mill.engine.enqueueMany(`work-of-${cell}`, [1, 2, 3].slice(n), { queue: queues[cell] });
    }
  }, 60_000);
  afterAll(async () => {
    proxy.thaw();
    await server.stop();
    for (const end of ends) end();
  });

  async function visit(page: Page, address: string): Promise<void> {
    await page.goto(`${server.url}/dashboard/#/${address}`);
    await page.locator("h1").waitFor();
    await page.waitForFunction(() => document.querySelectorAll(".skeleton").length === 0);
  }

  /** Pictures for whoever wants to look: light, dark and on a phone. */
  async function picture(page: Page, name: string): Promise<void> {
    if (!shots) return;
    for (const [look, scheme, width] of [
      ["light", "light", 1280],
      ["dark", "dark", 1280],
      ["phone", "light", 390],
    ] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      await page.setViewportSize({ width, height: 900 });
      await page.screenshot({ path: `${shots}/${name}-${look}.png` });
    }
    await page.setViewportSize({ width: 1280, height: 900 });
  }

  it("lists say the cell of each row, and are of one where that is chosen", async () => {
    const { page, complaints } = await open();
    await visit(page, "queues");
    const row = (name: string) => page.getByRole("row").filter({ hasText: name });
    for (const [cell, name] of Object.entries(queues))
      await until(`the row of ${name}`, async () => (await row(name).innerText()).split(/\s+/).includes(cell));
    await picture(page, "queues");
    await page.getByRole("group", { name: "Cell" }).getByRole("link", { name: "b", exact: true }).click();
    await row(queues["a"]!).waitFor({ state: "detached" });
    await row(queues["b"]!).waitFor();

    await visit(page, "jobs?cell=c");
    await page.getByText("work-of-c").first().waitFor();
    expect(await page.getByText("work-of-a").count()).toBe(0);
    await visit(page, "jobs");
    await picture(page, "jobs");
    for (const address of ["failures", "workers", "limits", "schedules", "alerts", "audit", "health", "tenants"]) {
      await visit(page, address);
      expect(await page.locator(".problem").allInnerTexts(), address).toEqual([]);
    }
    await picture(page, "tenants");
    expect(complaints).toEqual([]);
  });

  it("[#227] shows the one of two jobs with equal ids that was asked for, and acts on that one", async () => {
    await makeIdsEqual(cells.dbs.a, cells.dbs.c);
    const [a] = await server.mill.engine.enqueueMany("twin-of-a", [1], { queue: queues["a"]! });
    const [c] = await server.mill.engine.enqueueMany("twin-of-c", [1], { queue: queues["c"]! });
    expect(a!.id.slice(2)).toBe(c!.id.slice(2));
    const { page } = await open();
    await visit(page, `jobs/${a!.id}`);
    await page.getByText("twin-of-a").first().waitFor();
    await visit(page, `jobs/${c!.id}`);
    await page.getByText("twin-of-c").first().waitFor();
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
    const dialog = page.getByRole("dialog");
    await dialog
      .getByRole("button", { name: /^Cancel/ })
      .last()
      .click();
    await dialog.waitFor({ state: "detached" });
    const stateOf = async (id: string) => (await server.mill.engine.get(id))!.job.state;
    await until("it is cancelled", async () => (await stateOf(c!.id)) === "cancelled");
    expect(await stateOf(a!.id)).toBe("ready");
  });

  it("[#239] a cell that hangs is named on every page, and on that of cells", async () => {
    const { page } = await open();
    await visit(page, "cells");
    await until("all are members", async () => (await page.getByText("member", { exact: true }).count()) === 3);
    expect(await page.locator(".banner").count()).toBe(0);
    await picture(page, "cells");
    proxy.freeze();
    await page.getByText("Cell b does not answer.").waitFor();
    await page.getByText("missing", { exact: true }).waitFor();
    await picture(page, "cells-missing");
    await visit(page, "queues");
    await page.getByText("Cell b does not answer.").waitFor();
    await page.getByText(queues["a"]!).first().waitFor();
    await picture(page, "queues-missing");
    proxy.thaw();
    await page.locator(".banner").waitFor({ state: "detached" });
  });
});
