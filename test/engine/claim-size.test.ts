import { describe, expect, it } from "vitest";
import { useDatabase } from "../support/database.js";

const db = useDatabase();

describe("a claim through SQL", () => {
  const inputs = (count: number) => Array.from({ length: count }, (_, n) => ({ n, text: "x".repeat(60) }));

  // Whatever is read of a claim is read once, and not once for each of its jobs: ten times as many cost ten times as
  // much, not a hundred times.
  it.each([
    ["job_claim", "select * from job_claim('{default}', p_limit => $1)"],
    ["sqs_receive", "select sqs_receive('default', $1, 30)"],
  ])("costs what it hands out: %s", async (_, text) => {
    const client = await db.connect();
    const millis = async (count: number): Promise<number> => {
      const times: number[] = [];
      for (let i = 0; i < 5; i += 1) {
        await db.engine.enqueueMany("message", inputs(count));
        const began = performance.now();
        await client.query(text, [count]);
        times.push(performance.now() - began);
      }
      return times.toSorted((a, b) => a - b)[2]!;
    };
    const [few, many] = [await millis(100), await millis(1000)];
    expect(many / few).toBeLessThan(30);
    expect(await db.engine.queueDepth()).toMatchObject({ ready: 0, running: expect.any(Number) });
  });
});
