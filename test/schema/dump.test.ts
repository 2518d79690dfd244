import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { migrationScript } from "../../src/db/migrate.js";
import { useDatabase } from "../support/database.js";
import { dumpSchema } from "./dump.js";

const db = useDatabase();
const committed = new URL("../../sql/schema.dump.txt", import.meta.url);

describe("the schema", () => {
  it("is the committed dump", async ({ skip }) => {
    const [row] = await db.sql<{ major: number }>("select current_setting('server_version_num')::int / 10000 as major");
    if (row?.major !== 18) skip("the dump is that of PostgreSQL 18; others word expressions differently");
    const dump = await dumpSchema(db);
    if (process.env["UPDATE_SCHEMA_DUMP"]) writeFileSync(committed, dump);
    expect(existsSync(committed)).toBe(true);
    expect(dump).toBe(readFileSync(committed, "utf8"));
  });

  it("is the same whether migrated or installed from the printed script, under any name, side by side [#39] [#122]", async () => {
    const client = await db.connect();
    await client.query(migrationScript({ schema: "other_name" }));
    expect(await dumpSchema(db, "other_name")).toBe(await dumpSchema(db));
  });
});
