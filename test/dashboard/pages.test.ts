import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasBrowser, useBrowser } from "./browser.js";
import { type Fixture, startFixture } from "./fixture-api.js";
import { everywhere, hostiles, setTheme, subjects, visit } from "./every-page.js";

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
describe.skipIf(!hasBrowser)("every page", () => {
  const open = useBrowser();

  for (const [size, pages] of [
    ["empty", everywhere],
    ["normal", [...everywhere, ...subjects]],
    ["huge", [...everywhere, ...subjects, ...hostiles]],
  ] as const) {
    describe(size, () => {
      let fixture: Fixture;
      beforeAll(async () => {
        fixture = await startFixture({ size });
      });
      afterAll(() => fixture.stop());

      it("shows itself, fits a screen and a phone, runs nothing of what it shows, and is readable by all", async () => {
        const { page, complaints } = await open({ reducedMotion: "reduce" });
        await page.goto(`${fixture.url}/dashboard/`);
        await page.evaluate(axeSource);
        for (const [address, heading] of pages) {
          await visit(page, address, heading);
          expect.soft(await overflow(page), `${size} ${address} is as wide as the screen`).toBeLessThanOrEqual(0);
          expect.soft(await findings(page), `${size} ${address}`).toEqual([]);
          // The dark theme has the same elements; its colours are looked at where the browser is not busy with a
          // million jobs.
          if (size !== "huge") {
            await setTheme(page, "dark");
            expect.soft(await findings(page, ["color-contrast"]), `${size} ${address}, dark`).toEqual([]);
            await setTheme(page);
          }
          // A phone has cards for rows, and other sizes of text.
          await page.setViewportSize({ width: 360, height: 740 });
          expect.soft(await overflow(page), `${size} ${address} is as wide as a phone`).toBeLessThanOrEqual(0);
          if (size !== "huge") {
            for (const theme of ["light", "dark"]) {
              await setTheme(page, theme);
              expect.soft(await findings(page, ["color-contrast"]), `${size} ${address}, ${theme} phone`).toEqual([]);
            }
            await setTheme(page);
          }
          await page.setViewportSize({ width: 1280, height: 900 });
        }
        expect(await page.evaluate(() => (globalThis as { pwned?: number }).pwned)).toBeUndefined();
        expect(complaints).toEqual([]);
      }, 240_000);
    });
  }
});

const overflow = (page: Page): Promise<number> =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

interface AxeResult {
  readonly violations: readonly {
    readonly id: string;
    readonly impact: string | null;
    readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
  }[];
}

async function findings(page: Page, rules?: readonly string[]): Promise<string[]> {
  const { violations } = await page.evaluate((only) => {
    const { axe } = globalThis as unknown as { axe: { run: (context: Document, options: object) => Promise<unknown> } };
    return axe.run(document, {
      resultTypes: ["violations"],
      ...(only && { runOnly: { type: "rule", values: only } }),
    }) as Promise<AxeResult>;
  }, rules);
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) =>
      nodes.slice(0, 3).map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary ?? ""}`),
    );
}
