import { existsSync } from "node:fs";
import { type Browser, type BrowserContext, type BrowserContextOptions, type Page, chromium } from "playwright-core";
import { afterAll, afterEach, beforeAll } from "vitest";

const path =
  process.env["CHROMIUM_PATH"] ??
  ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((one) => existsSync(one));
/** Tests in a browser are those of `npm run test:browser`; where there is none, they are skipped and say so. */
const isWanted = process.env["ALL_PAGES"] !== undefined;
export const hasBrowser = path !== undefined && isWanted;
if (isWanted && !hasBrowser)
  console.warn("tests of the dashboard are skipped: no Chromium; install it, or name it in CHROMIUM_PATH");

export interface TestPage {
  readonly page: Page;
  /** What went wrong on the page: exceptions, errors on the console, refusals of the policy. */
  readonly complaints: string[];
}

/** One browser for the file; pages are closed after each test. */
export function useBrowser(): (options?: BrowserContextOptions) => Promise<TestPage> {
  let browser: Browser | undefined;
  const contexts: BrowserContext[] = [];
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: path!, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
  });
  afterEach(async () => {
    await Promise.all(contexts.splice(0).map((context) => context.close()));
  });
  afterAll(async () => {
    await browser?.close();
  });
  return async (options = {}) => {
    const context = await browser!.newContext({
      viewport: { width: 1280, height: 900 },
      locale: "en-GB",
      timezoneId: "UTC",
      ...options,
    });
    contexts.push(context);
    const page = await context.newPage();
    page.setDefaultTimeout(15_000);
    const complaints: string[] = [];
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("console", (message) => {
      if (message.type() === "error") complaints.push(message.text());
    });
    return { page, complaints };
  };
}
