import { once } from "node:events";
import { type IncomingMessage, type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Millrace } from "millrace";
import { type QueueHandler, type Role, createHandler } from "millrace/server";
import { UserAuth } from "../../../src/server/auth/user-auth.js";
import { firstOf } from "../../../src/server/http/exchange.js";
import { Exchanges } from "../../../src/server/http/exchanges.js";
import { fetchThrough } from "../../../src/server/http/fetch.js";
import { QueueParts } from "../../../src/server/queue-parts.js";
import { useDatabase } from "../../support/database.js";
import { until } from "../../support/wait.js";

const db = useDatabase();
const people: Readonly<Record<string, Role>> = { "Ann Ågren": "admin", Rob: "reader" };
const troubles: string[] = [];
let mill: Millrace;
let admin: QueueHandler;
let server: Server;
let origin: string;

/** The application's own sign-in: a cookie with a name. */
function userOf(request: IncomingMessage | Request) {
  const cookie = request instanceof Request ? request.headers.get("cookie") : request.headers.cookie;
  const name = decodeURIComponent(/user=([^;]*)/.exec(cookie ?? "")?.[1] ?? "");
  if (name === "broken") return { name: "x", role: "king" as never };
  return people[name] ? { name, role: people[name] } : null;
}

beforeAll(async () => {
  mill = new Millrace({ connection: db.url });
  admin = createHandler({
    mill,
    basePath: "/admin/queue",
    user: async (request) => userOf(request),
    logger: { warn: (_, message) => troubles.push(message), error: (_, message) => troubles.push(message) },
  });
  server = createServer((request, response) => {
    if (request.url!.startsWith("/admin/")) void admin.node(request, response);
    else response.writeHead(404).end("the application has no such page");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  await admin.close();
  server.close();
  await mill.close();
});

interface Ask {
  readonly method?: string;
  readonly as?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
}

const kinds = {
  node: (path: string, init: RequestInit) => fetch(`${origin}${path}`, { redirect: "manual", ...init }),
  fetch: (path: string, init: RequestInit) => admin.fetch(new Request(`https://shop.example${path}`, init)),
};

describe.each(Object.entries(kinds))("a mounted handler, asked by %s", (kind, send) => {
  const ask = (path: string, { as = "Ann Ågren", headers, ...init }: Ask = {}) =>
    send(`/admin/queue${path}`, {
      ...init,
      headers: {
        ...(as === "" ? {} : { cookie: `theme=dark; user=${encodeURIComponent(as)}` }),
        ...(init.body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
    });
  const problem = async (response: Response) => (await response.json()) as { code: string; detail: string };

  it("shows the page and its files to whoever is signed in, with the headers that millrace serve has", async () => {
    const first = await ask("", { headers: { accept: "text/html" } });
    expect([first.status, first.headers.get("location")]).toEqual([302, "queue/dashboard/index.html"]);
    expect((await ask("/dashboard")).headers.get("location")).toBe("dashboard/index.html");
    const page = await ask("/dashboard/index.html");
    expect(page.status).toBe(200);
    expect(page.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    expect(page.headers.get("x-content-type-options")).toBe("nosniff");
    const html = await page.text();
    const [, script] = /src="\.\/(assets\/[^"]+\.js)"/.exec(html)!;
    const file = await ask(`/dashboard/${script}`);
    expect([file.status, file.headers.get("content-type")]).toEqual([200, "text/javascript; charset=utf-8"]);
    expect((await file.text()).length).toBeGreaterThan(10_000);
    const tag = page.headers.get("etag")!;
    const known = await ask("/dashboard/index.html", { headers: { "if-none-match": tag } });
    expect([known.status, await known.text()]).toEqual([304, ""]);
    const head = await ask("/dashboard/index.html", { method: "HEAD" });
    expect([head.status, await head.text(), head.headers.get("content-length")]).toEqual([
      200,
      "",
      page.headers.get("content-length"),
    ]);
    expect((await send("/admin/elsewhere", {})).status).toBe(404);
    expect((await ask("/healthz")).status).toBe(404);
  });

  it("knows nobody but those whom the application has signed in", async () => {
    for (const as of ["", "stranger"]) {
      const refused = await ask("/api/v1/session", { as });
      expect(refused.status).toBe(401);
      expect(refused.headers.get("www-authenticate"), "a browser would ask for a password").toBeNull();
      expect(await problem(refused)).toMatchObject({ code: "MR114" });
      expect((await ask("/dashboard/index.html", { as })).status).toBe(401);
    }
    const session = (await (await ask("/api/v1/session")).json()) as object;
    expect(session).toMatchObject({ name: "Ann Ågren", role: "admin", isOpen: false, isMounted: true });
    const token = await ask("/api/v1/session", { as: "", headers: { authorization: "Bearer mr_x" } });
    expect(token.status).toBe(401);
  });

  it("has the roles of tokens, and an audit with the application's names", async () => {
    await mill.queues.put("mail");
    const pause = (as: string) =>
      ask("/api/v1/queues/mail/pause", { method: "POST", as, body: '{"because":"of a test"}' });
    expect(await problem(await pause("Rob"))).toMatchObject({
      code: "MR102",
      detail: '"Rob" is a reader; this needs the role admin',
    });
    expect((await pause("Ann Ågren")).status).toBe(200);
    const entry = (await (await ask("/api/v1/audit?limit=1", { as: "Rob" })).json()) as { items: object[] };
    expect(entry.items[0]).toMatchObject({ who: "Ann Ågren", action: "POST /queues/{queue}/pause", result: "done" });
    await mill.queues.resume("mail");
  });

  it("does nothing that a page of another site asks for", async () => {
    const pause = (headers: Record<string, string>) =>
      ask("/api/v1/queues/mail/pause", { method: "POST", headers: { host: "shop.example", ...headers } });
    const foreign: readonly Record<string, string>[] = [
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site", origin: "https://blog.shop.example" },
      { "sec-fetch-site": "cross-site", origin: "https://shop.example" },
      { origin: "https://evil.example" },
      { origin: "null" },
      { origin: "https://shop.example.evil.example" },
    ];
    for (const headers of foreign) {
      const refused = await pause(headers);
      expect([refused.status, (await problem(refused)).code], JSON.stringify(headers)).toEqual([403, "MR103"]);
    }
    expect((await ask("/api/v1/jobs", { headers: { "sec-fetch-site": "cross-site" } })).status).toBe(403);
    expect((await mill.engine.queues()).find(({ name }) => name === "mail")?.state).toBe("active");
    const own: readonly Record<string, string>[] = [
      {},
      { "sec-fetch-site": "same-origin", origin: "https://outside.example" },
      { origin: "https://outside.example", "x-forwarded-host": "outside.example" },
    ];
    for (const headers of own) expect((await pause(headers)).status, JSON.stringify(headers)).toBe(200);
    await mill.queues.resume("mail");
    const link = await ask("/dashboard/index.html", { headers: { "sec-fetch-site": "cross-site" } });
    expect(link.status, "but the page may be linked to").toBe(200);
  });

  it("takes bodies and payloads, and gives them back, packed too", async () => {
    const exact = await ask("/api/v1/jobs", {
      method: "POST",
      body: '{"type":"x","queue":"mail","input":9007199254740993}',
    });
    const { id } = (await exact.json()) as { id: string };
    expect(await (await ask(`/api/v1/jobs/${id}`)).text()).toContain('"input":9007199254740993');
    const [claim] = await mill.engine.claim({ queues: ["mail"], limit: 1, leaseSeconds: 60 });
    const reported = await ask("/api/v1/claims/settle", {
      method: "POST",
      body: `{"settlements":[{"token":"${claim!.token}","outcome":"succeeded","jobs":["${id}"],"results":[9007199254740993]}]}`,
    });
    expect(reported.status).toBe(200);
    const ended = await ask(`/api/v1/jobs/${id}/result?waitSeconds=20`);
    expect(await ended.text(), "the pool is the application's, which rounds").toContain('"result":9007199254740993');
    const bytes = new Uint8Array(2_500_000).map((_, i) => i % 251);
    const streamed = await send("/admin/queue/api/v1/jobs/stream?job=%7B%22type%22%3A%22y%22%7D", {
      method: "POST",
      headers: { cookie: "user=Ann%20%C3%85gren", "content-length": String(bytes.length) },
      body: bytes,
    });
    expect(streamed.status).toBe(200);
    const { id: large } = (await streamed.json()) as { id: string };
    const back = await ask(`/api/v1/jobs/${large}/payload`);
    expect(Buffer.from(await back.arrayBuffer()).equals(bytes)).toBe(true);
    const tooLong = await ask("/api/v1/queues/mail/pause", {
      method: "POST",
      body: JSON.stringify({ because: "x".repeat(1_100_000) }),
    });
    expect([tooLong.status, (await problem(tooLong)).code]).toEqual([413, "MR106"]);
    const packed = await ask("/api/v1/openapi.json", { headers: { "accept-encoding": "gzip" } });
    expect(packed.headers.get("content-encoding"), "whoever sends a Response packs it").toBe(
      kind === "node" ? "gzip" : null,
    );
  });

  it("streams what happens to those who look, until they go", async () => {
    const leaving = new AbortController();
    const live = await ask("/api/v1/live", { as: "Rob", signal: leaving.signal });
    expect(live.headers.get("content-type")).toBe("text/event-stream");
    const reader = live.body!.getReader();
    let seen = "";
    for (const decoder = new TextDecoder(); seen.split("event: sample").length < 3;) {
      const { value } = await reader.read();
      seen += decoder.decode(value);
    }
    expect(seen).toContain('"queue":"mail"');
    leaving.abort();
    await expect(reader.read()).rejects.toThrow();
  });

  it("tells the log, and not the client, what the application did wrong", async () => {
    const broken = await ask("/api/v1/session", { as: "broken" });
    expect(broken.status).toBe(500);
    expect(await broken.text()).not.toContain("king");
    expect(troubles.at(-1)).toContain(`the user's role cannot be "king"`);
  });
});

describe("what a call says", () => {
  it("stands before the options", async () => {
    const answer = await admin.fetch(new Request("https://shop.example/tenants/7/queue/api/v1/session"), {
      basePath: "/tenants/7/queue",
      user: { name: "Eve", role: "producer" },
    });
    expect(await answer.json()).toMatchObject({ name: "Eve", role: "producer" });
    const nobody = await admin.fetch(
      new Request("https://shop.example/admin/queue/api/v1/session", { headers: { cookie: "user=Rob" } }),
      { user: undefined },
    );
    expect(nobody.status, "an application that knows nobody means nobody").toBe(401);
  });

  it("is checked", async () => {
    await expect(admin.fetch(new Request("https://shop.example/"), { usr: null } as never)).rejects.toMatchObject({
      code: "MR001",
    });
    expect(() => createHandler({ mill, basePath: "admin" })).toThrow(/give a path such as/);
    expect(() => createHandler({ mill, baseUrl: "/x" } as never)).toThrow(/unknown option "baseUrl"/);
  });

  it("may be an address, for the audit", async () => {
    await admin.fetch(new Request("https://shop.example/admin/queue/api/v1/queues/mail/resume", { method: "POST" }), {
      user: { name: "Eve", role: "admin" },
      address: "192.0.2.7",
    });
    const [entry] = await db.sql<{ who: string; address: string }>(
      "select who, address from millrace.audits order by id desc limit 1",
    );
    expect(entry).toEqual({ who: "Eve", address: "192.0.2.7" });
  });
});

it("a body that a parser has read before is taken from there", async () => {
  const parsing = createServer((request, response) => {
    void (async () => {
      const sent = await text(request);
      const how = request.headers["x-how"];
      Object.assign(request, how === "raw" ? { rawBody: Buffer.from(sent), body: {} } : { body: JSON.parse(sent) });
      await admin.node(request, response, { user: { name: "Ann", role: "admin" } });
    })();
  }).listen(0, "127.0.0.1");
  await once(parsing, "listening");
  const at = `http://127.0.0.1:${(parsing.address() as AddressInfo).port}/admin/queue/api/v1`;
  const post = async (path: string, how: string, body: string) =>
    (await (
      await fetch(`${at}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-how": how },
        body,
      })
    ).json()) as { id: string; code?: string };
  try {
    const { id } = await post("/jobs", "parsed", '{"type":"p","input":{"a":[1,2]}}');
    expect((await mill.jobs.get(id))?.job.input).toEqual({ a: [1, 2] });
    expect(await post("/jobs/stream?job=%7B%22type%22%3A%22y%22%7D", "parsed", '{"a": 1}')).toMatchObject({
      code: "MR001",
    });
    const kept = await post("/jobs/stream?job=%7B%22type%22%3A%22y%22%7D", "raw", '{"a": 1}');
    expect(Buffer.from((await mill.engine.payloadRead(kept.id, 0, 100))!).toString()).toBe('{"a": 1}');
  } finally {
    parsing.close();
  }
});

it("a live stream ends now and then, so that the application is asked again who looks", async () => {
  const parts = new QueueParts(mill, new UserAuth(undefined, 50), { log: () => {} });
  const exchanges = new Exchanges(() => {}, firstOf(parts.routes));
  const user = async () => ({ name: "Ann", role: "reader" }) as const;
  const live = await fetchThrough(new Request("http://localhost/api/v1/live"), (incoming, outgoing) =>
    exchanges.serve(incoming, outgoing, { prefix: "", user }),
  );
  expect(await live.text()).toMatch(/\nevent: again\ndata: \{\}\n\n$/);
  await parts.stop();
});

it("close ends live streams, and is harmless twice", async () => {
  const other = createHandler({ mill, user: () => ({ name: "Ann", role: "admin" }) });
  const live = await other.fetch(new Request("http://localhost/api/v1/live"));
  const reading = live.text();
  await Promise.all([other.close(), other.close()]);
  expect(await reading).toContain("retry: 2000");
});

it("web hooks are sent by a handler that is told to, until it is closed; before, the page and the doctor say that nobody does", async () => {
  const received: string[] = [];
  const receiver = createServer((request, response) => {
    void text(request).then((body) => {
      received.push((JSON.parse(body) as { message: string }).message);
      response.end();
    });
  }).listen(0, "127.0.0.1");
  await once(receiver, "listening");
  await mill.alerts.hookPut("ops", { url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/` });
  const quiet = createHandler({ mill, user: () => ({ name: "Ann", role: "admin" }) });
  const doctor = await quiet.fetch(new Request("http://localhost/api/v1/doctor"));
  const { items } = (await doctor.json()) as { items: { name: string }[] };
  expect(items.find(({ name }) => name === "hooks")).toMatchObject({
    state: "wrong",
    message: "there is 1 web hook, and no worker that is known sends what it is to be told",
  });
  const senders = async () => {
    const answer = await quiet.fetch(new Request("http://localhost/api/v1/alerts/hooks"));
    return ((await answer.json()) as { items: { senders: number }[] }).items[0]!.senders;
  };
  expect(await senders()).toBe(0);
  const sender = createHandler({ mill, webHooks: { allowedHosts: ["127.0.0.1"] } });
  try {
    await mill.alerts.hookTest("ops", { by: "ann" });
    await until("it has arrived", () => received.length === 1, 30_000);
    expect(received).toEqual(["a test by ann"]);
    await until("it is known", async () => (await senders()) === 1, 20_000);
    await Promise.all([sender.close(), sender.close()]);
    expect(await senders()).toBe(0);
    expect(() => createHandler({ mill, webHooks: { allowedHosts: ["a b"] } })).toThrow("allowedHosts");
  } finally {
    await Promise.all([sender.close(), quiet.close()]);
    receiver.close();
  }
});
