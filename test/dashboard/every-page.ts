import type { Page } from "playwright-core";
import { endless, hostile, makeWorld, turned } from "./fixture-data.js";
import { flowIdOf } from "./fixture-flows.js";

const jobs = makeWorld("huge").jobs;
const jobOf = (matches: (job: (typeof jobs)[number]) => boolean): string => jobs.find(matches)!.id;

/** Every page, and what its heading says. */
export const everywhere: readonly (readonly [address: string, heading: RegExp])[] = [
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
/** Pages of one queue, job or schedule. */
export const subjects: readonly (readonly [address: string, heading: RegExp])[] = [
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
/** Those with names that would break out, or through. */
export const hostiles: readonly (readonly [address: string, heading: RegExp])[] = [
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

export async function visit(page: Page, address: string, heading: RegExp): Promise<void> {
  await page.evaluate((to) => (location.hash = `#/${to}`), address);
  await page.locator("h1", { hasText: heading }).waitFor();
  await page.waitForFunction(() => document.querySelectorAll(".skeleton").length === 0);
}

/** As the switch sets it; without a theme, that of the system. */
export const setTheme = (page: Page, theme?: string): Promise<void> =>
  page.evaluate((name) => {
    if (name === undefined) delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = name;
  }, theme);
