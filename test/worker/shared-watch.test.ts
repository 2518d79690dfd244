import { expect, it } from "vitest";
import { defineJob } from "../../src/job/define-job.js";
import { useMill } from "../support/mill.js";
import { until } from "../support/wait.js";

const test = useMill();
const work = defineJob<number>("work");

/** Who keeps the watch and when it looks next; and the last time given to one who stands by. */
async function watch(): Promise<{ readonly id: string; readonly at: number; readonly standsBy: string }> {
  const [row] = await test.db.sql("select holder, until::text from millrace.duty where name = 'watch'");
  const [keeper, ...others] = Object.values(
    JSON.parse((row?.["holder"] as string | undefined) ?? "{}") as Record<string, { id: string; at: number }>,
  );
  expect(others).toEqual([]); // one of a process at most
  return { id: keeper?.id ?? "", at: keeper?.at ?? 0, standsBy: String(row?.["until"]) };
}

it("workers of one process look for each other, and one takes over from the other [#117 #149]", async () => {
  const queue = await test.queue();
  const options = { heartbeatThread: true, pollInterval: "1s", maintenance: true, schedules: true } as const;
  const workers = Array.from({ length: 4 }, () => test.worker(queue, options).handle(work, ({ input }) => input));
  for (const worker of workers) await worker.start();
  const looked = async (seconds: number): Promise<void> => {
    const from = (await watch()).at;
    await until("it was looked again", async () => (await watch()).at >= from + seconds, 60_000);
  };
  await until("one keeps it", async () => (await watch()).id !== "");
  await looked(2); // each of them has looked once, and would do so again five seconds later
  const { standsBy, id } = await watch();
  await looked(7);
  expect((await watch()).standsBy).toBe(standsBy);

  const job = (): Promise<unknown> =>
    test.db.sql("select millrace.job_enqueue('work', '7', json_build_object('queue', $1::text))", [queue]);
  await job(); // of which nobody is told
  await until("it is done", async () => (await test.mill.queues.depth(queue)).ready === 0);
  // whoever kept it stops: one of the others goes on
  for (const worker of workers.slice(0, 3)) await worker.stop();
  await until("the last one keeps it", async () => !["", id].includes((await watch()).id));
  await job();
  await until("it is done too", async () => (await test.mill.queues.depth(queue)).ready === 0);
});
