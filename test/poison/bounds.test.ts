import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { bounds, maxTime, minTime } from "../../src/db/limits.js";
import { useDatabase } from "../support/database.js";

const db = useDatabase();

it("the limits of SQL, of the library and of the docs are the same", async () => {
  const [names] = await db.sql(
    "select prosrc as source from pg_proc where proname = 'bound' and pronamespace = 'millrace'::regnamespace",
  );
  const inSql = [...(names!["source"] as string).matchAll(/when '(\w+)' then (\d+)/g)].map(
    ([, name, value]) => [name, Number(value)] as const,
  );
  expect(Object.fromEntries(inSql)).toEqual(bounds);
  const documented = [
    ...readFileSync(new URL("../../docs/security.md", import.meta.url), "utf8").matchAll(
      /^\| `(\w+)` \| ([\d,]+) \|/gm,
    ),
  ];
  expect(Object.fromEntries(documented.map(([, name, value]) => [name, Number(value!.replaceAll(",", ""))]))).toEqual(
    bounds,
  );
});

it("so are the times that a caller may name", async () => {
  const [times] = await db.sql("select time_first() as first, time_last() as last");
  expect([times!["first"], times!["last"]]).toEqual([new Date(minTime), new Date(maxTime)]);
});
