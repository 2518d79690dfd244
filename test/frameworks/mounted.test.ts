import { execFileSync } from "node:child_process";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { hasBrowser, useBrowser } from "../dashboard/browser.js";
import { useDatabase } from "../support/database.js";
import { until } from "../support/wait.js";
import { installed, isWanted, project, useApplication } from "./application.js";

const applications = [
  { name: "Express 5", base: "/admin/queue", app: "express", stranger: 302 },
  { name: "Express 5, after a parser of bodies", base: "/parsed/queue", app: "express", stranger: 302, isParsed: true },
  { name: "Express 4", base: "/admin/queue", app: "express", stranger: 302, env: { EXPRESS: "express4" } },
  { name: "Fastify", base: "/ops/jobs", app: "fastify", stranger: 302 },
  { name: "Hono", base: "/internal/queue", app: "hono", stranger: 302 },
  { name: "NestJS", base: "/admin/queue", app: "nest", stranger: 403, isWorker: true },
  { name: "Next.js", base: "/admin/queue", app: "next", stranger: 401 },
] as const satisfies readonly Tried[];

interface Tried {
  readonly name: string;
  readonly base: string;
  readonly app: string;
  /** What the application answers to somebody it does not know. */
  readonly stranger: number;
  readonly env?: NodeJS.ProcessEnv;
  readonly isParsed?: boolean;
  /** It runs the jobs too. */
  readonly isWorker?: boolean;
}

type Asked = Omit<RequestInit, "headers"> & { as?: string; headers?: Record<string, string> };

/** `next build` first, then what `next start` starts. */
function next(): readonly string[] {
  const cli = installed("next/dist/bin/next");
  const folder = path.join(project, "next");
  execFileSync(process.execPath, [cli, "build", folder], {
    env: { ...process.env, NODE_ENV: "production", NEXT_TELEMETRY_DISABLED: "1" },
    stdio: ["ignore", "ignore", "inherit"],
  });
  return [cli, "start", folder, "--port", "0", "--hostname", "127.0.0.1"];
}

