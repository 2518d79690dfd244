import { createHash, randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { useServer } from "./server.js";

const server = useServer();
const headers = (role: "producer" | "reader", more: Record<string, string> = {}) => ({
  authorization: `Bearer ${server.tokens[role]}`,
  ...more,
});
const stream = (job: unknown, body: Uint8Array, more: Record<string, string> = {}) =>
  fetch(`${server.url}/api/v1/jobs/stream?job=${encodeURIComponent(JSON.stringify(job))}`, {
    method: "POST",
    headers: headers("producer", more),
    body,
  });
const read = (id: string, query = "", more: Record<string, string> = {}) =>
  fetch(`${server.url}/api/v1/jobs/${id}/payload${query}`, { headers: headers("reader", more) });
const sha = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

describe("payloads", () => {
  it("of any size come and go in pieces", async () => {
    const bytes = randomBytes(5_000_000);
    const made = await stream({ type: "large", input: { a: 1 } }, bytes, { "content-type": "text/html" });
    expect(made.status).toBe(200);
    const { id } = (await made.json()) as { id: string };
    const back = await read(id);
    expect(sha(new Uint8Array(await back.arrayBuffer()))).toBe(sha(bytes));
    // Whatever it says it is, a browser keeps it as a file and runs nothing of it.
    expect(back.headers.get("content-type")).toBe("application/octet-stream");
    expect(back.headers.get("content-disposition")).toBe(`attachment; filename="job-${id}-payload.bin"`);
    expect(back.headers.get("x-content-type-options")).toBe("nosniff");
    expect((await server.ask("GET", `/jobs/${id}`)).body.job).toMatchObject({
      payloadSize: 5_000_000,
      contentType: "text/html",
    });
  });

  it("parts of them by Range, or by offset and length", async () => {
    const { id } = (
      await server.ask("POST", "/jobs", {
        type: "x",
        payloadBase64: Buffer.from("0123456789").toString("base64"),
        input: { n: [1] },
      })
    ).body;
    const cases: readonly (readonly [string, string, number, string])[] = [
      ["", "bytes=2-4", 206, "234"],
      ["", "bytes=7-", 206, "789"],
      ["", "bytes=-2", 206, "89"],
      ["", "bytes=8-100", 206, "89"],
      ["", "bytes=0-9", 200, "0123456789"],
      ["", "bytes=1-2,4-5", 200, "0123456789"],
      ["", "nonsense", 200, "0123456789"],
      ["?offset=3&length=2", "", 206, "34"],
      ["?offset=9", "", 206, "9"],
      ["?part=input", "", 200, '{"n":[1]}'],
      ["?part=result", "", 200, "null"],
    ];
    for (const [query, range, status, text] of cases) {
      const answer = await read(id, query, range === "" ? {} : { range });
      expect([answer.status, await answer.text()], `${query} ${range}`).toEqual([status, text]);
    }
    for (const [query, range] of [
      ["", "bytes=10-"],
      ["", "bytes=5-4"],
      ["", "bytes=-0"],
      ["?offset=10", ""],
      ["?offset=11", ""],
    ] as const)
      expect((await read(id, query, range === "" ? {} : { range })).status, `${query} ${range}`).toBe(416);
    expect((await read(id, "?offset=-1")).status).toBe(400);
    const head = await fetch(`${server.url}/api/v1/jobs/${id}/payload`, { method: "HEAD", headers: headers("reader") });
    expect([head.status, head.headers.get("content-length")]).toEqual([200, "10"]);
  });

  it("that are wrong are refused: none, too large, of an unknown length, of a job nobody can make", async () => {
    const { id } = (await server.ask("POST", "/jobs", { type: "x" })).body;
    expect((await read(id)).status).toBe(404);
    expect((await read("1")).status).toBe(404);
    await server.db.engine.cellPut({ payloadLimitBytes: 1000 });
    expect((await stream({ type: "x" }, randomBytes(1000))).status).toBe(413);
    expect(
      (await server.ask("POST", "/jobs", { type: "x", payloadBase64: randomBytes(1000).toString("base64") })).status,
    ).toBe(413);
    await server.db.engine.cellPut({ payloadLimitBytes: null });
    for (const job of ["{", '"x"', "{}", '{"type":"x","payloadBase64":"AA=="}'])
      expect(
        (
          await fetch(`${server.url}/api/v1/jobs/stream?job=${encodeURIComponent(job)}`, {
            method: "POST",
            headers: headers("producer"),
            body: "x",
          })
        ).status,
        job,
      ).toBe(400);
    const endless = new ReadableStream({
      start: (controller) => (controller.enqueue(Buffer.from("x")), controller.close()),
    });
    const chunked = await fetch(`${server.url}/api/v1/jobs/stream?job=${encodeURIComponent('{"type":"x"}')}`, {
      method: "POST",
      headers: headers("producer"),
      body: endless,
      duplex: "half",
    });
    expect(chunked.status).toBe(400);
  });
});
