import { describe, expect, it, onTestFinished } from "vitest";
import { startServer } from "../../../src/server/server.js";
import { useServer } from "./server.js";

const server = useServer();

describe("whoever asks for much", () => {
  it("waits for a fingerprint that somebody holds, not for ever, and leaves connections to others", async () => {
    const small = await startServer({ connection: { connectionString: server.db.url, max: 4 }, port: 0 });
    onTestFinished(() => small.stop());
    const ask = async (method: string, path: string, body?: object, headers: object = {}) => {
      const json = body && { body: JSON.stringify(body), headers: { "content-type": "application/json", ...headers } };
      const response = await fetch(`${small.url}/api/v1${path}`, { method, ...json });
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    };
    const holder = await server.db.connect();
    await holder.query("begin");
    await holder.query(`select millrace.job_enqueue('held', '1', '{"fingerprint": "f"}')`);
    const enqueue = (headers = {}) => ask("POST", "/jobs", { type: "held", fingerprint: "f" }, headers);
    const waiting = [enqueue(), enqueue({ "idempotency-key": "k" })];
    const behind = [enqueue(), enqueue({ "idempotency-key": "l" }), enqueue()];
    expect((await ask("GET", "/queues/default")).status).toBe(200);
    expect((await ask("POST", "/jobs", { type: "other" })).status).toBe(200);
    for (const { status, body } of await Promise.all(waiting)) expect([status, body["code"]]).toEqual([504, "MR111"]);
    await holder.query("rollback");
    const made = await Promise.all(behind);
    expect(made.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(made.filter(({ body }) => body["duplicate"] === false)).toHaveLength(1);
  });

  it("gets no more than eight megabytes of what is next in line, or listed", async () => {
    await server.db.engine.queuePut("large");
    for (let i = 0; i < 12; i += 1)
      await server.db.engine.enqueue({ type: "large", queue: "large", input: "x".repeat(1_000_000) });
    for (const path of ["/queues/large/peek?limit=1000", "/jobs?queue=large"]) {
      const { body } = await server.ask("GET", path);
      expect(body.items.length, path).toBe(8);
    }
  });

  it("looks for what is rare, and does not keep others from working", async () => {
    await server.db.engine.enqueueMany(
      "many",
      Array.from({ length: 2000 }, (_, i) => i),
    );
    const looks = Array.from({ length: 20 }, () => server.ask("GET", "/jobs?error=nowhere"));
    expect((await server.ask("POST", "/jobs", { type: "meanwhile" })).status).toBe(200);
    for (const { status } of await Promise.all(looks)) expect(status).toBe(200);
  });
});
