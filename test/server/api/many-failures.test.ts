import { expect, it } from "vitest";
import { useServer } from "./server.js";

const server = useServer();

/** Fail so many jobs in the same way, as fast as it goes. */
async function fail(queue: string, count: number): Promise<void> {
  const { engine } = server.db;
  for (let left = count; left > 0; left -= 2000) {
    await engine.enqueueMany("t", Array.from({ length: Math.min(left, 2000) }).fill(null), { queue, maxAttempts: 1 });
    const claimed = await engine.claim({ queues: [queue], limit: 2000, leaseSeconds: 600 });
    for (const token of new Set(claimed.map((job) => job.token)))
      await server.db.sql("select job_fail($1, null, $2::json)", [token, '{"message": "it was told to"}']);
  }
}

it("failures beyond what is looked at are not passed over in silence", async () => {
  await server.db.engine.queuePut("few");
  await server.db.engine.queuePut("many");
  await fail("few", 20);
  expect((await server.ask("GET", "/failures?queue=few")).body).toMatchObject({
    items: [{ jobs: 20 }],
    total: 20,
    isExact: true,
  });
  await fail("many", 10_010);
  for (const query of ["queue=many", "limit=1"])
    expect((await server.ask("GET", `/failures?${query}`)).body).toMatchObject({ total: 10_000, isExact: false });
  expect(
    (await server.ask("POST", "/failures/retry", { queue: "many", dryRun: true })).body,
    "what it would do, not what is listed",
  ).toEqual({ count: 10_010, isExact: true });
  const [{ fingerprint }] = (await server.ask("GET", "/failures?queue=few")).body.items;
  expect(
    (await server.ask("POST", "/failures/retry", { fingerprint, dryRun: true })).body,
    "of a kind, however many of it are not listed",
  ).toEqual({ count: 10_030, isExact: true });
  expect((await server.ask("GET", "/failures?queue=few")).body.isExact).toBe(true);
}, 60_000);
