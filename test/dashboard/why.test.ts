import type { Page } from "playwright-core";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { isolated } from "../../dashboard/parts/isolated.js";
import { useServer } from "../server/api/server.js";
import { hasBrowser, useBrowser } from "./browser.js";

const server = useServer();
const hebrew = "\u05e9\u05dc\u05d5\u05dd";

describe.skipIf(!hasBrowser)("why something waits", () => {
  const open = useBrowser();
  let page: Page;
  let blocked: string;

  beforeAll(async () => {
    const { engine } = server.db;
    await engine.queuePut("mail", { breaker: { failures: 1, pauseSeconds: 3600 } });
    const letters = await engine.enqueueMany("newsletter", [1, 2, 3], { queue: "mail" });
    blocked = letters[0]!.id;
    await engine.enqueueMany("charge", [1, 2, 3, 4, 5], { queue: "mail" });
    await engine.enqueueMany("resize", [1, 2], { queue: "mail", group: hebrew });
    const [job] = await engine.claim({ queues: ["mail"], types: ["charge"] });
    await engine.fail(job!, { message: "503 of the bank" });
    await engine.queuePause("mail", { type: "newsletter", by: "bob", because: "a wrong text" });
    await engine.queuePause("mail", { group: hebrew, by: "ann" });
    await engine.groupPut("mail", hebrew, { weight: 3, rate: { perSecond: 5, burst: 20 } });
  });

  beforeEach(async () => {
    ({ page } = await open());
    await page.addInitScript((token) => sessionStorage.setItem("millrace.token", token), server.tokens.admin);
  });

  const visit = async (address: string): Promise<void> => {
    await page.goto(`${server.url}/dashboard/#/${address}`);
    await page.locator("h1").waitFor();
    await page.waitForFunction(() => document.querySelectorAll(".skeleton").length === 0);
  };

  it("stands on the pages of a queue, its types and groups, and a job; ready and blocked are apart", async () => {
    await visit("queues/mail");
    const why = page.getByRole("note", { name: "Why it waits" });
    await why.waitFor();
    expect((await why.locator("li").allInnerTexts()).map((text) => text.replaceAll(/[\u2066-\u2069]/g, ""))).toEqual([
      expect.stringMatching(/^3 jobs: type newsletter is paused since .* ago by bob: a wrong text$/),
      expect.stringMatching(new RegExp(`^2 jobs: group ${hebrew} is paused since .* ago by ann$`)),
      expect.stringMatching(/^4 jobs: the breaker of charge is open, next try in .*: 503 of the bank$/),
      expect.stringMatching(/^3 jobs: no worker that is known handles newsletter$|^\d jobs: no worker/),
      expect.stringMatching(/^and \d reasons? more$/),
    ]);
    const totals = page.locator("dl.totals");
    await page.waitForFunction(() => /Blocked\s*9/.test(document.querySelector("dl.totals")?.textContent ?? ""));
    expect(await totals.innerText()).toMatch(/Ready\s+0/);
    expect(
      await page
        .locator(".why-name")
        .first()
        .evaluate((name) => name.localName),
    ).toBe("bdi");

    await visit("queues/mail/types");
    await page
      .getByRole("row", { name: /charge/ })
      .getByText("the breaker of")
      .waitFor();
    expect(await page.getByRole("row", { name: /charge/ }).innerText()).toContain("blocked");
    await visit("queues/mail/groups");
    await page
      .getByRole("row", { name: new RegExp(hebrew) })
      .getByText("is paused since")
      .waitFor();
    await visit(`jobs/${blocked}`);
    await why.getByText("a wrong text").waitFor();
  });

  it("a queue in which nothing can start is not called active, in the list and in its heading", async () => {
    const { engine } = server.db;
    for (const queue of ["alone", "served"]) await engine.queuePut(queue);
    await engine.enqueueMany("nobody", [1, 2], { queue: "alone" });
    await engine.enqueueMany("somebody", [1, 2], { queue: "served" });
    await server.db.sql("select millrace.worker_beat('served', $1::jsonb, 0, 0)", [
      JSON.stringify({
        host: "h",
        pid: 1,
        release: "1",
        workers: [{ name: "served", queues: ["served"], types: null, concurrency: 1 }],
      }),
    ]);
    await visit("queues");
    for (const [queue, word] of Object.entries({ mail: "blocked", alone: "no worker", served: "active" })) {
      const row = page.getByRole("row", { name: new RegExp(`^${queue} `) });
      await row.locator(".badge").getByText(word, { exact: true }).waitFor();
    }
    for (const [queue, word] of Object.entries({ mail: "blocked", alone: "no worker", served: "active" })) {
      await visit(`queues/${queue}`);
      await page.locator(".page-title .badge").getByText(word, { exact: true }).waitFor();
    }
  });

  it("the page of a type has what workers have declared of it", async () => {
    await server.db.engine.typeDeclare(
      [
        {
          type: "newsletter",
          queue: "mail",
          version: 3,
          defaults: { maxAttempts: 7 },
          inputSchema: { type: "object" },
        },
      ],
      "mailer 2.1",
    );
    await visit("queues/mail/types/newsletter");
    const panel = page.getByRole("region", { name: "Definition" });
    for (const text of ["mailer 2.1", "maxAttempts", "7"])
      await panel.getByText(text, { exact: false }).first().waitFor();
  });

  it("the page of a type has its numbers, why they wait, and what can be done", async () => {
    await visit("queues/mail/types/newsletter");
    await page.getByRole("note", { name: "Why it waits" }).getByText("a wrong text").waitFor();
    await page.locator(".page-title .badge").getByText("paused", { exact: true }).waitFor();
    expect((await page.locator("dl.totals").innerText()).replaceAll(/\s+/g, " ")).toMatch(
      /Ready 0 Blocked 3 Running 0 Delayed 0 Oldest ready –/,
    );
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Resume" }).click();
    await page.locator(".page-title .badge").getByText("no worker", { exact: true }).waitFor();
    await page.locator("dl.totals").getByText("3", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Pause", exact: true }).click();
    await page
      .getByRole("dialog")
      .getByLabel(/because|why/i)
      .fill("a wrong text");
    await page.getByRole("dialog").getByRole("button", { name: "Pause" }).click();
    await page.locator(".page-title .badge").getByText("paused", { exact: true }).waitFor();
  });

  it("why a group waits stands above its jobs", async () => {
    await visit(`jobs?queue=mail&group=${encodeURIComponent(hebrew)}`);
    await page.getByRole("note", { name: "Why it waits" }).getByText("is paused since").waitFor();
    await visit("jobs?queue=mail");
    expect(await page.getByRole("note", { name: "Why it waits" }).count()).toBe(0);
  });

  it("every pause of a part is listed and can be resumed, that of a group in one type too", async () => {
    const { engine } = server.db;
    await engine.queuePut("parts");
    await engine.enqueueMany("send", [1, 2, 3], { queue: "parts", group: "acme" });
    await engine.queuePause("parts", { type: "send", group: "acme", by: "ann", because: "their invoice" });
    await engine.queuePause("parts", { type: "gone", by: "bob" });
    await visit("queues/parts/groups");
    const parts = page.getByRole("region", { name: "Paused parts of parts" });
    await parts.getByRole("row", { name: /group acme of type send.*ann.*their invoice/s }).waitFor();
    await page.getByRole("region", { name: "Groups of parts" }).getByText("paused for send").waitFor();
    const row = page.getByRole("region", { name: "Groups of parts" }).getByRole("row", { name: /acme/ });
    expect(await row.getByRole("cell").allInnerTexts()).toEqual(expect.arrayContaining(["0", "3"]));
    await parts.getByRole("button", { name: "Resume group acme of type send" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Resume" }).click();
    await parts.getByRole("row", { name: /acme/ }).waitFor({ state: "detached" });
    expect((await engine.pauses()).filter(({ queue }) => queue === "parts")).toMatchObject([{ type: "gone" }]);
    for (const tab of ["", "/types"]) {
      await visit(`queues/parts${tab}`);
      await parts.getByRole("button", { name: "Resume type gone" }).waitFor();
    }
  });

  it("the dialog of a group has its present values, and clears one", async () => {
    await visit("queues/mail/groups");
    await page.getByRole("button", { name: `Set weight and limits of ${hebrew}` }).click();
    const value = (label: string) => page.getByRole("spinbutton", { name: label }).inputValue();
    expect([await value("Weight"), await value("At once"), await value("Starts per second")]).toEqual(["3", "", "5"]);
    await page.getByRole("spinbutton", { name: "Weight" }).fill("");
    await page.getByRole("spinbutton", { name: "At once" }).fill("7");
    await page.getByRole("dialog").getByRole("button", { name: "Set" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    const [group] = await server.db.engine.groups();
    expect(group).toMatchObject({ weight: 1, maxRunning: 7, rate: { perSecond: 5, burst: 20 } });
  });

  it("names from right to left keep the words around them in place", async () => {
    expect(isolated("plain")).toBe("plain");
    const { id } = await server.db.engine.enqueue({ type: hebrew, queue: "mail" });
    await visit(`jobs/${id}`);
    await page.getByRole("button", { name: "Cancel" }).click();
    await page
      .getByRole("dialog")
      .getByRole("button", { name: /^Cancel/ })
      .click();
    const told = page.locator(".toast").getByText("is cancelled");
    await told.waitFor();
    // The words stand in the order in which they are written: an id after such a name would else stand before it.
    const placeOf = (word: string): Promise<number> =>
      told.evaluate((element, searched) => {
        const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
        for (let text = texts.nextNode() as Text | null; text; text = texts.nextNode() as Text | null) {
          const at = text.data.indexOf(searched);
          if (at < 0) continue;
          const range = document.createRange();
          range.setStart(text, at);
          range.setEnd(text, at + searched.length);
          return range.getBoundingClientRect().left;
        }
        return NaN;
      }, word);
    const places = [await placeOf(hebrew), await placeOf(id), await placeOf("is cancelled")];
    expect(places.toSorted((a, b) => a - b)).toEqual(places);
    for (const selector of ["a", ".badge"])
      expect(
        await page
          .locator(selector)
          .first()
          .evaluate((one) => getComputedStyle(one).unicodeBidi),
        selector,
      ).toBe("isolate");
  });
});
