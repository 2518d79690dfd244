import { describe, expect, it, onTestFinished } from "vitest";
import type { Role } from "../../../src/server/auth/roles.js";
import { type RawClient, beginRequest } from "../../support/sockets.js";
import { until } from "../../support/wait.js";
import { type TestServer, useServer } from "./server.js";

const mebibyte = 1_048_576;
const server = useServer();
const small = useServer({ bodyMemoryBytes: 3 * mebibyte, viewers: 6 });

/** Begin to send a job, and say how long it will be. */
function beginJob(to: TestServer, role: Role, bytes: number): RawClient {
  const client = beginRequest(to.url, "POST /api/v1/jobs", {
    authorization: `Bearer ${to.tokens[role]}`,
    "content-type": "application/json",
    "content-length": String(bytes),
    expect: "100-continue",
  });
  onTestFinished(() => void client.socket.destroy());
  return client;
}

describe("one token takes nothing from the others", () => {
  it("by saying how much it will send", async () => {
    const clients = Array.from({ length: 40 }, () => beginJob(server, "admin", 16 * mebibyte));
    await Promise.all(clients.map(({ got }) => got("100 Continue")));
    for (const { socket } of clients) socket.write("{");
    for (const role of ["producer", "admin"] as const)
      expect((await server.ask("POST", "/jobs", { type: "x" }, { role })).status).toBe(200);
  });

  it("by sending much: what has arrived is bounded, and a third of it is for others", async () => {
    const clients = Array.from({ length: 3 }, () => beginJob(small, "admin", mebibyte));
    await Promise.all(clients.map(({ got }) => got("100 Continue")));
    for (const { socket } of clients) socket.write("x".repeat(mebibyte - 1));
    await until("one is refused", () => clients.some(({ received }) => received().includes("HTTP/1.1 503")));
    expect(clients.find(({ received }) => received().includes("503"))!.received()).toMatch(
      /retry-after: 1[^]*"code":"MR110"/,
    );
    const input = "x".repeat(300_000);
    expect((await small.ask("POST", "/jobs", { type: "x", input }, { role: "producer" })).status).toBe(200);
    for (const { socket } of clients) socket.destroy();
    await until(
      "it is given back",
      async () => (await small.ask("POST", "/jobs", { type: "x", input: "x".repeat(1_900_000) })).status === 200,
    );
  });

  it("in pieces of one byte, which are one piece in memory", async () => {
    const body = JSON.stringify({ type: "x", input: "y".repeat(3000) });
    const client = beginRequest(server.url, "POST /api/v1/jobs", {
      authorization: `Bearer ${server.tokens.producer}`,
      "content-type": "application/json",
      "transfer-encoding": "chunked",
    });
    onTestFinished(() => void client.socket.destroy());
    for (const character of body) client.socket.write(`1\r\n${character}\r\n`);
    client.socket.write("0\r\n\r\n");
    await client.got('"duplicate":false');
  });

  it("by holding connections: its requests wait in a line of their own", async () => {
    await server.db.engine.queuePut("locked");
    const [holder, onlooker] = [await server.db.connect(), await server.db.connect()];
    await holder.query("begin");
    await holder.query("select millrace.queue_pause('locked')");
    let answered = 0;
    const pauses = Array.from({ length: 20 }, () =>
      server.ask("POST", "/queues/locked/pause", {}).finally(() => (answered += 1)),
    );
    await until("they wait", async () => {
      const { rows } = await onlooker.query(
        "select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
      );
      return rows[0].n > 1;
    });
    for (const [role, method, path, body] of [
      ["reader", "GET", "/running", undefined],
      ["producer", "POST", "/jobs", { type: "x" }],
      ["producer", "POST", "/jobs", { type: "x", fingerprint: "mine" }],
      ["reader", "GET", "/jobs?limit=1", undefined],
    ] as const)
      expect((await server.ask(method, path, body, { role })).status, path).toBe(200);
    expect(answered).toBe(0);
    await holder.query("rollback");
    for (const { status } of await Promise.all(pauses)) expect(status).toBe(200);
  });

  it("by watching", async () => {
    const watch = async (role: Role): Promise<number> => {
      const controller = new AbortController();
      onTestFinished(() => controller.abort());
      return (
        await fetch(`${small.url}/api/v1/live`, {
          headers: { authorization: `Bearer ${small.tokens[role]}` },
          signal: controller.signal,
        })
      ).status;
    };
    const seen: number[] = [];
    for (let i = 0; i < 6; i += 1) seen.push(await watch("reader"));
    expect(seen).toEqual([200, 200, 200, 200, 503, 503]);
    expect(await watch("producer")).toBe(200);
  });

  it("by sending payloads", async () => {
    const begin = (role: Role): RawClient => {
      const client = beginRequest(server.url, "POST /api/v1/jobs/stream?job=%7B%22type%22%3A%22x%22%7D", {
        authorization: `Bearer ${server.tokens[role]}`,
        "content-length": "10",
      });
      onTestFinished(() => void client.socket.destroy());
      return client;
    };
    const clients = Array.from({ length: 5 }, () => begin("producer"));
    await until("most are refused", () => clients.filter(({ received }) => received().includes("503")).length === 3);
    const other = begin("admin");
    other.socket.write("0123456789");
    await other.got('"duplicate":false');
  });
});
