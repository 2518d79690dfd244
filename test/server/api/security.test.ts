import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { type Socket, connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { anyone, roles } from "../../../src/server/auth/roles.js";
import { routes } from "../../../src/server/api/routes/index.js";
import { startServer } from "../../../src/server/server.js";
import { until } from "../../support/wait.js";
import { useServer } from "./server.js";

const server = useServer();
const second = useServer(); // a server allows a hundred wrong tokens in a row, and there are more routes than that
const open = useServer({ isOpen: true });

const concrete = (path: string): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => (name === "id" ? "1" : "x"));

/** What Node's fetch does not let through: a Host, a path or a header of one's own. */
async function raw(
  url: string,
  options: { readonly method?: string; readonly path: string; readonly headers?: Record<string, string> },
): Promise<{ status: number; body: string }> {
  const { hostname, port } = new URL(url);
  const sent = httpRequest({ hostname, port, agent: false, ...options }).end();
  const [response] = (await once(sent, "response")) as [NodeJS.ReadableStream & { statusCode: number }];
  let body = "";
  for await (const chunk of response) body += String(chunk);
  return { status: response.statusCode, body };
}

function socketTo(url: string): Socket {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => {});
  return socket;
}

/** Others are served while something bad goes on. */
async function expectServes(): Promise<void> {
  const began = performance.now();
  expect((await server.ask("GET", "/session", undefined, { role: "reader" })).status).toBe(200);
  expect(performance.now() - began).toBeLessThan(5000);
}

describe("who may ask", () => {
  for (const [n, route] of routes.entries()) {
    const needs = route.role;
    if (needs === anyone) continue;
    const asked = n % 2 === 0 ? server : second;
    it(`${route.method} ${route.path}: nobody without a token, and no role below ${needs}`, async () => {
      const path = concrete(route.path);
      const without = await asked.ask(route.method, path, undefined, { role: "nobody" });
      expect(without).toMatchObject({
        status: 401,
        body: { code: "MR101", status: 401, remedy: expect.any(String), requestId: expect.any(String) },
      });
      expect(without.headers.get("www-authenticate")).toContain("Bearer");
      const lower = roles[roles.indexOf(needs) - 1];
      if (lower !== undefined)
        expect(await asked.ask(route.method, path, undefined, { role: lower })).toMatchObject({
          status: 403,
          body: { code: "MR102" },
        });
    });
  }

  it("no wrong token, in whatever form", async () => {
    const { admin } = second.tokens;
    for (const authorization of [
      `Bearer ${admin}x`,
      `Bearer ${admin.slice(0, -1)}`,
      admin,
      `Basic ${admin}`,
      "Bearer",
      `Bearer ${admin} ${admin}`,
      `Bearer ${"x".repeat(8000)}`,
    ])
      expect(
        await second.ask("GET", "/session", undefined, { role: "nobody", headers: { authorization } }),
      ).toMatchObject({ status: 401 });
    for (const path of [`/session?token=${admin}`, `/session?access_token=${admin}`])
      expect((await second.ask("GET", path, undefined, { role: "nobody" })).status).toBe(401);
  });

  it("without tokens only this machine may listen", async () => {
    await expect(startServer({ connection: server.db.url, host: "0.0.0.0", port: 0 })).rejects.toMatchObject({
      code: "MR001",
      remedy: expect.stringContaining("millrace tokens new"),
    });
  });

  it("without tokens, no foreign Host and no foreign Origin", async () => {
    const { port } = new URL(open.url);
    const ask = (headers: Record<string, string>, method = "GET") =>
      raw(open.url, { path: "/api/v1/session", method, headers });
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`])
      expect((await ask({ host })).status, host).toBe(200);
    for (const host of [
      "evil.example",
      `evil.example:${port}`,
      "127.0.0.1.evil.example",
      "localhost.evil.example",
      "127.0.0.1@evil.example",
      " ",
      "0.0.0.0",
    ])
      expect((await ask({ host })).status, host).toBe(403);
    for (const origin of [
      "http://evil.example",
      "null",
      `http://localhost:${Number(port) + 1}`,
      "file://",
      `https://evil.example:${port}`,
    ])
      expect(await ask({ host: `localhost:${port}`, origin }), origin).toMatchObject({
        status: 403,
        body: expect.stringContaining("MR103"),
      });
    expect((await ask({ host: `localhost:${port}`, origin: `http://localhost:${port}` })).status).toBe(200);
    expect((await open.ask("GET", "/session")).headers.get("access-control-allow-origin")).toBeNull();
  });

  it("a token that asks too often waits, and others do not", async () => {
    const slow = await startServer({
      connection: { connectionString: open.db.url, max: 2 },
      port: 0,
      rate: { perSecond: 1, burst: 3 },
    });
    try {
      const asked = await Promise.all(Array.from({ length: 6 }, () => fetch(`${slow.url}/api/v1/session`)));
      const refused = asked.filter(({ status }) => status === 429);
      expect(refused).toHaveLength(3);
      expect(Number(refused[0]!.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
      expect(await refused[0]!.json()).toMatchObject({ code: "MR108" });
      expect((await fetch(`${slow.url}/healthz`)).status).toBe(200);
    } finally {
      await slow.stop();
    }
  });
});

