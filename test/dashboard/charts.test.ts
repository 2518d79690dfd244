import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/wait.js";
import { hasBrowser, useBrowser } from "./browser.js";
import { type Fixture, startFixture } from "./fixture-api.js";

/** The marks of a time axis that were drawn last. */
const lastTicks = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const { written } = globalThis as unknown as { written: string[] };
    return written.filter((text) => /^\d\d:\d\d$/.test(text)).slice(-3);
  });
const areWholeHours = (ticks: readonly string[]): boolean =>
  ticks.length === 3 && ticks.every((text) => text.endsWith(":00"));

/** Of `08:15:00`, since midnight. */
const minutes = (text: string): number => Number(text.slice(0, 2)) * 60 + Number(text.slice(3, 5));

async function record(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const texts: string[] = [];
    Object.assign(globalThis, { written: texts });
    const drawn = Reflect.get(CanvasRenderingContext2D.prototype, "fillText") as (...given: unknown[]) => void;
    CanvasRenderingContext2D.prototype.fillText = function (...given) {
      texts.push(given[0]);
      drawn.apply(this, given);
    };
  });
}

describe.skipIf(!hasBrowser)("charts", () => {
  const open = useBrowser();
  let fixture: Fixture;
  beforeAll(async () => {
    fixture = await startFixture({ size: "normal" });
  });
  afterAll(() => fixture.stop());

  it("have their axes, and the time under the pointer, in the zone that is chosen", async () => {
    // Half a day and three quarters of an hour from UTC: no mark of one is one of the other.
    const zone = "Pacific/Chatham";
    const { page } = await open({ timezoneId: zone });
    await record(page);
    await page.goto(`${fixture.url}/dashboard/`);
    await page.getByRole("button", { name: "24 h" }).click();
    await until("whole hours of Chatham", async () => areWholeHours(await lastTicks(page)));
    /** So many minutes ago by a clock of that zone. */
    const underPointer = async (timeZone: string): Promise<number> => {
      const chart = page.locator(".chart").first();
      const { x, y, width, height } = (await chart.locator(".u-over").boundingBox())!;
      // The other half first: the pointer has to move.
      await page.mouse.move(x + width / 4, y + height / 2);
      await page.mouse.move(x + width - 1, y + height / 2);
      const told = await chart.locator(".chart-at", { hasText: /^\d\d:\d\d:\d\d$/ }).innerText();
      return (minutes(new Date().toLocaleTimeString("sv", { timeZone })) - minutes(told) + 1440) % 1440;
    };
    expect(await underPointer(zone)).toBeLessThan(10);
    await page.mouse.move(0, 0);
    const before = await lastTicks(page);
    await page.getByRole("button", { name: /show them in UTC/ }).click();
    await until("other hours than before", async () => {
      const ticks = await lastTicks(page);
      return areWholeHours(ticks) && ticks.join() !== before.join();
    });
    expect(await underPointer("UTC")).toBeLessThan(10);
  });

  it("go up to now, and say since when nothing was measured", async () => {
    const { page } = await open();
    await record(page);
    const ago = 3 * 3_600_000;
    await page.route("**/api/v1/history?*", async (route) => {
      const response = await route.fetch();
      const { step, points } = (await response.json()) as { step: number; points: { at: string }[] };
      const older = points.map((point) => ({ ...point, at: new Date(Date.parse(point.at) - ago).toISOString() }));
      await route.fulfill({ json: { step, points: step === 60 ? older : points } });
    });
    await page.goto(`${fixture.url}/dashboard/`);
    const chart = page.locator(".chart", { hasText: "Jobs per second" });
    await chart.locator(".chart-key b", { hasText: /\d/ }).first().waitFor();
    await page.getByRole("button", { name: "1 h" }).click();
    await chart.getByText("nothing since").waitFor();
    expect(await chart.locator(".chart-key b").allInnerTexts(), "nothing is known of now").toEqual(["–", "–", "–"]);
    expect(await chart.locator(".sr").innerText()).toMatch(/in: at the end \d.*, lowest/);
    const age = (text: string): number => (minutes(new Date().toISOString().slice(11)) - minutes(text) + 1440) % 1440;
    const oldest = async () => Math.max(...(await lastTicks(page)).map(age));
    await until("the axis goes back an hour from now", async () => (await oldest()) <= 61);
    await page.getByRole("button", { name: "10 min" }).click();
    await chart.getByText("nothing since").waitFor({ state: "detached" });
    await page.unrouteAll({ behavior: "ignoreErrors" }); // one may be on its way
  });

  it("fade with tiles, rows and small lines when the server is gone", async () => {
    const own = await startFixture({ size: "normal" });
    const { page } = await open();
    await page.goto(`${own.url}/dashboard/#/queues/mail`);
    const style = (selector: string) =>
      page
        .locator(selector)
        .first()
        .evaluate((element) => getComputedStyle(element).fontStyle);
    await page.locator(".light", { hasText: "Live" }).waitFor();
    for (const selector of [".totals dd", ".chart-key b"]) expect(await style(selector), selector).toBe("normal");
    await own.stop();
    await page.locator(".light", { hasText: "Reconnecting" }).waitFor();
    for (const selector of [".totals dd", ".chart-key b"]) expect(await style(selector), selector).toBe("italic");
    await page.evaluate(() => (location.hash = "#/"));
    expect(await style(".table-live td.end")).toBe("italic");
    expect(
      await page
        .locator(".sparkline")
        .first()
        .evaluate((element) => getComputedStyle(element).filter),
    ).toBe("grayscale(1)");
  });
});
