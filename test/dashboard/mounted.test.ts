import { once } from "node:events";
import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Millrace } from "millrace";
import { type QueueHandler, createHandler } from "millrace/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";
import { hasBrowser, useBrowser } from "./browser.js";

const db = useDatabase();

describe.skipIf(!hasBrowser)("the dashboard, mounted in an application with cookies", () => {
  const open = useBrowser();
  let mill: Millrace;
  let admin: QueueHandler;
  let server: Server;
  let origin: string;
  let isSignedIn = true;
  beforeAll(async () => {
    mill = new Millrace({ connection: db.url });
    await mill.queues.put("mail");
    admin = createHandler({
      mill,
      basePath: "/shop/admin/queue",
      user: (request) =>
        isSignedIn && "cookie" in request.headers && request.headers.cookie === "session=ann"
          ? { name: "Ann Ågren", role: "admin" }
          : null,
    });
    server = createServer((request, response) => void admin.node(request, response)).listen(0, "127.0.0.1");
    await once(server, "listening");
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    await admin.close();
    server.closeAllConnections();
    server.close();
    await mill.close();
  });

  it("needs no token, shows what happens, acts under the user's name, and tells when they are signed out", async () => {
    const { page, complaints } = await open();
    await page.context().addCookies([{ name: "session", value: "ann", url: origin }]);
    await page.goto(`${origin}/shop/admin/queue`);
    await page.getByText("Ann Ågren (admin)").waitFor();
    await page.locator(".light-live").waitFor();
    expect(await page.getByRole("button", { name: "Sign out" }).count()).toBe(0);
    await page.goto(`${page.url().replace(/#.*/, "")}#/queues/mail`);
    await page.getByRole("button", { name: "Pause", exact: true }).first().click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Pause", exact: true }).click();
    await dialog.waitFor({ state: "detached" });
    await page.goto(`${page.url().replace(/#.*/, "")}#/audit`);
    await page.getByRole("cell", { name: "Ann Ågren" }).first().waitFor();
    expect(complaints).toEqual([]);
    isSignedIn = false;
    await page.goto(`${page.url().replace(/#.*/, "")}#/limits`);
    await page.getByText("You are signed out.").waitFor();
    isSignedIn = true;
    await page.getByRole("button", { name: "Load again" }).click();
    await page.getByText("Ann Ågren (admin)").waitFor();
  });
});
