import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, it } from "vitest";
import { hasBrowser, useBrowser } from "./browser.js";
import { everywhere, subjects, visit } from "./every-page.js";
import { type Fixture, startFixture } from "./fixture-api.js";

/** Where pictures of all pages are put, for people to look at. Without it none are made. */
const folder = process.env["SHOTS"];

const looks = [
  ["light", { colorScheme: "light" }],
  ["dark", { colorScheme: "dark" }],
  ["phone", { colorScheme: "light", viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }],
  ["phone-dark", { colorScheme: "dark", viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }],
] as const;

describe.skipIf(!hasBrowser || folder === undefined)("pictures of every page", () => {
  const open = useBrowser();
  let fixture: Fixture;
  beforeAll(async () => {
    fixture = await startFixture({ size: "normal" });
    mkdirSync(folder!, { recursive: true });
  });
  afterAll(() => fixture.stop());

  for (const [look, options] of looks)
    it(
      look,
      async () => {
        const { page } = await open({ ...options, reducedMotion: "reduce" });
        await page.goto(`${fixture.url}/dashboard/`);
        await page.locator(".light", { hasText: "Live" }).waitFor();
        for (const [address, heading] of [...everywhere, ...subjects]) {
          await visit(page, address, heading);
          // Charts are drawn in the frame after the next.
          await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
          const name = (address || "overview").replaceAll(/[^\w-]+/g, "_");
          await page.screenshot({ path: join(folder!, `${name}.${look}.png`), fullPage: true });
        }
      },
      240_000,
    );
});
