import type { Page } from "playwright-core";
import { afterEach, describe, expect, it } from "vitest";
import { hasBrowser, useBrowser } from "./browser.js";
import { type Fixture, type FixtureOptions, startFixture } from "./fixture-api.js";
import { makeWorld } from "./fixture-data.js";
import { flowIdOf } from "./fixture-flows.js";

describe.skipIf(!hasBrowser)("what the dashboard does", () => {
  const open = useBrowser();
  const fixtures: Fixture[] = [];
  afterEach(async () => {
    await Promise.all(fixtures.splice(0).map((fixture) => fixture.stop()));
  });

  async function visit(
    address: string,
    options: Partial<FixtureOptions> = {},
  ): Promise<{ page: Page; fixture: Fixture; complaints: string[] }> {
    const fixture = await startFixture({ size: "normal", ...options });
    fixtures.push(fixture);
    const { page, complaints } = await open();
    await page.goto(`${fixture.url}/dashboard/#/${address}`);
    await page.locator("h1").waitFor();
    return { page, fixture, complaints };
  }

  const button = (page: Page, name: string | RegExp) =>
    page.getByRole("button", { name, exact: typeof name === "string" });

  it("pauses with a reason, and takes it back", async () => {
    const { page, fixture } = await visit("queues/mail");
    await button(page, "Pause").click();
    const dialog = page.getByRole("dialog", { name: "Pause mail" });
    await dialog.getByLabel("Why").fill("the provider is down");
    await dialog.getByRole("button", { name: "Pause" }).click();
    await page.getByRole("status").getByText("mail is paused").waitFor();
    expect(fixture.acts).toEqual([
      { method: "POST", path: "/queues/mail/pause", body: { because: "the provider is down" } },
    ]);
    await button(page, "Undo").click();
    await page.getByText("Taken back").waitFor();
    expect(fixture.acts.at(-1)).toMatchObject({ path: "/queues/mail/resume" });
  });

  it("says how many a purge touches before it is done, and does nothing when it is not confirmed", async () => {
    const { page, fixture } = await visit("queues/mail", { size: "huge" });
    await button(page, "Purge").click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("12,345,678 jobs or more").waitFor();
    await dialog.getByRole("button", { name: "Keep as it is" }).click();
    await dialog.waitFor({ state: "detached" });
    expect(fixture.acts).toEqual([]);
    expect(await page.evaluate(() => document.activeElement?.textContent), "the focus is back where it was").toBe(
      "Purge",
    );
  });

  it("purges when the name was typed, and not before", async () => {
    const { page, fixture } = await visit("queues/mail");
    await button(page, "Purge").click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("42 jobs").waitFor();
    expect(await dialog.getByRole("button", { name: "Purge" }).isDisabled()).toBe(true);
    await dialog.getByLabel("Type “mail” to confirm").fill("mail");
    await dialog.getByRole("button", { name: "Purge" }).click();
    await page.getByText("mail is purged").waitFor();
    expect(fixture.acts).toMatchObject([{ path: "/queues/mail/purge" }]);
  });

  it("acts on all that match, in steps, tells how far it is, and stops when it is told to", async () => {
    const { page, fixture, complaints } = await visit("jobs", { holdsSteps: true });
    expect(await button(page, "Retry all").isDisabled(), "not on everything there is").toBe(true);
    await page.evaluate(() => (location.hash = "#/jobs?state=failed&input=uploads"));
    await button(page, "Retry all").click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("2,500 jobs").waitFor();
    await dialog.getByLabel("Per second").fill("50");
    await dialog.getByLabel("Why").fill("the bank is back");
    await dialog.getByRole("button", { name: "Retry them" }).click();
    fixture.letStep();
    await dialog.getByText("1,000 jobs of 2,500").waitFor();
    fixture.letStep();
    await dialog.getByText("2,000 jobs of 2,500").waitFor();
    fixture.letStep();
    await page.getByText("2,500 jobs will be tried again").waitFor();
    const filter = { state: "failed", input: "uploads" };
    expect(fixture.acts.map(({ path, body }) => [path, body["cursor"]])).toEqual([
      ["/jobs/retry", undefined],
      ["/jobs/retry", "1000"],
      ["/jobs/retry", "2000"],
    ]);
    expect(fixture.acts[0]!.body).toEqual({
      filter,
      limit: 1000,
      because: "the bank is back",
      attempts: 1,
      perSecond: 50,
    });
    await button(page, "Discard all").click();
    await dialog.getByText("2,500 jobs").waitFor();
    await dialog.getByRole("button", { name: "Discard them" }).click();
    await dialog.getByRole("button", { name: "Stop" }).click();
    fixture.letStep();
    await page.getByText("Stopped: 1,000 jobs discarded").waitFor();
    expect(await button(page, "Cancel all").isDisabled(), "what failed has ended").toBe(true);
    expect(complaints).toEqual([]);
  });

  it("counts on when nothing was found yet, until it is exact, and stops when somebody goes ahead", async () => {
    const { page, fixture, complaints } = await visit("jobs?state=failed&error=rare", { countsLate: true });
    const dialog = page.getByRole("dialog");
    const act = dialog.getByRole("button", { name: "Retry them" });
    await button(page, "Retry all").click();
    await dialog.getByText("Counting… no job found yet").waitFor();
    expect(await act.isDisabled(), "it is not known that there is one").toBe(true);
    fixture.letStep();
    await dialog.getByText("Counting… 10,000 jobs so far").waitFor();
    expect(await act.isDisabled(), "there are some").toBe(false);
    fixture.letStep();
    await dialog.getByText("Touches 10,007 jobs").waitFor();
    expect(await dialog.getByText("nothing to do").count()).toBe(0);
    await dialog.getByRole("button", { name: "Keep as it is" }).click();
    await button(page, "Discard all").click();
    fixture.letStep();
    await dialog.getByText("Counting… 10,000 jobs so far").waitFor();
    await dialog.getByRole("button", { name: "Discard them" }).click();
    await page.getByText("2,500 jobs discarded").waitFor();
    expect(new Set(fixture.acts.map(({ path }) => path))).toEqual(new Set(["/jobs/discard"]));
    expect(complaints).toEqual([]);
  });

  it("shows six concerns first, says what the rest is, and shows it all when it is asked to", async () => {
    const fixture = await startFixture({ size: "normal" });
    fixtures.push(fixture);
    const { page, complaints } = await open();
    const alert = { rule: "oldest-job", kind: "oldest", value: 1, silenced: false, state: "firing", message: "late" };
    const at = new Date(0).toISOString();
    const items = Array.from({ length: 6 }, (_, n) => ({ ...alert, subject: `q${n}`, since: at, firedAt: at }));
    await page.route("**/api/v1/alerts", (route) => route.fulfill({ json: { items } }));
    await page.goto(`${fixture.url}/dashboard/#/`);
    const panel = page.locator("section, .panel").filter({ has: page.getByRole("heading", { name: "Worth a look" }) });
    await panel.getByText(/^and \d+ findings?, .*pauses?$/).waitFor();
    expect(await panel.getByRole("listitem").count()).toBe(6);
    await panel.getByRole("button", { name: /^Show all \d+$/ }).click();
    await panel.getByText("paused", { exact: true }).first().waitFor();
    await panel.getByRole("button", { name: "Show fewer" }).click();
    expect(await panel.getByRole("listitem").count()).toBe(6);
    expect(complaints).toEqual([]);
  });

  it("counts on the side what fires, beside what the doctor found", async () => {
    const { page } = await visit("");
    const side = page.getByRole("navigation", { name: "Pages" });
    await side.getByRole("link", { name: /^Alerts 1 alert fires$/ }).waitFor();
    await side.getByRole("link", { name: /^Health \d+ warnings?$/ }).waitFor();
    const tile = (name: string) => page.locator(".totals > div").filter({ hasText: name }).locator("dd");
    expect(Number(await tile("Workers").innerText())).toBeGreaterThan(0);
    expect(await tile("Failed, last hour").innerText()).toBe("37");
  });

  it("says of failures that there are more where it is not all of them", async () => {
    const { page } = await visit("", { size: "huge" });
    await page.locator(".totals").getByText("37+").waitFor();
  });

  it("goes from row to row, opens and chooses them by keyboard, and acts on those that were chosen", async () => {
    const { page, fixture } = await visit("jobs?state=failed");
    await page.locator("tbody tr").first().waitFor();
    const ids = await page.locator("tbody tr th a").allInnerTexts();
    for (const key of ["j", "Space", "j", "j", "k", "Space"]) await page.keyboard.press(key);
    await page.getByText("2 jobs chosen").waitFor();
    expect(await page.locator("tr[aria-selected=true] th a").allInnerTexts()).toEqual(ids.slice(0, 2));
    await page.getByRole("group", { name: "Chosen jobs" }).getByRole("button", { name: "Discard" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Touches 2 jobs").waitFor();
    await dialog.getByRole("button", { name: "Discard them" }).click();
    await page.getByText("2 jobs discarded").waitFor();
    expect(fixture.acts).toEqual([{ method: "POST", path: "/jobs/discard", body: { ids: ids.slice(0, 2) } }]);
    expect(await page.getByText("jobs chosen").count(), "what was done is no longer chosen").toBe(0);
    await page.getByLabel(/^Choose all/).check();
    await page.getByText(`${ids.length} jobs chosen`).waitFor();
    await page.evaluate(() => (document.activeElement as HTMLElement).blur());
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.waitForURL(new RegExp(`#/jobs/${ids[0]}$`));
  });

  it("keeps filters in the browser, and forgets them", async () => {
    const { page } = await visit("jobs?type=send-mail&state=failed");
    await button(page, "☆ Save this filter").click();
    await page.getByRole("dialog").getByLabel("Name").fill("mails of the night");
    await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
    await page.evaluate(() => (location.hash = "#/jobs"));
    await page.reload();
    await page.getByRole("link", { name: "★ mails of the night" }).click();
    await page.waitForURL(/state=failed&type=send-mail|type=send-mail&state=failed/);
    await button(page, "Forget the filter mails of the night").click();
    expect(await page.getByText("mails of the night").count()).toBe(0);
  });

  it("clones a job, with its input and options, once", async () => {
    const { id } = makeWorld("normal").jobs.find(({ state }) => state === "failed")!;
    const { page, fixture, complaints } = await visit(`jobs/${id}`);
    await page.getByRole("link", { name: "Clone" }).click();
    await page.getByLabel("Type (needed)").waitFor();
    const input = page.getByLabel("Input");
    expect(await input.inputValue()).toContain('"key": "uploads/3.png"');
    await input.fill("{");
    await page.getByText("This is not JSON").waitFor();
    expect(await button(page, "Enqueue").isDisabled()).toBe(true);
    await input.fill('{"account": 9007199254740993}');
    await page.getByLabel("Priority").fill("0");
    await button(page, "Enqueue").click();
    await page.getByText("is enqueued").waitFor();
    expect(fixture.acts[0]).toMatchObject({
      path: "/jobs",
      body: { type: "charge-card", queue: "import", group: "umbrella", priority: 0, attemptTimeoutSeconds: 120 },
    });
    expect(complaints).toEqual([]);
  });

  it("makes and changes schedules, shows their next runs first, and takes it back", async () => {
    const { page, fixture } = await visit("schedules");
    await page.getByRole("link", { name: "New schedule" }).click();
    await page.getByText("at 03:00").waitFor();
    await page.getByLabel("Name (needed)").fill("weekly");
    await page.getByLabel("Rule (needed)").fill("0 9 * * MON");
    await page.getByLabel("Time zone").fill("Europe/Paris");
    await page.getByLabel("Type (needed)").fill("make-report");
    await page.getByLabel("Input").fill('{"kind": "weekly"}');
    await button(page, "Make the schedule").click();
    await page.getByText("weekly is made").waitFor();
    expect(fixture.acts).toEqual([
      {
        method: "PUT",
        path: "/schedules/weekly",
        body: {
          rule: { cron: "0 9 * * MON", tz: "Europe/Paris" },
          job: { type: "make-report" },
          input: { kind: "weekly" },
        },
      },
    ]);
    await page.evaluate(() => (location.hash = "#/schedules/nightly-report/edit"));
    const rule = page.getByLabel("Rule (needed)");
    await rule.waitFor();
    expect(await rule.inputValue()).toBe("0 3 * * *");
    await rule.fill("0 4 * * *");
    await button(page, "Save").click();
    await page.getByText("nightly-report is changed").waitFor();
    expect(fixture.acts.at(-1)!.body).toMatchObject({
      rule: { cron: "0 4 * * *", tz: "Europe/Berlin" },
      options: { overlap: "queue" },
      app: "default",
    });
    await button(page, "Undo").last().click();
    await page.getByText("Taken back").waitFor();
    expect(fixture.acts.at(-1)!.body).toMatchObject({ rule: { cron: "0 3 * * *", tz: "Europe/Berlin" } });
  });

  it("tells the audit in words, with reasons and changes, leads to its subjects, and finds by what is asked", async () => {
    const { page } = await visit("audit");
    const rows = page.locator("tbody tr");
    await rows.first().waitFor();
    expect(await rows.nth(0).innerText()).toMatch(/set queue\s+queue billing\s+maxRunning\s+25\s*→\s*10/);
    expect(await rows.nth(1).innerText(), "steps of one act are one").toContain("2,000");
    expect(
      await page.getByRole("link", { name: 'jobs {"state":"failed","type":"send-mail"}' }).first().getAttribute("href"),
    ).toBe("#/jobs?state=failed&type=send-mail");
    await page.getByLabel("Of what, or why").fill("sent twice");
    await button(page, "Find").click();
    await page.waitForURL(/object=sent\+twice/);
    await page.getByText("cancel job").waitFor();
    expect(await rows.count()).toBe(1);
    await page.evaluate(() => (location.hash = "#/audit?result=refused"));
    await page.getByText("purge queue").waitFor();
    expect(await rows.locator(".badge").allInnerTexts()).toEqual(["refused"]);
  });

  it("shows the error of a failed job first, and leads to its kind; follows the log of a running one", async () => {
    const { jobs } = makeWorld("normal");
    const { page } = await visit(`jobs/${jobs.find(({ state }) => state === "failed")!.id}`);
    await page.getByRole("heading", { name: "Error" }).waitFor();
    expect((await page.locator(".panel h2").allInnerTexts()).slice(0, 2)).toEqual(["Error", "Facts"]);
    await page.getByRole("link", { name: "Jobs that failed alike" }).click();
    await page.waitForURL(/#\/jobs\?state=failed&failure=00000048c2739500/);
    await page.evaluate((id) => (location.hash = `#/jobs/${id}`), jobs.find(({ state }) => state === "running")!.id);
    const log = page.getByRole("log");
    await log.getByText("resized uploads/39.png").waitFor();
    const fromEnd = () => log.evaluate((one) => one.scrollHeight - one.clientHeight - one.scrollTop);
    expect(await fromEnd(), "the newest line is in sight").toBeLessThan(20);
  });

  it("keeps error, age, progress and Retry on a phone", async () => {
    const { page, fixture } = await visit("jobs?state=failed");
    await page.setViewportSize({ width: 390, height: 800 });
    const card = page.locator("tbody tr").first();
    for (const text of ["ETIMEDOUT", "ago", "charge-card", "failed"])
      expect(await card.getByText(text).first().isVisible(), text).toBe(true);
    await card.getByRole("button", { name: /^Retry/ }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Retry" }).click();
    await page.getByText("will be tried again").waitFor();
    expect(fixture.acts).toMatchObject([{ body: { attempts: 1 } }]);
    await page.evaluate(() => (location.hash = "#/jobs?state=running"));
    await page.getByText("28 %").waitFor();
  });

  it("offers names that the server knows, and searches for words alone", async () => {
    const { page } = await visit("health");
    await page.keyboard.press("/");
    await page.keyboard.type("type:render");
    await page.getByRole("option", { name: "render-video" }).waitFor();
    await page.keyboard.press("Tab");
    expect(await page.locator("#search").inputValue()).toBe("type:render-video ");
    await page.keyboard.press("Control+A");
    await page.keyboard.type("etimedout");
    await page.keyboard.press("Enter");
    await page.waitForURL(/#\/jobs\?text=etimedout/);
  });

  it("tells times in UTC when asked, and says which zone they are in", async () => {
    const fixture = await startFixture({ size: "normal" });
    fixtures.push(fixture);
    const { page } = await open({ timezoneId: "Asia/Kolkata" });
    await page.goto(`${fixture.url}/dashboard/#/audit`);
    const time = page.locator("tbody time").first();
    await time.waitFor();
    const at = Date.parse((await time.getAttribute("datetime"))!);
    const shown = (minutes: number) => new Date(at + minutes * 60_000).toISOString().slice(0, 19).replace("T", " ");
    expect(await time.innerText()).toBe(shown(330));
    await button(page, /^Times are in GMT\+5:30/).click();
    expect(await time.innerText()).toBe(shown(0));
    await page.reload();
    await button(page, /^Times are in UTC/).waitFor();
    expect(await page.locator("tbody time").first().innerText()).toBe(shown(0));
  });

  it("takes what is filled in to be of the zone in which times are told", async () => {
    const fixture = await startFixture({ size: "normal" });
    fixtures.push(fixture);
    const { page } = await open({ timezoneId: "Asia/Kolkata" });
    await page.goto(`${fixture.url}/dashboard/#/enqueue`);
    const enqueue = async (words: string): Promise<unknown> => {
      await page.getByText(words).waitFor();
      await page.getByLabel("Type (needed)").fill("send-mail");
      await page.getByLabel("Not before").fill("2026-12-01T08:00");
      await button(page, "Enqueue").click();
      await page.waitForURL(/#\/jobs\//);
      return fixture.acts.at(-1)!.body["runAt"];
    };
    expect(await enqueue("in this browser's zone; empty: at once")).toBe("2026-12-01T02:30:00.000Z");
    await button(page, /^Times are in GMT\+5:30/).click();
    await page.evaluate(() => (location.hash = "#/enqueue"));
    expect(await enqueue("in UTC; empty: at once")).toBe("2026-12-01T08:00:00.000Z");
  });

  it("asks for what a kind of rule knows, and sends nothing else", async () => {
    const { page, fixture } = await visit("alerts");
    await button(page, "Make a rule").click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name (needed)").fill("slow");
    await dialog.getByLabel("Seconds", { exact: true }).fill("60");
    await dialog.getByLabel("Kind").selectOption("failures");
    expect(await dialog.getByLabel("Seconds", { exact: true }).count()).toBe(0);
    await dialog.getByLabel("Queue").fill("mail");
    await dialog.getByLabel("Share").fill("0.2");
    await dialog.getByRole("button", { name: "Set" }).click();
    await page.getByText("slow is set").waitFor();
    expect(fixture.acts).toEqual([
      {
        method: "PUT",
        path: "/alerts/rules/slow",
        body: {
          kind: "failures",
          on: true,
          queue: "mail",
          share: 0.2,
          forSeconds: 60,
          remindSeconds: 86_400,
          hooks: [],
        },
      },
    ]);
  });

  it("silences one subject, and offers what cannot be as it was by what it does", async () => {
    const { page, fixture } = await visit("alerts");
    await page.getByText("No worker that is known sends them").waitFor();
    await button(page, "Silence webhooks").click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Silence" }).click();
    await page.getByText("oldest-job of webhooks is silent for 60 min").waitFor();
    expect(fixture.acts.at(-1)).toMatchObject({
      path: "/alerts/rules/oldest-job/silence",
      body: { seconds: 3600, subject: "webhooks" },
    });
    await button(page, "Undo").click();
    await page.getByText("Taken back").waitFor();
    expect(fixture.acts.at(-1)!.body).toEqual({ seconds: 0, subject: "webhooks" });
    await button(page, "Remove old-mail").click();
    await dialog.getByRole("button", { name: "Remove" }).click();
    await button(page, "Make it again").click();
    await page.getByText("made again, with 2 silences in your name; what it had fired begins anew").waitFor();
    expect(fixture.acts.slice(-3)).toMatchObject([
      { method: "PUT", path: "/alerts/rules/old-mail", body: { queue: "mail", remindSeconds: 86_400 } },
      { path: "/alerts/rules/old-mail/silence", body: { because: "known", seconds: expect.closeTo(1800, -2) } },
      { path: "/alerts/rules/old-mail/silence", body: { subject: "mail/send", seconds: expect.closeTo(600, -2) } },
    ]);
    await button(page, "End silence of old-mail").click();
    await dialog.getByRole("button", { name: "End it" }).click();
    await button(page, "Silence again").click();
    await page.getByText("silent for as long as before, from now on and by you; before it was by ann").waitFor();
  });

  it("does not pretend that a pause comes back as it was", async () => {
    const { page, fixture } = await visit("queues/webhooks");
    const dialog = page.getByRole("dialog");
    await button(page, "Resume").first().click();
    await dialog.getByRole("button", { name: "Resume" }).click();
    await button(page, "Pause again").click();
    await page.getByText("is paused again, from now on and by you").waitFor();
    expect(await button(page, "Undo").count()).toBe(0);
    expect(fixture.acts.at(-1)).toMatchObject({
      path: "/queues/webhooks/pause",
      body: { because: "the customer's endpoint is being moved" },
    });
    await page.evaluate(() => (location.hash = "#/schedules"));
    await button(page, /^Resume/)
      .first()
      .click();
    await dialog.getByLabel("Make up for what came meanwhile").check();
    await dialog.getByRole("button", { name: "Resume" }).click();
    await page.getByText(/ goes on$/).waitFor();
    expect(await button(page, /^(Undo|Pause again)$/).count(), "its runs were made").toBe(0);
  });

  it("signs in once for all tabs, and out of all of them", async () => {
    const fixture = await startFixture({ size: "normal", token: "the-secret" });
    fixtures.push(fixture);
    const { page: first } = await open();
    await first.goto(`${fixture.url}/dashboard/#/queues`);
    const second = await first.context().newPage();
    await second.goto(`${fixture.url}/dashboard/#/jobs`);
    await second.getByLabel("Token").waitFor();
    await first.getByLabel("Token").fill("the-secret");
    await button(first, "Sign in").click();
    await first.getByRole("heading", { name: "Queues", exact: true }).waitFor();
    await second.locator("tbody tr").first().waitFor();
    const third = await first.context().newPage();
    await third.goto(`${fixture.url}/dashboard/#/audit`);
    await third.locator("tbody tr").first().waitFor();
    await button(third, "Sign out").click();
    for (const page of [first, second, third]) await page.getByLabel("Token").waitFor();
    expect(
      await first.evaluate(() => [sessionStorage.length, JSON.stringify(localStorage).includes("secret")]),
    ).toEqual([0, false]);
  });

  it("tells what the server refuses in the dialog, with the remedy and the request", async () => {
    const { page } = await visit("queues/mail", { refuses: true });
    await button(page, "Close").click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Close" }).click();
    await dialog.getByRole("alert").waitFor();
    const told = await dialog.getByRole("alert").innerText();
    for (const part of ["MR014", "the queue is closed", "open it first", "9d1c1e1a"]) expect(told).toContain(part);
    expect(await dialog.getByRole("button", { name: "Close" }).isEnabled(), "it can be tried again").toBe(true);
  });

  it("shows who cancelled a job, and why", async () => {
    const { id } = makeWorld("normal").jobs.find(({ state }) => state === "cancelled")!;
    const { page } = await visit(`jobs/${id}`);
    expect(await page.locator(".page-lead").innerText()).toMatch(/^Cancelled .* by ann: sent twice$/);
  });

  it("keeps a name that is written from right to left out of what stands beside it", async () => {
    const { id } = makeWorld("normal").jobs.find(({ state }) => state === "cancelled")!;
    const { page } = await visit(`jobs/${id}`);
    const rightEdges = await page.locator("h1").evaluate((heading) => {
      const [name, number] = [heading.firstElementChild!, heading.lastElementChild!];
      name.textContent = "שלח דואר";
      return [name.getBoundingClientRect().right, number.getBoundingClientRect().left];
    });
    expect(rightEdges[0], "the id stands to the right of the name").toBeLessThanOrEqual(rightEdges[1]!);
    const isolated = await page.locator("h1 > :first-child").evaluate((name) => getComputedStyle(name).unicodeBidi);
    expect(isolated).toBe("isolate");
  });

  it("retries and discards the failures that are listed, and no others", async () => {
    const { page, fixture, complaints } = await visit("failures");
    const asked: URLSearchParams[] = [];
    page.on("request", (request) => {
      const url = new URL(request.url());
      if (url.pathname.endsWith("/failures")) asked.push(url.searchParams);
    });
    await page.getByLabel("Queue").fill("mail");
    await page.getByLabel("Type").fill("send-mail");
    await page.getByLabel("Failed before").fill("2m");
    await button(page, "Find").click();
    await page.waitForURL(/queue=mail/);
    await button(page, "last hour").click();
    await page.waitForURL(/since=1h/);
    await expect.poll(() => asked.at(-1)?.get("since") ?? null).not.toBeNull();
    await page.locator("tbody tr").first().waitFor();
    await button(page, /^Retry 420 jobs/).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText(/of send-mail in mail since .* before /).waitFor();
    await dialog.getByRole("button", { name: "Retry them" }).click();
    await page.getByText("42 will be tried again").waitFor();
    await button(page, /^Discard 420 jobs/).click();
    await dialog.getByRole("button", { name: "Discard them" }).click();
    await page.getByText("2,500 jobs discarded").waitFor();
    const { queue, type, since, until } = Object.fromEntries(asked.at(-1)!);
    const [retry, discard] = fixture.acts;
    expect(retry!.body).toMatchObject({ queue, type, fingerprint: expect.any(String) });
    expect(discard!.body["filter"]).toMatchObject({ state: "failed", queue, type, failure: expect.any(String) });
    expect([queue, type, Date.parse(until!) - Date.parse(since!)]).toEqual(["mail", "send-mail", 3_480_000]);
    const spans = [
      [retry!.body["since"], retry!.body["until"]],
      [(discard!.body["filter"] as any)["endedSince"], (discard!.body["filter"] as any)["endedUntil"]],
    ];
    for (const [from, to] of spans)
      expect(asked.map((one) => [one.get("since"), one.get("until")])).toContainEqual([from, to]);
    const jobs = await page.getByTitle("All jobs of this kind").first().getAttribute("href");
    expect(jobs).toMatch(/state=failed&queue=mail&type=send-mail&failure=\w+&endedSince=.*&endedUntil=/);
    expect(complaints).toEqual([]);
  });

  it("retries a kind of failure at a pace", async () => {
    const { page, fixture } = await visit("failures");
    await button(page, /^Retry 420 jobs/).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("42 jobs").waitFor();
    await dialog.getByLabel("Per second").fill("5");
    await dialog.getByRole("button", { name: "Retry them" }).click();
    await page.getByText("42 will be tried again").waitFor();
    expect(fixture.acts).toMatchObject([{ path: "/failures/retry", body: { perSecond: 5, attempts: 1 } }]);
  });

  it("tells a job that waits, with a value and an id, and asks for a long value when it is opened", async () => {
    const { id } = makeWorld("normal").jobs.find(({ state }) => state === "suspended")!;
    const { page, fixture, complaints } = await visit(`jobs/${id}`);
    const steps = page.getByRole("region", { name: "Steps" });
    await steps.getByText("What it gave").first().click();
    await steps.getByText("Show all 5,000 letters").waitFor();
    await button(page, "Tell").click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Signal").fill("rejected");
    await dialog.getByLabel("Value").fill('"too late"');
    await dialog.getByLabel("Id", { exact: true }).fill("hook-1");
    await dialog.getByRole("button", { name: "Tell" }).click();
    await page.getByText("was told rejected").waitFor();
    expect(fixture.acts).toEqual([
      { method: "POST", path: `/jobs/${id}/tell`, body: { name: "rejected", value: "too late", id: "hook-1" } },
    ]);
    expect(complaints).toEqual([]);
  });

  it("shows of a run with very many steps the newest, and more when asked", async () => {
    const { id } = makeWorld("huge").jobs.find(({ state }) => state === "suspended")!;
    const { page } = await visit(`jobs/${id}`, { size: "huge" });
    const steps = page.getByRole("region", { name: "Steps" });
    await steps.getByText("loop#600").waitFor();
    expect(await steps.getByText("loop#100", { exact: true }).count()).toBe(0);
    await steps.getByRole("button", { name: "Show more" }).click();
    await steps.getByText("loop#100", { exact: true }).waitFor();
    await steps.getByText("reserve", { exact: true }).waitFor();
  });

  it("rewinds a run to a step, with what will be done again and why", async () => {
    const { id } = makeWorld("normal").jobs.find(({ state }) => state === "suspended")!;
    const { page, fixture } = await visit(`jobs/${id}`);
    const steps = page.getByRole("region", { name: "Steps" });
    await steps.getByText("void since a rewind").waitFor();
    await steps.getByText("the printer is back").waitFor();
    expect(await button(page, /^Rewind to label$/).count(), "not to the one that is void").toBe(1);
    expect(await button(page, /^Rewind to charge$/).count(), "three tries are one step").toBe(1);
    await button(page, "Rewind to fetch").click();
    const dialog = page.getByRole("dialog", { name: /^Rewind .* to fetch$/ });
    await dialog.getByText("fetch, audit, approved#2, label, pack will be done again").waitFor();
    await dialog.getByLabel("Why").fill("the file was empty");
    await dialog.getByRole("button", { name: "Rewind" }).click();
    await page.getByText("goes back to fetch").waitFor();
    expect(fixture.acts).toEqual([
      { method: "POST", path: `/jobs/${id}/rewind`, body: { to: "fetch", because: "the file was empty" } },
    ]);
  });

  it("shows a flow of five hundred jobs folded, by keyboard, and leads to its jobs [#216]", async () => {
    const { page, complaints } = await visit(`jobs/${flowIdOf("render-500")}`);
    const graph = page.getByRole("list", { name: /^Jobs of the flow/ });
    await graph.waitFor();
    expect(await graph.getByRole("listitem").count()).toBe(8);
    const focused = () => page.evaluate(() => document.activeElement!.textContent);
    await graph.getByRole("link", { name: /^plan/ }).focus();
    await page.keyboard.press("ArrowDown");
    expect(await focused()).toContain("2 failed, 2 expired, 3 cancelled");
    expect(await focused()).toContain("after plan, before render × 160");
    await page.keyboard.press("Enter");
    const jobs = page.getByRole("region", { name: "Jobs: extract" }).first();
    await jobs.getByText("100 rows of 160").waitFor();
    await jobs.getByRole("button", { name: "failed 2" }).click();
    expect(await jobs.locator("tbody .badge").allInnerTexts()).toEqual(["failed", "failed"]);
    await page.keyboard.press("Tab");
    await button(page, "Show all jobs").click();
    await page.getByRole("region", { name: "Jobs", exact: true }).getByText("100 rows of 500").waitFor();
    await graph.getByRole("link", { name: /^mail/ }).focus();
    for (const key of ["ArrowUp", "Home", "End", "-", "-", "+"]) await page.keyboard.press(key);
    await page.getByText("70 %", { exact: true }).waitFor();
    await button(page, /^Each job/).click();
    await page.waitForFunction(() => document.querySelectorAll(".graph-node").length === 500);
    await button(page, "All of it").click();
    const { hidden, frame } = await page.locator(".graph-frame").evaluate((one) => ({
      hidden: one.scrollHeight - one.clientHeight + one.scrollWidth - one.clientWidth,
      frame: one.clientWidth,
    }));
    expect([hidden, frame > 0]).toEqual([0, true]);
    expect(complaints).toEqual([]);
  });

  it("says how many end with a flow before it is cancelled [#216]", async () => {
    const { page, fixture } = await visit(`jobs/${flowIdOf("nightly-import")}`);
    await button(page, "Cancel").click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("51 jobs").waitFor();
    await dialog.getByRole("button", { name: "Cancel the job" }).click();
    await page.getByText("is cancelled").waitFor();
    expect(fixture.acts).toMatchObject([{ path: `/jobs/${flowIdOf("nightly-import")}/cancel` }]);
  });

  it("looks on by itself until it finds something", async () => {
    const { page } = await visit("jobs?state=expired");
    await page.locator("tbody tr").first().waitFor();
    expect(new Set(await page.locator("tbody .badge").allInnerTexts())).toEqual(new Set(["expired"]));
  });

  it("offers readers nothing they may not do", async () => {
    const { page } = await visit("queues/mail", { role: "reader" });
    await page.getByText("Over time").waitFor();
    expect(await button(page, /^(Pause|Close|Purge|Shed|Redrive|Set aside|Set limits)$/).count()).toBe(0);
  });

  it("searches with completion, from anywhere, by keyboard alone", async () => {
    const { page } = await visit("health");
    await page.keyboard.press("/");
    expect(await page.evaluate(() => document.activeElement?.id)).toBe("search");
    await page.keyboard.type("st");
    await page.keyboard.press("Tab");
    await page.keyboard.type("fai");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    expect(await page.locator("#search").inputValue()).toBe("state:failed ");
    await page.keyboard.type("error:ETIMEDOUT");
    await page.keyboard.press("Enter");
    await page.waitForURL(/#\/jobs\?state=failed&error=ETIMEDOUT/);
    await page.locator("tbody tr").first().waitFor();
    expect(new Set(await page.locator("tbody .badge").allInnerTexts())).toEqual(new Set(["failed"]));
    await page.keyboard.press("/");
    await page.keyboard.press("Control+A");
    await page.keyboard.type("colour:red");
    await page.keyboard.press("Enter");
    await page.getByText("is not understood").waitFor();
  });

  it("goes everywhere and acts by keyboard alone", async () => {
    const { page, fixture } = await visit("");
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keyboard" }).waitFor();
    await page.keyboard.press("g");
    await page.keyboard.press("q");
    expect(page.url(), "a dialog keeps the keys").not.toContain("queues");
    await page.keyboard.press("Escape");
    await page.keyboard.press("g");
    await page.keyboard.press("q");
    await page.waitForURL(/#\/queues$/);
    await page.getByRole("link", { name: "billing", exact: true }).first().waitFor();
    // From the heading, where a new page begins, by Tab to the queue and on to its acts.
    await tabTo(page, "billing");
    await page.keyboard.press("Enter");
    await page.waitForURL(/#\/queues\/billing$/);
    await button(page, "Pause").waitFor();
    await tabTo(page, "Pause");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.type("by keyboard");
    for (let tabs = 0; tabs < 6; tabs += 1) {
      await page.keyboard.press("Tab");
      expect(
        await page.evaluate(
          () => document.activeElement === document.body || document.activeElement?.closest("dialog") !== null,
        ),
        "the dialog keeps the focus",
      ).toBe(true);
    }
    await tabTo(page, "Pause");
    await page.keyboard.press("Enter");
    await page.getByText("billing is paused").waitFor();
    expect(fixture.acts).toMatchObject([{ body: { because: "by keyboard" } }]);
  });

  it("shows where the focus is", async () => {
    const { page } = await visit("queues");
    await page.getByRole("link", { name: "billing", exact: true }).first().waitFor();
    const unseen: string[] = [];
    for (let stop = 0; stop < 30; stop += 1) {
      await page.keyboard.press("Tab");
      const seen = await page.evaluate(() => {
        const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement!);
        return {
          // after the last one the browser itself has it
          ok:
            document.activeElement === document.body ||
            (outlineStyle !== "none" && Number.parseFloat(outlineWidth) >= 2),
          what: document.activeElement!.outerHTML.slice(0, 120),
        };
      });
      if (!seen.ok) unseen.push(seen.what);
    }
    expect(unseen).toEqual([]);
  });

  it("shows bytes as what they are, and never runs them", async () => {
    const { page, complaints } = await visit("jobs?state=succeeded");
    const shown = async (type: string): Promise<void> => {
      await page.evaluate(() => (location.hash = "#/jobs?state="));
      await page.locator("tbody tr", { hasText: type }).first().locator("a").first().click();
      await page.getByRole("heading", { name: "Bytes" }).waitFor();
    };
    await shown("import-file");
    const image = page.locator(".picture img");
    await image.waitFor();
    expect(await image.evaluate((one) => (one as HTMLImageElement).naturalWidth)).toBe(1);
    await button(page, "Hex").click();
    expect(await page.locator(".hex").innerText()).toContain("00000000  89 50 4e 47 0d 0a 1a 0a");
    await shown("call-webhook");
    expect(await page.locator(".block", { hasText: "hello" }).innerText()).toContain(
      "<h1>hello</h1><img src=x onerror",
    );
    await shown("index-document");
    await button(page, "After").click();
    await page.getByText("16.4 kB to 32.8 kB of 40.0 kB").waitFor();
    expect(await page.locator(".hex").innerText()).toMatch(/^00004000 /);
    const [file] = await Promise.all([page.waitForEvent("download"), button(page, "Download").click()]);
    expect(file.suggestedFilename()).toMatch(/^job-\d+$/);
    expect(complaints).toEqual([]);
  });
});

/** Press Tab until what has the focus is called so. */
async function tabTo(page: Page, name: string): Promise<void> {
  for (let tabs = 0; tabs < 80; tabs += 1) {
    await page.keyboard.press("Tab");
    if ((await page.evaluate(() => document.activeElement?.textContent)) === name) return;
  }
  throw new Error(`${name} cannot be reached by Tab`);
}
