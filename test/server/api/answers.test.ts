import { describe, expect, it } from "vitest";
import { startServer } from "../../../src/server/server.js";
import { makeToken, parseTokens } from "../../../src/server/auth/tokens.js";
import type { JobId } from "../../../src/db/types.js";
import { claimOne, enqueue, jobOf } from "../../support/jobs.js";
import { suspend } from "../../support/runs.js";
import { until } from "../../support/wait.js";
import { useServer } from "./server.js";

const logged: string[] = [];
const server = useServer({ log: (...entry) => logged.push(JSON.stringify(entry)) });
let made = 0;

/** A job that has given out a token, and waits for its answer. */
async function waiting(expires = 3600): Promise<{ readonly id: JobId; readonly token: string }> {
  const queue = `asks-${(made += 1)}`;
  await server.db.engine.queuePut(queue);
  const id = await enqueue(server.db, queue);
  const held = await claimOne(server.db, queue);
  const token = await server.db.engine.stepToken(held, "#token approved", "approved", expires);
  await suspend(server.db, held, [{ key: "approved", signals: ["approved"] }]);
  return { id, token };
}

const answer = (token: string, body?: unknown) => server.ask("POST", `/answers/${token}`, body, { role: "nobody" });

describe("a web hook", () => {
  it("ends the wait of its token, once, with no other right, and is on record [#202]", async () => {
    const { id, token } = await waiting();
    expect(await answer(token, { paid: 7 })).toMatchObject({ status: 200, body: { done: true } });
    await until("the server has delivered it", async () => (await jobOf(server.db, id)).state === "ready");
    expect(await server.db.engine.steps(id, { key: "approved" })).toMatchObject([
      { kind: "signal", value: { paid: 7 } },
      { kind: "got", value: { paid: 7 } },
    ]);
    expect(await answer(token, { paid: 8 })).toMatchObject({
      status: 410,
      body: { code: "MR020", detail: "this token was used before", remedy: expect.any(String) },
    });
    const { body } = await server.ask("GET", "/audit?limit=1");
    expect(body.items[0]).toMatchObject({
      who: "(anyone)",
      action: "POST /answers/{token}",
      object: `job ${id} "approved"`,
      result: "done",
    });
    expect(
      (
        await server.ask("GET", "/session", undefined, {
          role: "nobody",
          headers: { authorization: `Bearer ${token}` },
        })
      ).status,
    ).toBe(401);
  });

  it("may be a form, whose fields its job is told [#202]", async () => {
    const { id, token } = await waiting();
    const form = await server.ask("POST", `/answers/${token}`, "paid=7&to=ann&to=b%C3%B6rje&__proto__=x&empty=", {
      role: "nobody",
      headers: { "content-type": "application/x-www-form-urlencoded; charset=utf-8" },
    });
    expect(form).toMatchObject({ status: 200 });
    await until("the server has delivered it", async () => (await jobOf(server.db, id)).state === "ready");
    const [signal] = await server.db.engine.steps(id, { key: "approved" });
    expect(JSON.stringify(signal!.value)).toBe('{"paid":"7","to":["ann","börje"],"__proto__":"x","empty":""}');
    expect(
      await server.ask("POST", "/jobs", "type=x", { headers: { "content-type": "application/x-www-form-urlencoded" } }),
    ).toMatchObject({ status: 415 });
  });

  it("of very many fields costs what its length does [#202]", async () => {
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const many = Array.from({ length: 170_000 }, (_, n) => (n + 50_000).toString(36)).join("&");
    const path = `/answers/mrt_1_1_${"0".repeat(64)}`;
    const { status } = await server.ask("POST", path, many, { role: "nobody", headers });
    expect(status).toBeGreaterThanOrEqual(400);
    expect(status).toBeLessThan(500);
  });

  it("that guesses behind a proxy keeps only itself waiting [#202]", async () => {
    const { token } = await waiting();
    const other = await startServer({
      connection: { connectionString: server.db.url, max: 4 },
      port: 0,
      tokens: parseTokens(makeToken("a", "admin").line),
      trustProxy: ["127.0.0.0/8", "10.0.0.7"],
    });
    try {
      const hook = (path: string, told: string) =>
        fetch(`${other.url}/api/v1/answers/${path}`, { method: "POST", headers: { "x-forwarded-for": told } });
      const forged = token.slice(0, -1) + (token.endsWith("0") ? "1" : "0");
      await until("who guesses is told to wait", async () => {
        // what stands before the last address is the client's own invention
        const asked = await Promise.all(
          Array.from({ length: 30 }, (_, n) => hook(forged, `192.0.2.${n}, 198.51.100.1`)),
        );
        return asked.some(({ status }) => status === 429);
      });
      expect((await hook(token, "198.51.100.2, 10.0.0.7")).status).toBe(200);
    } finally {
      await other.stop();
    }
  });

  it("of 100 at once one counts [#202]", async () => {
    const { token } = await waiting();
    const answers = await Promise.all(Array.from({ length: 100 }, (_, n) => answer(token, { n })));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const { status } of answers) expect([200, 410, 503]).toContain(status);
  });

  it("with a forged token learns nothing, costs no entry of the audit, and has to wait when it goes on [#202]", async () => {
    const { id, token } = await waiting();
    const before = (await server.ask("GET", "/audit?limit=1")).body.items[0]?.id;
    const forged = token.slice(0, -1) + (token.endsWith("0") ? "1" : "0");
    const noJob = `mrt_1_1_${"0".repeat(64)}`;
    const told = await Promise.all([forged, noJob, "x", "mrt_", "x".repeat(8000)].map((one) => answer(one, {})));
    const facts = told.map(({ status, body: { requestId: _, ...problem } }) => ({ status, ...problem }));
    expect(new Set(facts.map((fact) => JSON.stringify(fact))).size).toBe(1);
    expect(facts[0]).toMatchObject({ status: 404, code: "MR020", detail: "nobody was given this token" });
    expect(JSON.stringify(told)).not.toContain(id);
    expect((await server.ask("GET", "/audit?limit=1")).body.items[0]?.id).toBe(before);

    const { line } = makeToken("a", "admin");
    const other = await startServer({
      connection: { connectionString: server.db.url, max: 4 },
      port: 0,
      tokens: parseTokens(line),
      publicUrl: "https://queue.example.com/mill",
    });
    try {
      const hook = (path: string) => fetch(`${other.url}/api/v1/answers/${path}`, { method: "POST" });
      const statuses = new Set<number>();
      await until("it is told to wait", async () => {
        const asked = await Promise.all(Array.from({ length: 30 }, () => hook(forged)));
        for (const { status } of asked) statuses.add(status);
        return asked.some(({ status, headers }) => status === 429 && Number(headers.get("retry-after")) > 0);
      });
      expect(statuses).toEqual(new Set([404, 429]));
    } finally {
      await other.stop();
    }
    expect(await answer(token)).toMatchObject({ status: 200 }); // an empty body is {}
  });

  it("is refused with what is wrong: too large, no JSON, an ended job, another method [#202]", async () => {
    const { id, token } = await waiting();
    expect(await answer(token, JSON.stringify("x".repeat(1_048_577)))).toMatchObject({ status: 413 });
    expect(await answer(token, "{not json")).toMatchObject({ status: 400, body: { code: "MR001" } });
    const text = await server.ask("POST", `/answers/${token}`, "a=1", {
      role: "nobody",
      headers: { "content-type": "text/plain" },
    });
    expect(text).toMatchObject({ status: 415, body: { code: "MR107" } });
    expect(await server.ask("GET", `/answers/${token}`, undefined, { role: "nobody" })).toMatchObject({ status: 405 });
    await server.db.engine.cancel([id]);
    expect(await answer(token, {})).toMatchObject({
      status: 410,
      body: { code: "MR020", detail: "the job of this token has ended" },
    });
  });

  it("leaves no token in the log [#202]", () => {
    expect(logged.join("\n")).toContain("/api/v1/answers/mrt_…");
    expect(logged.join("\n")).not.toMatch(/mrt_\d/);
  });
});
