import { describe, expect, it } from "vitest";
import type { HistoryPoint } from "../../src/db/types.js";
import { useDatabase } from "../support/database.js";
import { enqueue, newQueue } from "../support/jobs.js";
import { millrace } from "./cli.js";

const db = useDatabase();
const cli = (args: readonly string[]) => millrace(args, { url: db.url });

describe("millrace history", () => {
  it("tells each minute of all queues, a queue and a type", async () => {
    const queue = await newQueue(db);
    expect(await cli(["history"])).toMatchObject({ code: 0, stdout: "nothing was written down\n" });
    await db.engine.historySample();
    await db.moveClock(62);
    await db.engine.historySample();
    await enqueue(db, queue, { type: "send" });
    await db.moveClock(62);
    await db.engine.historySample();
    const [text, listed] = await Promise.all([
      cli(["history", queue]),
      cli(["history", queue, "--type", "send", "--last", "24h", "--json"]),
    ]);
    expect(text.stdout).toMatch(/^UNTIL +IN +OUT/);
    expect((JSON.parse(listed.stdout) as HistoryPoint[]).reduce((sum, { enqueued }) => sum + enqueued, 0)).toBe(1);
    expect((await cli(["history", "--last", "31d"])).code).toBe(2);
  });
});
