import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { apiErrors } from "../../../src/server/api/problem.js";
import { serverMetrics } from "../../../src/server/operations/metrics.js";
import { startServer } from "../../../src/server/server.js";
import { startEmbeddedServer } from "../../../src/embedded/server.js";
import { until } from "../../support/wait.js";
import { useServer } from "./server.js";

const server = useServer({ prefix: "/queue" });
const page = (name: string) => readFileSync(new URL(`../../../docs/${name}`, import.meta.url), "utf8");
const scrape = (token = server.tokens.reader) =>
  fetch(`${server.url}/metrics`, { headers: { authorization: `Bearer ${token}` } });

describe("operations", () => {
  it("everything is below the prefix, and health needs no token", async () => {
    for (const path of ["/healthz", "/readyz"]) expect((await fetch(`${server.url}${path}`)).status).toBe(200);
    const { origin } = new URL(server.url);
    expect((await fetch(`${origin}/healthz`)).status).toBe(404);
    expect((await fetch(`${origin}/queuex/healthz`)).status).toBe(404);
    expect((await fetch(`${server.url}/healthz`, { method: "POST" })).status).toBe(405);
  });

  it("a browser finds the dashboard below the prefix, with and without a slash at its end", async () => {
    const open = (path: string) =>
      fetch(`${new URL(server.url).origin}${path}`, { headers: { accept: "text/html" }, redirect: "manual" });
    for (const path of ["/queue", "/queue/", "/queue/dashboard"])
      expect(new URL((await open(path)).headers.get("location")!, `http://host${path}`).pathname, path).toBe(
        "/queue/dashboard/",
      );
  });

  it("metrics are those that docs/observability.md lists, for readers", async () => {
    await server.ask("GET", "/session");
    await server.ask("GET", "/queues/none");
    expect((await fetch(`${server.url}/metrics`)).status).toBe(401);
    const text = await (await scrape()).text();
    const told = new Set([...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name!));
    const listed = [
      ...page("observability.md")
        .split("## Metrics of the server")[1]!
        .split("\n## ")[0]!
        .matchAll(/^\| `(\w+)` \|/gm),
    ].map(([, name]) => name!);
    expect([...told].toSorted()).toEqual(listed.toSorted());
    expect(listed.toSorted()).toEqual(
      Object.values(serverMetrics)
        .map(({ name }) => name)
        .toSorted(),
    );
    expect(text).toContain('millrace_queue_ready{queue="default"} 0');
    expect(text).toMatch(/millrace_http_requests_total\{method="GET",route="\/queues\/\{queue\}",status="404"\} 1/);
    expect(text).toMatch(
      /millrace_http_request_duration_seconds_bucket\{method="GET",route="\/session",le="\+Inf"\} \d/,
    );
    // Each line is a sample as Prometheus reads it.
    for (const line of text
      .trim()
      .split("\n")
      .filter((one) => !one.startsWith("#")))
      expect(line).toMatch(/^\w+(\{(\w+="[^"]*",?)*\})? -?[\d.e+-]+$/);
  });

  it("docs/api.md lists the codes of the server", () => {
    const listed = [...page("api.md").matchAll(/^\| (MR1\d\d) \| (\d{3}) \|/gm)].map(
      ([, code, status]) => `${code} ${status}`,
    );
    expect(listed).toEqual(Object.values(apiErrors).map(({ code, status }) => `${code} ${status}`));
  });

  it("a server that stops says so first, lets requests end, and takes no others", async () => {
    const stopping = await startServer({
      connection: { connectionString: server.db.url, max: 3 },
      port: 0,
      drainDelayMs: 500,
    });
    const viewer = await fetch(`${stopping.url}/api/v1/live`);
    const began = performance.now();
    const stopped = stopping.stop();
    expect((await fetch(`${stopping.url}/readyz`)).status).toBe(503);
    expect((await fetch(`${stopping.url}/healthz`)).status).toBe(200);
    expect((await fetch(`${stopping.url}/api/v1/session`)).status).toBe(200);
    await viewer.text(); // ends
    await stopped;
    expect(performance.now() - began).toBeLessThan(8000);
    await expect(fetch(`${stopping.url}/healthz`)).rejects.toThrow("fetch failed");
    await stopping.stop(); // a second time is harmless
  });

  it("an answer that somebody reads slowly is not cut off by a stop", async () => {
    const stopping = await startServer({ connection: { connectionString: server.db.url, max: 3 }, port: 0 });
    for (let i = 0; i < 7; i += 1) await server.db.engine.enqueue({ type: "large", input: "x".repeat(1_000_000) });
    const socket = connect(Number(new URL(stopping.url).port), "127.0.0.1");
    socket.write("GET /api/v1/jobs?type=large HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n");
    const [head] = (await once(socket, "data")) as [Buffer];
    socket.pause();
    await sleep(200); // it is handed over by now, and does not fit into the buffers between us
    const stopped = stopping.stop();
    await sleep(200);
    let size = head.length;
    socket.on("data", (chunk) => (size += chunk.length)).resume();
    await once(socket, "close");
    await stopped;
    const [, length] = /content-length: (\d+)/i.exec(head.toString())!;
    expect(size).toBe(head.indexOf("\r\n\r\n") + 4 + Number(length));
    expect(size).toBeGreaterThan(7_000_000);
  });

  it("without a database it is alive, not ready, answers 503, and recovers", async () => {
    const folderless = await startEmbeddedServer({ settings: { fsync: "off" } });
    const away = await startServer({
      connection: { connectionString: folderless.url, max: 3, connectionTimeoutMillis: 2000 },
      port: 0,
    });
    try {
      expect(await (await fetch(`${away.url}/readyz`)).text()).toBe("the schema does not fit this release\n");
      const unfit = await fetch(`${away.url}/api/v1/queues`);
      expect([unfit.status, ((await unfit.json()) as { code: string; remedy: string }).code]).toEqual([503, "MR008"]);
      await folderless.stop("immediate");
      expect((await fetch(`${away.url}/healthz`)).status).toBe(200);
      await until(
        "readyz tells",
        async () => (await (await fetch(`${away.url}/readyz`)).text()) === "the database is not available\n",
      );
      const answer = await fetch(`${away.url}/api/v1/queues`);
      expect(answer.status).toBe(503);
      expect(answer.headers.get("retry-after")).toBe("5");
      const problem = (await answer.json()) as { code: string; detail: string };
      expect(problem.code).toBe("MR009");
    } finally {
      await away.stop();
    }
  });

  it("requests are spans below their traceparent when tracing is given", async () => {
    const spans: { name: string; parent: string | undefined }[] = [];
    const traced = await startServer({
      connection: { connectionString: server.db.url, max: 2 },
      port: 0,
      tracing: { current: () => undefined, run: (span, work) => (spans.push(span), work()) },
    });
    try {
      const traceparent = `00-${"1".repeat(32)}-${"2".repeat(16)}-01`;
      await fetch(`${traced.url}/api/v1/queues/default`, { headers: { traceparent } });
      expect(spans).toMatchObject([
        { name: "GET /queues/{queue}", parent: traceparent, attributes: { "http.route": "/queues/{queue}" } },
      ]);
    } finally {
      await traced.stop();
    }
  });
});
