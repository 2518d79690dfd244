import { describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";

const db = useDatabase();

describe("one job's way", () => {
  it("goes from enqueue to succeeded [#5] [#26]", async () => {
    const { id } = await db.engine.enqueue({ type: "resize", input: { key: "a.png" } });
    expect((await db.engine.get(id))?.job.state).toBe("ready");

    const [job] = await db.engine.claim();
    expect(job).toMatchObject({
      id,
      type: "resize",
      queue: "default",
      attempt: 1,
      maxAttempts: 25,
      input: { key: "a.png" },
    });
    expect((await db.engine.get(id))?.job.state).toBe("running");

    await db.engine.complete(job!, { width: 3 });
    expect((await db.engine.get(id))?.job).toMatchObject({ state: "succeeded", result: { width: 3 }, attempts: 1 });
    expect(await db.engine.claim()).toEqual([]);
  });

  it("waits for the database's clock [#7]", async () => {
    const { id } = await db.engine.enqueue({ type: "later", delaySeconds: 60 });
    expect(await db.engine.claim()).toEqual([]);
    await db.moveClock(60);
    expect((await db.engine.claim()).map((job) => job.id)).toEqual([id]);
  });
});
