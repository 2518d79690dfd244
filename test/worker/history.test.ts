import { describe, expect } from "vitest";
import { useMill } from "../support/mill.js";
import { it } from "../support/processes.js";
import { until } from "../support/wait.js";

const test = useMill();

/** Let the minute pass, and wait until somebody has written it down. */
async function minutePasses(most = 20_000): Promise<void> {
  const before = (await test.mill.history()).length;
  await test.db.moveClock(62);
  await until("it is written down", async () => (await test.mill.history()).length > before, most);
}

describe("the history", () => {
  it("is written by workers as they do the upkeep, and by another when one is killed", async ({ start }) => {
    const [queue, { url }] = [await test.queue(), test.db];
    const options = { url, queue, worker: { name: "one" } };
    const processes = [start(options), start(options)];
    await Promise.all(processes.map((process) => process.hasSaid("ready")));
    const begun = async () =>
      (await test.db.sql("select from duty where name = 'history' and done_at > '-infinity'")).length;
    await until("it begins", async () => (await begun()) > 0, 20_000);
    await minutePasses();
    processes[0]!.kill("SIGKILL");
    await processes[0]!.exit;
    await test.mill.enqueueMany("other", [1, 2, 3], { queue });
    await minutePasses();
    expect((await test.mill.history({ queue, type: "other" })).reduce((sum, { enqueued }) => sum + enqueued, 0)).toBe(
      3,
    );
    expect(processes[1]!.of("error")).toEqual([]);
  });
});
