import { randomBytes } from "node:crypto";
import { get } from "node:http";
import { gunzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { enqueue } from "../../support/jobs.js";
import { until } from "../../support/wait.js";
import { useServer } from "./server.js";

const server = useServer();

/** An answer as it comes over the wire. */
function raw(path: string, encoding?: string): Promise<{ headers: Record<string, unknown>; body: Buffer }> {
  return new Promise((resolve, reject) => {
    get(
      `${server.url}/api/v1${path}`,
      {
        headers: {
          authorization: `Bearer ${server.tokens.reader}`,
          ...(encoding !== undefined && { "accept-encoding": encoding }),
        },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () => resolve({ headers: response.headers, body: Buffer.concat(chunks) }));
      },
    ).on("error", reject);
  });
}

it("lists without inputs are as long as what they show, whatever the inputs are", async () => {
  await server.db.engine.queuePut("large");
  const blob = "x".repeat(3_000_000);
  for (let n = 0; n < 5; n += 1) await enqueue(server.db, "large", { type: "t", input: { blob, n } });
  const { body: whole } = await server.ask("GET", "/jobs?queue=large");
  expect(whole.items.length, "8 MB of inputs are a page").toBeLessThan(5);
  const { body } = await raw("/jobs?queue=large&brief=true");
  expect(body.length).toBeLessThan(20_000);
  const { items, next } = JSON.parse(String(body)) as { items: { input: unknown; type: string }[]; next?: string };
  expect(items.map(({ input, type }) => [input, type])).toEqual(Array.from({ length: 5 }, () => [null, "t"]));
  expect(next).toBeUndefined();
});

it("a job that is asked for again comes without its input", async () => {
  const id = await enqueue(server.db, "large", { type: "t", input: { blob: "x".repeat(1_000_000) } });
  const { body } = await raw(`/jobs/${id}?brief=true`);
  expect(body.length).toBeLessThan(10_000);
  expect((JSON.parse(String(body)) as { job: unknown }).job).toMatchObject({ id, type: "t", input: null });
  expect((await raw(`/jobs/${id}`)).body.length).toBeGreaterThan(1_000_000);
});

/** How many pages of the database a query looks at, once its session knows the catalog. */
async function pagesOf(query: string): Promise<number> {
  const client = await server.db.connect();
  const pages = async () => {
    const { rows } = await client.query(`explain (analyze, buffers, format json) ${query}`);
    const plan = rows[0]["QUERY PLAN"][0].Plan;
    return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"];
  };
  await pages();
  return pages();
}

it("what is brief does not read inputs: of a job, of the next ones of a queue, of schedules; all else is the same", async () => {
  const blob = randomBytes(700_000).toString("base64"); // 100 pages and more, however it is packed
  await server.db.engine.queuePut("next");
  await server.db.engine.resourcePut("gpu", { maxRunning: 5 });
  const id = await enqueue(server.db, "next", {
    type: "t",
    input: { blob },
    headers: { a: "b" },
    resources: { gpu: 1 },
  });
  await server.db.engine.retryLater((await server.db.engine.claim({ queues: ["next"] }))[0]!, {
    message: "m",
    stack: "s",
  });
  await server.db.engine.runNow([id]);
  const whole = (await server.ask("GET", `/jobs/${id}`)).body;
  const brief = (await server.ask("GET", `/jobs/${id}?brief=true`)).body;
  expect(brief).toEqual({ ...whole, job: { ...whole.job, input: null, result: null, headers: null, source: null } });
  expect(whole.job.input.blob).toBe(blob);
  const full = await pagesOf(`select job_get(${id})`);
  expect(await pagesOf(`select job_get(${id}, true)`)).toBeLessThan(full - 100);

  await enqueue(server.db, "next", { type: "u", input: { blob } });
  const peek = async () => (await server.ask("GET", "/queues/next/peek?limit=50")).body.items as { id: string }[];
  await until("both are ready", async () => (await peek()).length === 2, 30_000);
  const peeked = await peek();
  const { body: next } = await raw("/queues/next/peek?limit=50&brief=true");
  expect(next.length).toBeLessThan(10_000);
  const { items } = JSON.parse(String(next)) as { items: Record<string, unknown>[] };
  expect(items.map((job) => job["id"])).toEqual(peeked.map((job) => job.id));
  expect(items.find((job) => job["id"] === id)).toMatchObject({
    input: null,
    headers: null,
    lastError: { message: "m" },
  });
  expect(await pagesOf("select id from job_peek('next', 50)")).toBeLessThan(
    (await pagesOf("select octet_length(input::text) from job_peek('next', 50)")) - 100,
  );

  for (const name of ["one", "two"])
    await server.ask("PUT", `/schedules/${name}`, { rule: { every: "1d" }, job: { type: "t" }, input: { blob } });
  const listed = (await server.ask("GET", "/schedules")).body.items;
  const { body: list } = await raw("/schedules?brief=true&limit=1000");
  expect(list.length).toBeLessThan(10_000);
  const bare = (one: object) => ({ ...one, input: null });
  expect((JSON.parse(String(list)) as { items: unknown }).items).toEqual(listed.map(bare));
  expect((await server.ask("GET", "/schedules/one?brief=true")).body).toEqual(bare(listed[0]));
  expect((await server.ask("GET", "/schedules/none?brief=true")).status).toBe(404);
});

it("a brief list tells errors without their stacks, and only the beginning of long ones", async () => {
  const { engine } = server.db;
  await engine.queuePut("failing");
  await enqueue(server.db, "failing", { type: "t", maxAttempts: 1 });
  const [job] = await engine.claim({ queues: ["failing"] });
  await engine.fail(job!, { name: "FetchError", message: "m".repeat(10_000), stack: "s".repeat(10_000) });
  const { body } = await server.ask("GET", "/jobs?queue=failing&brief=true");
  expect(body.items[0].lastError).toEqual({ name: "FetchError", message: "m".repeat(500) });
});

it("answers are packed for who takes gzip, and for nobody else", async () => {
  await server.db.engine.queuePut("listed");
  await server.db.engine.enqueueMany(
    "t",
    Array.from({ length: 50 }, (_, n) => ({ some: `input ${n}` })),
    { queue: "listed" },
  );
  const path = "/jobs?queue=listed";
  const plain = await raw(path);
  expect(plain.headers["content-encoding"]).toBeUndefined();
  expect(plain.headers["vary"]).toBe("accept-encoding");
  for (const encoding of ["gzip", "gzip, deflate, br", "br;q=1, gzip;q=0.5"]) {
    const packed = await raw(path, encoding);
    expect(packed.headers["content-encoding"], encoding).toBe("gzip");
    expect(packed.body.length).toBeLessThan(plain.body.length / 4);
    expect(packed.headers["content-length"]).toBe(String(packed.body.length));
    expect(JSON.parse(String(gunzipSync(packed.body)))).toEqual(JSON.parse(String(plain.body)));
  }
  for (const encoding of ["br", "gzip;q=0", "gzip;q=0.0", "xgzip", ""])
    expect((await raw(path, encoding)).headers["content-encoding"], encoding).toBeUndefined();
  expect((await raw("/session", "gzip")).headers["content-encoding"], "short ones stay").toBeUndefined();
});
