import { readdirSync } from "node:fs";
import { type IncomingHttpHeaders, request } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { dashboardPart, takesDashboard } from "../../src/server/dashboard/static-files.js";
import { answer } from "../../src/server/http/exchange.js";
import { Listener } from "../../src/server/http/listener.js";

const asset = readdirSync(new URL("../../dist/dashboard/assets", import.meta.url)).find((name) =>
  name.endsWith(".js"),
)!;
let listener: Listener;
let port: number;

beforeAll(async () => {
  const files = dashboardPart({ isMounted: false });
  listener = new Listener(
    { host: "127.0.0.1", port: 0, prefix: "/ops", graceMs: 100, log: () => {} },
    async (exchange) => {
      if (takesDashboard(exchange)) await files(exchange);
      else answer(exchange, 404, {}, "elsewhere");
    },
  );
  port = (await listener.start()).port;
});

afterAll(() => listener.stop());

/** As it was sent: `fetch` would tidy paths and follow redirects. */
function ask(
  path: string,
  headers: Record<string, string> = {},
  method = "GET",
): Promise<{ status: number; headers: IncomingHttpHeaders; body: Buffer }> {
  return new Promise((resolve, reject) => {
    const asked = request({ port, path: `/ops${path}`, headers, method }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () =>
        resolve({ status: response.statusCode!, headers: response.headers, body: Buffer.concat(chunks) }),
      );
    });
    asked.on("error", reject);
    asked.end();
  });
}

describe("files of the dashboard", () => {
  it("gives the page, and asks for it to be checked every time", async () => {
    const { status, headers, body } = await ask("/dashboard/");
    expect([status, headers["content-type"], headers["cache-control"]]).toEqual([
      200,
      "text/html; charset=utf-8",
      "no-cache",
    ]);
    expect(body.toString()).toContain('src="./assets/');
    expect(body.toString(), "every URL of the page is relative").not.toMatch(/(src|href)="\//);
    expect((await ask("/dashboard/", { "if-none-match": headers.etag! })).status).toBe(304);
  });

  it("lets hashed files be kept for ever, packed for those who can unpack", async () => {
    const plain = await ask(`/dashboard/assets/${asset}`);
    expect(plain.headers).toMatchObject({
      "cache-control": "public, max-age=31536000, immutable",
      "content-type": "text/javascript; charset=utf-8",
    });
    const packed = await ask(`/dashboard/assets/${asset}`, { "accept-encoding": "gzip, br" });
    expect(packed.headers).toMatchObject({ "content-encoding": "gzip", vary: "accept-encoding" });
    expect(packed.body.length).toBeLessThan(plain.body.length / 2);
    const head = await ask(`/dashboard/assets/${asset}`, {}, "HEAD");
    expect([head.body.length, Number(head.headers["content-length"])]).toEqual([0, plain.body.length]);
  });

  it("forbids inline scripts, foreign ones, frames and guessing, whatever the answer is", async () => {
    for (const path of [
      "/dashboard/",
      "/dashboard/theme.js",
      "/dashboard/queues",
      "/dashboard/assets/none.js",
      "/dashboard",
    ]) {
      const { headers } = await ask(path);
      const policy = String(headers["content-security-policy"]);
      expect(policy, path).toContain("default-src 'none'");
      expect(policy, path).toContain("script-src 'self';");
      expect(policy, path).toContain("frame-ancestors 'none'");
      expect(policy, path).not.toContain("unsafe");
      expect(headers["x-content-type-options"], path).toBe("nosniff");
    }
  });

  it("sends every other address below it to the page, by a way that no proxy can break", async () => {
    expect((await ask("/dashboard")).headers.location).toBe("dashboard/");
    expect((await ask("/", { accept: "text/html,*/*" })).headers.location).toBe("dashboard/");
    expect((await ask("/dashboard/queues")).headers.location).toBe("./#/queues");
    expect((await ask("/dashboard/queues/mail/groups")).headers.location).toBe("../../#/queues/mail/groups");
    expect((await ask("/dashboard/assets/index-old.js")).status, "a file of another release is not a page").toBe(404);
  });

  it("leaves the root to others unless a browser opens it, and takes nothing but GET", async () => {
    expect((await ask("/")).status).toBe(404);
    expect((await ask("/dashboards")).status).toBe(404);
    const { status, headers } = await ask("/dashboard/", {}, "POST");
    expect([status, headers.allow]).toEqual([405, "GET, HEAD"]);
  });

  it("never leaves its folder", async () => {
    const ways = [
      "../package.json",
      "..%2fpackage.json",
      "%2e%2e/package.json",
      "....//package.json",
      "/etc/passwd",
      "..\\package.json",
      "assets/../../package.json",
      "index.html%00.js",
    ];
    for (const way of ways) {
      const { status, body } = await ask(`/dashboard/${way}`);
      expect([302, 404], way).toContain(status);
      expect(body.toString(), way).not.toMatch(/devDependencies|root:/);
    }
  });

  it("says what to do when it was not built", async () => {
    const bare = new Listener(
      { host: "127.0.0.1", port: 0, prefix: "", graceMs: 100, log: () => {} },
      dashboardPart({ isMounted: false }, ["/nowhere"]),
    );
    const { port: at } = await bare.start();
    const response = await fetch(`http://127.0.0.1:${at}/dashboard/`);
    expect([response.status, await response.text()]).toEqual([503, expect.stringContaining("npm run build")]);
    await bare.stop();
  });
});
