import type { Page } from "playwright-core";
import { afterEach, describe, expect, it } from "vitest";
import { hasBrowser, useBrowser } from "./browser.js";
import { type Fixture, type FixtureOptions, startFixture } from "./fixture-api.js";
import { until } from "../support/wait.js";

describe.skipIf(!hasBrowser)("the dashboard and its server", () => {
  const open = useBrowser();
  const fixtures: Fixture[] = [];
  afterEach(async () => {
    await Promise.all(fixtures.splice(0).map((fixture) => fixture.stop()));
  });
  async function start(options: Partial<FixtureOptions> = {}): Promise<Fixture> {
    const fixture = await startFixture({ size: "normal", ...options });
    fixtures.push(fixture);
    return fixture;
  }
  const light = (page: Page, word: string) => page.locator(".light", { hasText: word }).waitFor();

  it("looks by one stream, on every page, and moves nothing while it does", async () => {
    const fixture = await start();
    const { page } = await open();
    await page.goto(`${fixture.url}/dashboard/`);
    await light(page, "Live");
    await page.locator(".warnings li").first().waitFor();
    const place = () =>
      page.evaluate(() =>
        JSON.stringify(
          [...document.querySelectorAll("main > *, tr")].map((one) => [
            one.getBoundingClientRect().top,
            one.getBoundingClientRect().height,
          ]),
        ),
      );
    const ready = () => page.locator(".totals dd").first().innerText();
    const [before, first] = [await place(), await ready()];
    await until("the numbers have changed", async () => (await ready()) !== first);
    expect(await place(), "every row and panel is where it was").toBe(before);
    for (const key of ["q", "j", "w", "o"]) {
      await page.keyboard.press("g");
      await page.keyboard.press(key);
    }
    await light(page, "Live");
    expect(fixture.viewers()).toBe(1);
  });

  it("stops looking while the tab is hidden", async () => {
    const fixture = await start();
    const { page } = await open();
    await page.goto(`${fixture.url}/dashboard/`);
    await light(page, "Live");
    const hide = (hidden: boolean) =>
      page.evaluate((is) => {
        Object.defineProperty(document, "hidden", { configurable: true, get: () => is });
        document.dispatchEvent(new Event("visibilitychange"));
      }, hidden);
    await hide(true);
    await until("nobody looks", () => fixture.viewers() === 0);
    await hide(false);
    await until("somebody looks again", () => fixture.viewers() === 1);
    await light(page, "Live");
  });

  it("says that the server is gone, and finds it again", async () => {
    const fixture = await start();
    const port = Number(new URL(fixture.url).port);
    const { page } = await open();
    await page.goto(`${fixture.url}/dashboard/#/workers`);
    await light(page, "Live");
    await fixture.stop();
    fixtures.length = 0;
    await light(page, "Reconnecting");
    await page.getByRole("alert").first().getByText("the server cannot be reached").waitFor();
    expect(await page.locator("tbody tr").count(), "what was known is still there").toBeGreaterThan(3);
    await page.evaluate(() => (location.hash = "#/"));
    await page.locator(".frame-stale .totals").waitFor();
    await page.evaluate(() => (location.hash = "#/workers"));
    await start({ port });
    await light(page, "Live");
    await page.getByRole("alert").first().waitFor({ state: "detached" });
    await page.evaluate(() => (location.hash = "#/"));
    await page.locator(".frame:not(.frame-stale) .totals").waitFor();
  });

  it("asks for a token, keeps it for the tab only, and forgets a wrong one", async () => {
    const fixture = await start({ token: "right" });
    const { page } = await open();
    await page.goto(`${fixture.url}/dashboard/#/queues`);
    await page.getByLabel("Token").fill("wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").getByText("the token is not known").waitFor();
    await page.getByLabel("Token").fill("right");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "billing" }).waitFor();
    expect(await page.evaluate(() => [sessionStorage.length, localStorage.length, document.cookie])).toEqual([
      1,
      0,
      "",
    ]);
    await page.reload();
    await page.getByRole("link", { name: "billing" }).waitFor();
    expect(page.url(), "a token is never in an address").not.toContain("right");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Token").waitFor();
    expect(await page.evaluate(() => sessionStorage.length)).toBe(0);
  });

  it("works below a prefix, from any address, and after a reload", async () => {
    const fixture = await start({ prefix: "/ops/queue" });
    const { page, complaints } = await open();
    await page.goto(`${fixture.url}/dashboard/queues/mail/groups`);
    const acme = page.getByRole("region", { name: "Groups of mail" }).getByRole("link", { name: "acme" });
    await acme.waitFor();
    expect(page.url()).toBe(`${fixture.url}/dashboard/#/queues/mail/groups`);
    await page.reload();
    await acme.waitFor();
    await page.getByRole("link", { name: "Schedules" }).click();
    await page.getByRole("link", { name: "nightly-report" }).click();
    await page.getByRole("heading", { name: "Next runs" }).waitFor();
    await page.goBack();
    await page.goBack();
    await acme.waitFor();
    await page.goto(`${fixture.url}/`);
    await page.waitForURL(`${fixture.url}/dashboard/`);
    await light(page, "Live");
    expect(complaints).toEqual([]);
  });

  it("follows the system's theme, or the switch, also before the first paint", async () => {
    const fixture = await start();
    const { page } = await open({ colorScheme: "dark" });
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    await page.goto(`${fixture.url}/dashboard/`);
    expect(await background()).toBe("rgb(14, 19, 21)");
    await page.getByRole("button", { name: "Theme: system" }).click();
    expect(await background()).toBe("rgb(245, 247, 247)");
    await page.reload({ waitUntil: "commit" });
    await page.waitForFunction(() => document.body !== null);
    expect(await background()).toBe("rgb(245, 247, 247)");
  });
});
