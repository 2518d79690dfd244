import { describe, expect, it } from "vitest";
import { defineJob } from "../../src/job/define-job.js";
import { stateOf } from "../support/jobs.js";
import { useMill } from "../support/mill.js";

// what others on the server have open may tell something yet, and is looked at again
const test = useMill({}, { ownServer: true });
const wait = defineJob<null>("wait");

describe("a signal that nobody delivers for its sender", () => {
  // neither takes part in the watch
  it.each([{ pollInterval: 200 }, { pollInterval: 1000, heartbeatThread: false }])(
    "comes to a worker that looks by itself: $pollInterval ms, thread $heartbeatThread [#197]",
    async (options) => {
      const queue = await test.queue();
      const worker = test.worker(queue, options).handle(wait, (_job, { step }) => step.waitFor("go"));
      await worker.start();
      const { id } = await test.mill.enqueue(wait, null, { queue });
      await expect.poll(() => stateOf(test.db, id), { timeout: 10_000 }).toBe("suspended");
      await test.db.sql("select job_tell($1, 'go', '1')", [id]);
      expect(await test.mill.result(id, { timeout: "10s" })).toBe(1);
    },
  );

  it("costs no transaction number to look for when there is none", async () => {
    await test.mill.engine.noticesDeliver();
    const [row] = await test.db.sql(
      "select notices_deliver() ->> 'notices' as n, pg_current_xact_id_if_assigned() as xid",
    );
    expect(row).toEqual({ n: "0", xid: null });
  });
});

it("a cell without any notices passes over what others have written, and has nothing to deliver", async () => {
  // as after some hundred thousand transactions that told nothing
  await test.db.sql("update lane_cursor set head_xid = -5, head_ticket = 0 where track = notice_track()");
  expect(await test.db.sql("select notices_wait()")).toEqual([{ notices_wait: true }]);
  await test.mill.engine.noticesDeliver();
  expect(await test.db.sql("select notices_wait()")).toEqual([{ notices_wait: false }]);
});
