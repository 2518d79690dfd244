import { describe, expect, it } from "vitest";
import { useServer } from "./server.js";

const server = useServer();

describe("whoever asks for much", () => {
  it("waits for a fingerprint that somebody holds, not for ever, and leaves connections to others", async () => {
    const holder = await server.db.connect();
    await holder.query("begin");
    await holder.query(`select millrace.job_enqueue('held', '1', '{"fingerprint": "f"}')`);
    const headers = { "idempotency-key": "k" };
    const waiting = Array.from({ length: 12 }, (_, i) => server.ask("POST", "/jobs", { type: "held", fingerprint: "f" }, i % 2 ? { headers } : {}));
    const began = performance.now();
    expect((await server.ask("GET", "/queues/default")).status).toBe(200);
    expect((await server.ask("POST", "/jobs", { type: "other" })).status).toBe(200);
    expect(performance.now() - began).toBeLessThan(4000);
    for (const { status, body } of await Promise.all(waiting)) expect([status, body.code]).toEqual([504, "MR111"]);
    await holder.query("rollback");
    expect((await server.ask("POST", "/jobs", { type: "held", fingerprint: "f" }, { headers })).body).toMatchObject({ duplicate: false });
  });

  it("gets no more than eight megabytes of what is next in line, or listed", async () => {
    await server.db.engine.queuePut("large");
    for (let i = 0; i < 12; i += 1) await server.db.engine.enqueue({ type: "large", queue: "large", input: "x".repeat(1_000_000) });
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
