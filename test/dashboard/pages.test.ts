import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasBrowser, useBrowser } from "./browser.js";
import { type Fixture, startFixture } from "./fixture-api.js";
import { endless, hostile, makeWorld, turned } from "./fixture-data.js";
import { flowIdOf } from "./fixture-flows.js";

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const jobs = makeWorld("huge").jobs;
const jobOf = (matches: (job: (typeof jobs)[number]) => boolean): string => jobs.find(matches)!.id;

/** Every page, and what its heading says. */
const everywhere: readonly (readonly [address: string, heading: RegExp])[] = [
  ["", /Overview/],
  ["queues", /Queues/],
  ["jobs", /Jobs/],
  ["failures", /Failures/],
  ["groups", /Groups/],
  ["schedules", /Schedules/],
  ["workers", /Workers/],
  ["limits", /Limits/],
  ["alerts", /Alerts/],
  ["health", /Health/],
  ["audit", /Audit/],
  ["enqueue", /New job/],
  ["new-schedule", /New schedule/],
  ["nowhere", /no such page/],
];
const subjects: readonly (readonly [address: string, heading: RegExp])[] = [
  ["queues/webhooks", /webhooks/],
  ["queues/mail/types", /mail/],
  ["queues/mail/types/send-mail", /send-mail/],
  ["queues/mail/groups", /mail/],
  ["queues/mail/stages", /mail/],
  ["queues/mail/peek", /mail/],
  ["queues/webhooks/events", /webhooks/],
  ["queues/billing/options", /billing/],
  [`jobs/${jobOf(({ state }) => state === "failed")}`, /charge-card|img/],
  [`jobs/${jobOf(({ state }) => state === "running")}`, /resize-image/],
  [`jobs/${jobOf(({ contentType }) => contentType === "image/png")}`, /import-file/],
  [`jobs/${jobOf(({ contentType }) => contentType === "application/octet-stream")}`, /index-document/],
  [`jobs/${jobOf(({ state }) => state === "suspended")}`, /index-document/],
  [`jobs/${jobOf(({ state }) => state === "cancelled")}`, /./],
  [`jobs/${flowIdOf("checkout")}`, /checkout/],
  [`jobs/${flowIdOf("nightly-import")}`, /nightly-import/],
  [`jobs/${flowIdOf("render-500")}`, /render-500/],
  [`jobs/${flowIdOf("tangled")}`, /tangled/],
  ["schedules/nightly-report", /nightly-report/],
  ["schedules/nightly-report/edit", /Edit nightly-report/],
  [`enqueue?from=${jobOf(({ state }) => state === "failed")}`, /Clone a job/],
  ["jobs?state=failed&type=charge-card", /Jobs/],
  ["failures?kind=0000048c27395000", /Failures/],
  ["audit?result=refused", /Audit/],
];
const hostiles: readonly (readonly [address: string, heading: RegExp])[] = [
  [`queues/${encodeURIComponent(hostile)}`, /img src=x/],
  [`queues/${encodeURIComponent(endless)}`, /name-nnn/],
  [`queues/${encodeURIComponent(turned)}`, /invoice/],
  [`jobs?type=${encodeURIComponent(endless)}`, /Jobs/],
  [`jobs/${jobOf(({ type }) => type === endless)}`, /name-nnn/],
  [`jobs/${jobOf(({ type }) => type === turned)}`, /invoice/],
  [`enqueue?from=${jobOf(({ type }) => type === turned)}`, /Clone/],
  [`jobs/${jobs[3]!.id}`, /img src=x/],
  [`jobs/${jobs[0]!.id}`, /very-very/],
  [`jobs/${jobOf(({ contentType }) => contentType === "text/html")}`, /call-webhook/],
  [`schedules/${encodeURIComponent(hostile)}`, /img src=x/],
];

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
            await page.evaluate(() => (document.documentElement.dataset["theme"] = "dark"));
            expect.soft(await findings(page, ["color-contrast"]), `${size} ${address}, dark`).toEqual([]);
            await page.evaluate(() => delete document.documentElement.dataset["theme"]);
          }
          await page.setViewportSize({ width: 360, height: 740 });
          expect.soft(await overflow(page), `${size} ${address} is as wide as a phone`).toBeLessThanOrEqual(0);
          await page.setViewportSize({ width: 1280, height: 900 });
        }
        expect(await page.evaluate(() => (globalThis as { pwned?: number }).pwned)).toBeUndefined();
        expect(complaints).toEqual([]);
      }, 240_000);
    });
  }
});

async function visit(page: Page, address: string, heading: RegExp): Promise<void> {
  await page.evaluate((to) => (location.hash = `#/${to}`), address);
  await page.locator("h1", { hasText: heading }).waitFor();
  await page.waitForFunction(() => document.querySelectorAll(".skeleton").length === 0);
}

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
