import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import type { Role } from "../../src/server/auth/roles.js";
import { useServer } from "../server/api/server.js";
import { hasBrowser, useBrowser } from "./browser.js";

const server = useServer();

describe.skipIf(!hasBrowser)("those who enqueue", () => {
  const open = useBrowser();

  async function signIn(role: Role, address: string): Promise<{ page: Page; complaints: string[] }> {
    const { page, complaints } = await open();
    await page.addInitScript((token) => sessionStorage.setItem("millrace.token", token), server.tokens[role]);
    await page.goto(`${server.url}/dashboard/#/${address}`);
    await page.locator("h1").waitFor();
    return { page, complaints };
  }
  const buttons = (page: Page): Promise<string[]> => page.locator(".page-head .button").allInnerTexts();

  it("a clone has what its job was given, and a producer may make and cancel it", async () => {
    const { engine } = server.db;
    await engine.resourcePut("gpu", { maxRunning: 4 });
    await engine.queuePut("films");
    const deadline = new Date(Date.now() + 7_200_000);
    const { id } = await engine.enqueue({
      type: "render",
      queue: "films",
      input: { film: 7 },
      priority: 3,
      group: "acme",
      tenant: "acme",
      maxAttempts: Infinity,
      ttlSeconds: 600,
      deadline,
      resources: { gpu: 2 },
      headers: { from: "test" },
      retry: [1, 2],
      cost: 3,
      attemptTimeoutSeconds: 30,
    });
    const { page, complaints } = await signIn("producer", `jobs/${id}`);
    await page.getByRole("link", { name: "Clone" }).click();
    await page.getByRole("button", { name: "Enqueue" }).click();
    await page.getByText("is enqueued").waitFor();
    const clone = page.url().split("/").at(-1)!;
    expect(clone).not.toBe(id);
    const told = async (job: string) => {
      const { ttl, ...record } = await (async () => {
        const { job: found } = (await engine.get(job))!;
        return { ...found, ttl: found.expiresAt!.getTime() - found.createdAt.getTime() };
      })();
      const {
        id: _id,
        createdAt: _made,
        updatedAt: _touched,
        runAt: _due,
        expiresAt: _expires,
        source: _by,
        ...rest
      } = record;
      return { ...rest, ttl: Math.round(ttl / 1000) };
    };
    expect(await told(clone)).toEqual(await told(id));
    expect(await told(clone)).toMatchObject({ maxAttempts: Infinity, deadline, resources: { gpu: 2 }, ttl: 600 });
    await page.locator("h1", { hasText: clone }).waitFor();
    expect(await buttons(page)).toEqual(["Clone", "Cancel"]);
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel the job" }).click();
    await page.locator(".page-head .badge", { hasText: "cancelled" }).waitFor();
    expect(complaints).toEqual([]);
  });

  it("a deadline that has passed is left out, and said", async () => {
    const { engine } = server.db;
    const { id } = await engine.enqueue({ type: "late", input: {}, deadline: new Date(Date.now() + 3_600_000) });
    await server.db.sql("update job set deadline = now() - interval '1 hour' where id = $1", [id]);
    const { page } = await signIn("admin", `enqueue?from=${id}`);
    await page.getByText(/Its deadline, .*, has passed and is not copied/).waitFor();
    await page.getByRole("button", { name: "Enqueue" }).click();
    await page.getByText("is enqueued").waitFor();
  });

  it("a producer is offered what it may do, a reader nothing", async () => {
    await server.db.engine.enqueue({ type: "offered" });
    const { page } = await signIn("producer", "jobs?type=offered");
    await page.getByRole("button", { name: "Cancel all" }).waitFor();
    expect(await buttons(page)).toEqual(expect.arrayContaining(["New job", "Cancel all"]));
    expect(await buttons(page)).not.toContain("Retry all");
    await page.getByRole("checkbox", { name: /Choose offered/ }).check();
    expect(await page.getByRole("group", { name: "Chosen jobs" }).getByRole("button").allInnerTexts()).toEqual([
      "Cancel",
      "Choose none",
    ]);
    await page.evaluate(() => (location.hash = "#/schedules"));
    await page.getByRole("link", { name: "New schedule" }).waitFor();
    const { page: other } = await signIn("reader", "jobs?type=offered");
    await other.getByRole("link", { name: /^\d+$/ }).first().waitFor();
    expect(await other.getByRole("button", { name: "Cancel all" }).count()).toBe(0);
    expect(await other.getByRole("link", { name: "New job" }).count()).toBe(0);
  });
});

it("only the running ones of some jobs are asked for", async () => {
  const { engine } = server.db;
  await engine.queuePut("many");
  await engine.enqueueMany("one", [1, 2, 3], { queue: "many" });
  const jobs = await engine.claim({ queues: ["many"], limit: 3, worker: "w" });
  const ids = jobs.map(({ id }) => id);
  const { body } = await server.ask("GET", `/running?limit=1000&ids=${ids[2]},${ids[0]},1`);
  expect(new Set(body.items.map(({ id }: { id: string }) => id))).toEqual(new Set([ids[0], ids[2]]));
  expect((await server.ask("GET", "/running?ids=nonsense")).status).toBe(400);
  expect((await server.ask("GET", "/running")).body.items.length).toBe(3);
});