describe.skipIf(!isWanted).each<Tried>(applications)(
  "mounted in $name",
  ({ base, app, stranger, env = {}, isParsed = false, isWorker = false }) => {
    const db = useDatabase();
    const open = useBrowser();
    const shop = useApplication(db, () => (app === "next" ? next() : [`dist/${app}.js`]), {
      env,
      ...(app === "next" ? { port: /http:\/\/127\.0\.0\.1:(\d+)/ } : {}),
    });
    const ask = (path: string, init: Asked = {}) => {
      const { as = "Ann%20%C3%85gren:admin", headers, ...rest } = init;
      return fetch(`${shop.url}${path}`, { ...rest, headers: { cookie: `theme=dark; user=${as}`, ...headers } });
    };
    const post = (path: string, body: unknown, init: Asked = {}) =>
      ask(path, {
        ...init,
        method: "POST",
        headers: { "content-type": "application/json", ...init.headers },
        body: JSON.stringify(body),
      });

    it("strangers see nothing, the page neither", async () => {
      for (const path of ["", "/dashboard/index.html", "/api/v1/session"]) {
        const { status } = await fetch(`${shop.url}${base}${path}`, { redirect: "manual" });
        expect(status, path).toBe(stranger);
      }
    });

    it("the page is found from the path itself, with its files, its policy, and the API beside it", async () => {
      const page = await ask(base, { headers: { accept: "text/html" } });
      expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
      expect(page.headers.get("content-security-policy")).toContain(
        "frame-ancestors 'none'; require-trusted-types-for 'script'",
      );
      expect(page.headers.get("content-security-policy")).not.toContain("unsafe-inline");
      const html = await page.text();
      for (const [, file] of html.matchAll(/(?:src|href)="(\.\/[^"]+)"/g)) {
        const { status, headers } = await ask(new URL(file!, page.url).pathname);
        expect(status, file).toBe(200);
        expect(headers.get("content-type"), file).toMatch(/javascript|css|svg/);
      }
      const session = await ask(new URL("../api/v1/session", page.url).pathname);
      expect(await session.json()).toMatchObject({ name: "Ann Ågren", role: "admin", isMounted: true });
      const head = await ask(new URL(page.url).pathname, { method: "HEAD" });
      expect([head.status, await head.text()]).toEqual([200, ""]);
    });

    it("what is done has the user's name, and needs their role", async () => {
      const { id } = (await (await post("/orders", { email: "a@example.com" })).json()) as { id: string };
      const found = (await (await ask(`${base}/api/v1/jobs/${id}`)).json()) as { job: { type: string } };
      expect(found.job.type).toBe("welcome");
      if (isWorker) await until("its handler has run", () => shop.said().includes("welcome, a@example.com"));
      const pause = (as?: string) =>
        post(`${base}/api/v1/queues/default/pause`, { because: "of a test" }, as === undefined ? {} : { as });
      expect((await pause("Rob:reader")).status).toBe(403);
      expect((await pause()).status).toBe(200);
      expect((await post(`${base}/api/v1/queues/default/resume`, {})).status).toBe(200);
      const audit = (await (await ask(`${base}/api/v1/audit`)).json()) as { items: { who: string; action: string }[] };
      expect(audit.items.map(({ who, action }) => `${who}: ${action}`)).toEqual([
        "Ann Ågren: POST /queues/{queue}/resume",
        "Ann Ågren: POST /queues/{queue}/pause",
      ]);
    });

    it("does nothing for pages of other sites", async () => {
      const headers = { "sec-fetch-site": "cross-site", origin: "https://evil.example" };
      const refused = await post(`${base}/api/v1/queues/default/pause`, {}, { headers });
      expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([403, "MR103"]);
      const plain = await ask(`${base}/api/v1/queues/default/pause`, { method: "POST", headers: { origin: "null" } });
      expect(plain.status).toBe(403);
    });

    it("bodies arrive as they were sent: integers beyond 2^53, payloads as streams", async () => {
      const exact = await ask(`${base}/api/v1/jobs`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: '{"type":"big","input":9007199254740993}',
      });
      const { id } = (await exact.json()) as { id: string };
      const [row] = await db.sql<{ input: string }>(`select input::text from millrace.jobs where id = ${id}`);
      expect(row!.input).toBe(isParsed ? "9007199254740992" : "9007199254740993");
      const bytes = new Uint8Array(3_000_000).map((_, i) => i % 253);
      const streamed = await ask(`${base}/api/v1/jobs/stream?job=${encodeURIComponent('{"type":"bytes"}')}`, {
        method: "POST",
        headers: { "content-type": "application/octet-stream" },
        body: bytes,
      });
      expect(streamed.status).toBe(200);
      const { id: large } = (await streamed.json()) as { id: string };
      const back = await ask(`${base}/api/v1/jobs/${large}/payload`);
      expect(Buffer.from(await back.arrayBuffer()).equals(bytes)).toBe(true);
    });

    it.skipIf(!hasBrowser)("a browser shows it, live", async () => {
      const { page, complaints } = await open();
      await page.context().addCookies([{ name: "user", value: "Ann%20%C3%85gren:admin", url: shop.url }]);
      await page.goto(`${shop.url}${base}`);
      await page.getByText("Ann Ågren (admin)").waitFor();
      await page.locator(".light-live").waitFor();
      await page.goto(`${page.url().replace(/#.*/, "")}#/queues/default`);
      await page.getByRole("heading", { name: "default" }).first().waitFor();
      expect(complaints).toEqual([]);
    });

    it.skipIf(app !== "next" || !hasBrowser)("a server action enqueues", async () => {
      const { page } = await open();
      await page.goto(`${shop.url}/form`);
      await page.locator("input[name=email]").fill("b@example.com");
      await page.getByRole("button").click();
      const id = await page.locator("output").innerText();
      const [row] = await db.sql<{ input: object }>(`select input from millrace.jobs where id = ${id}`);
      expect(row!.input).toEqual({ email: "b@example.com" });
    });

    it("streams what happens while it happens, packed by nobody, and ends with the application", async () => {
      const leaving = new AbortController();
      const options = { headers: { "accept-encoding": "gzip, br", accept: "text/event-stream" } };
      const live = await ask(`${base}/api/v1/live`, { ...options, signal: leaving.signal });
      expect(live.headers.get("content-type")).toBe("text/event-stream");
      expect(live.headers.get("content-encoding")).toBeNull();
      const reader = live.body!.getReader();
      let seen = "";
      for (const decoder = new TextDecoder(); seen.split("event: sample").length < 3;)
        seen += decoder.decode((await reader.read()).value);
      leaving.abort();
      const open = await ask(`${base}/api/v1/live`, options);
      const reading = open.text().catch(() => "cut off");
      const code = await shop.stop();
      expect(await reading).toMatch(app === "next" ? /./ : /event: sample/);
      // Next.js does not tell its routes that it ends.
      if (app === "next") expect([0, 143, null]).toContain(code);
      else expect([0, null]).toContain(code);
    });
  },
);
