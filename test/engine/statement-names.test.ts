import pg from "pg";
import { afterAll, expect, it } from "vitest";
import { Engine } from "../../src/db/engine.js";
import { statementName } from "../../src/db/schema-name.js";
import { useDatabase } from "../support/database.js";

const db = useDatabase();
const pools: pg.Pool[] = [];
afterAll(() => Promise.all(pools.map((pool) => pool.end())));

it("different looks at one function share a connection, also those of several clients", async () => {
  const pool = new pg.Pool({ connectionString: db.url, max: 1 });
  pools.push(pool);
  const [one, other] = [new Engine({ pool }), new Engine({ pool })];
  const payload = Buffer.alloc(1_100_000); // large enough to be asked for the limit
  for (const engine of [one, other, one]) {
    await engine.check();
    await engine.enqueue({ type: "bytes", payload });
  }
});

it("names of statements are not cut by the server, however long the schema's is", () => {
  const longest = statementName("s".repeat(63), "fingerprints_take_over_xid", "select 1");
  expect(longest.length).toBeLessThanOrEqual(63);
  expect(longest).not.toBe(statementName("s".repeat(63), "fingerprints_take_over_xid", "select 2"));
});