describe("bad requests", () => {
  const refusals: readonly (readonly [string, string, string, unknown, number, string])[] = [
    ["half of a JSON text", "POST", "/jobs", '{"type":', 400, "MR001"],
    ["no JSON at all", "POST", "/jobs", "type=x", 400, "MR001"],
    ["a list for an object", "POST", "/jobs", "[]", 400, "MR001"],
    ["null for an object", "POST", "/jobs", "null", 400, "MR001"],
    ["a name nobody knows", "POST", "/jobs", { type: "x", prority: 1 }, 400, "MR001"],
    ["a wrong type", "POST", "/jobs", { type: 7 }, 400, "MR001"],
    ["a value out of range", "POST", "/jobs", { type: "x", priority: 11 }, 400, "MR001"],
    ["a NUL", "POST", "/jobs", { type: "x", input: "a\0b" }, 400, "MR001"],
    ["half a surrogate", "POST", "/jobs", '{"type":"x","input":"\\ud800"}', 400, "MR001"],
    ["no base64", "POST", "/jobs", { type: "x", payloadBase64: "!!!!" }, 400, "MR001"],
    ["no time", "POST", "/jobs", { type: "x", runAt: "tomorrow" }, 400, "MR001"],
    ["a queue that is not there", "GET", "/queues/none", undefined, 404, "MR003"],
    ["a job that is not there", "GET", "/jobs/1", undefined, 404, "MR002"],
    ["an id that is none", "GET", "/jobs/abc", undefined, 400, "MR001"],
    ["an id that is too long", "GET", "/jobs/99999999999999999999", undefined, 400, "MR001"],
    ["a schedule that is not there", "GET", "/schedules/none", undefined, 404, "MR016"],
    ["a path that is not there", "GET", "/nothing", undefined, 404, "MR104"],
    ["a method that is not there", "DELETE", "/queues/x", undefined, 405, "MR105"],
    ["a limit that is none", "GET", "/jobs?limit=x", undefined, 400, "MR001"],
    ["a limit beyond the most", "GET", "/jobs?limit=1001", undefined, 400, "MR001"],
    ["a filter twice", "GET", "/jobs?queue=a&queue=b", undefined, 400, "MR001"],
    ["a filter nobody knows", "GET", "/jobs?que=a", undefined, 400, "MR001"],
    ["a cursor that is none", "GET", "/jobs?cursor=x'--", undefined, 400, "MR001"],
    ["a cursor of events that is none", "GET", "/queues/default/events?cursor=x", undefined, 400, "MR001"],
    ["cancelling everything", "POST", "/jobs/cancel", { filter: {} }, 400, "MR001"],
    ["neither ids nor a filter", "POST", "/jobs/retry", {}, 400, "MR001"],
    ["a token that is none", "POST", "/claims/extend", { tokens: ["x"] }, 400, "MR001"],
    ["a rule that is none", "POST", "/schedules/preview", { rule: { cron: "x" } }, 400, "MR001"],
    ["options that are none", "PUT", "/queues/x", { maxRuning: 1 }, 400, "MR001"],
    ["a name that is none", "PUT", "/queues/a%20b", {}, 400, "MR001"],
    ["a name that leads elsewhere", "PUT", "/queues/..%2f..%2fetc%2fpasswd", {}, 400, "MR001"],
    ["a name with NUL", "PUT", "/queues/a%00b", {}, 400, "MR001"],
    ["an encoding that is none", "GET", "/queues/%ff", undefined, 400, "MR001"],
    ["an encoding cut off", "GET", "/queues/%e0%a4", undefined, 400, "MR001"],
    ["a year beyond all", "GET", "/jobs?since=9999-12-31T23:59:59Z&until=0001-01-01T00:00:00Z", undefined, 200, ""],
  ];
  for (const [what, method, path, body, status, code] of refusals) {
    it(`${what}: ${status}`, async () => {
      const answer = await server.ask(method, path, body);
      expect(answer.status, JSON.stringify(answer.body)).toBe(status);
      if (code === "") return;
      expect(answer.headers.get("content-type")).toBe("application/problem+json");
      expect(answer.body).toMatchObject({
        code,
        status,
        type: `urn:millrace:${code}`,
        title: expect.any(String),
        detail: expect.any(String),
        requestId: expect.any(String),
      });
      expect(JSON.stringify(answer.body)).not.toMatch(/\.(?:ts|js|sql):\d|node_modules|at \w+ \(/);
    });
  }

  it("tells the name that was probably meant", async () => {
    expect((await server.ask("POST", "/jobs", { type: "x", prority: 1 })).body).toMatchObject({
      detail: 'unknown option "prority"',
      remedy: 'did you mean "priority"?',
    });
    expect((await server.ask("GET", "/jobs?stat=failed")).body.remedy).toBe('did you mean "state"?');
  });

  it("names in paths are data: dots, slashes and quotes stay inside", async () => {
    for (const group of ["../../etc/passwd", "a/b", "a'; drop table job; --", "ä€😀", "%2e%2e", "..", "__proto__"]) {
      const answer = await server.ask("PUT", `/queues/default/groups/${encodeURIComponent(group)}`, { weight: 2 });
      // A browser, and fetch, resolve ".." themselves.
      if (group !== "..") expect(answer.status, group).toBe(200);
    }
    const stored = (await server.db.engine.groups()).map(({ group }) => group);
    expect(stored).toEqual(
      expect.arrayContaining(["../../etc/passwd", "a/b", "a'; drop table job; --", "ä€😀", "%2e%2e", "__proto__"]),
    );
    for (const path of [
      "/api/v1/../../../etc/passwd",
      "/api/v1//jobs",
      "/api/v1/jobs/",
      "/api/v1/./jobs",
      "/api/v1/%6aobs",
      "//api/v1/jobs",
      "/api/v1/jobs%2f1",
    ])
      expect(
        (await raw(server.url, { path, headers: { authorization: `Bearer ${server.tokens.admin}` } })).status,
        path,
      ).toBe(404);
  });

  it("nothing reaches the prototype of objects", async () => {
    for (const body of [
      '{"type":"x","__proto__":{"polluted":1}}',
      '{"type":"x","constructor":{"prototype":{"polluted":1}}}',
    ])
      expect((await server.ask("POST", "/jobs", body)).status).toBe(400);
    const inside = await server.ask(
      "POST",
      "/jobs",
      '{"type":"x","input":{"__proto__":{"polluted":1},"constructor":1},"headers":{"__proto__":{"polluted":1}}}',
    );
    expect(inside.status).toBe(200);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
    expect(Object.keys((await server.ask("GET", `/jobs/${inside.body.id}`)).body.job.input)).toEqual([
      "__proto__",
      "constructor",
    ]);
    expect((await server.ask("GET", "/jobs?__proto__=1")).status).toBe(400);
  });

  it("deep JSON is refused, not followed to the end of the stack", async () => {
    const deep = (levels: number): string => `{"type":"x","input":${"[".repeat(levels)}${"]".repeat(levels)}}`;
    expect((await server.ask("POST", "/jobs", deep(500))).status).toBe(200);
    expect(await server.ask("POST", "/jobs", deep(200_000))).toMatchObject({ status: 400, body: { code: "MR001" } });
    expect(
      (await server.ask("PUT", "/queues/x", `{"retry":${"[".repeat(100_000)}${"]".repeat(100_000)}}`)).status,
    ).toBe(400);
  });

  it("what is too large is refused before it is read", async () => {
    const large = JSON.stringify({ because: "x".repeat(1_100_000) });
    expect(await server.ask("POST", "/queues/default/pause", large)).toMatchObject({
      status: 413,
      body: { code: "MR106" },
    });
    const socket = socketTo(server.url);
    socket.write(
      `POST /api/v1/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${server.tokens.admin}\r\nContent-Type: application/json\r\nContent-Length: 999999999999\r\n\r\n{`,
    );
    const [answer] = (await once(socket, "data")) as [Buffer];
    expect(String(answer)).toContain("413");
    socket.destroy();
    const chunked = socketTo(server.url);
    chunked.write(
      `POST /api/v1/queues/default/pause HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${server.tokens.admin}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    for (let i = 0; i < 20; i += 1) chunked.write(`10000\r\n${"x".repeat(65_536)}\r\n`);
    const [refused] = (await once(chunked, "data")) as [Buffer];
    expect(String(refused)).toContain("413");
    chunked.destroy();
    await expectServes();
  });

  it("only JSON is JSON", async () => {
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""])
      expect(
        await server.ask("POST", "/jobs", '{"type":"x"}', { headers: { "content-type": type } }),
        type,
      ).toMatchObject({
        status: 415,
        body: { code: "MR107" },
      });
    expect(
      (
        await server.ask("POST", "/jobs", '{"type":"x"}', {
          headers: { "content-type": "application/json; charset=utf-8" },
        })
      ).status,
    ).toBe(200);
  });
});

describe("bad clients", () => {
  it("slow ones, silent ones and many of them take nothing from others", async () => {
    const sockets = Array.from({ length: 300 }, () => socketTo(server.url));
    await Promise.all(sockets.map((socket) => once(socket, "connect")));
    for (const [i, socket] of sockets.entries()) {
      if (i % 3 === 0) socket.write("GET /api/v1/session HTTP/1.1\r\nHost: x\r\nX-a: ");
      if (i % 3 === 1)
        socket.write(
          `POST /api/v1/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${server.tokens.admin}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`,
        );
    }
    for (let i = 0; i < 5; i += 1) await expectServes();
    for (const socket of sockets) socket.destroy();
    await expectServes();
  });

  it("headers without end are refused", async () => {
    const socket = socketTo(server.url);
    let answer = "";
    socket.on("data", (chunk) => (answer += String(chunk)));
    socket.write("GET /api/v1/session HTTP/1.1\r\nHost: x\r\n");
    for (let i = 0; i < 2000 && socket.writable; i += 1) socket.write(`X-${i}: ${"y".repeat(100)}\r\n`);
    await until("it is refused", () => answer.includes("431") || socket.destroyed);
    await expectServes();
  });

  it("those who hang up leave nothing behind: a claim goes back", async () => {
    await server.db.engine.queuePut("hung");
    await server.db.engine.enqueueMany("x", [1, 2, 3], { queue: "hung" });
    const body = JSON.stringify({ queues: ["hung"], limit: 3, leaseSeconds: 600 });
    // Nobody can say when a client goes; wherever it goes, nothing is lost for longer than its lease.
    for (let i = 0; i < 20; i += 1) {
      const socket = socketTo(server.url);
      await once(socket, "connect");
      socket.write(
        `POST /api/v1/claims HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${server.tokens.worker}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      );
      await sleep(i);
      socket.destroy();
    }
    const viewers = Array.from({ length: 20 }, () => new AbortController());
    const streams = await Promise.all(
      viewers.map(({ signal }) =>
        fetch(`${server.url}/api/v1/live`, { headers: { authorization: `Bearer ${server.tokens.reader}` }, signal }),
      ),
    );
    expect(streams.every(({ status }) => status === 200)).toBe(true);
    for (const viewer of viewers) viewer.abort();
    await until("viewers are gone", async () =>
      / 0$/m.test((await metrics()).split("\n").find((line) => line.startsWith("millrace_live_viewers"))!),
    );
    await expectServes();
  });

  it("viewers are bounded", async () => {
    const controllers: AbortController[] = [];
    const answers: Response[] = []; // kept: an answer nobody has any more is hung up on when memory is tidied
    for (let i = 0; i < 140; i += 1) {
      const controller = new AbortController();
      controllers.push(controller);
      answers.push(
        await fetch(`${server.url}/api/v1/live`, {
          headers: { authorization: `Bearer ${server.tokens.reader}` },
          signal: controller.signal,
        }),
      );
    }
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(133); // two thirds of 200
    expect(answers.filter(({ status }) => status === 503)).toHaveLength(7);
    for (const controller of controllers) controller.abort();
  });
});

async function metrics(): Promise<string> {
  return (
    await fetch(`${server.url}/metrics`, { headers: { authorization: `Bearer ${server.tokens.reader}` } })
  ).text();
}
