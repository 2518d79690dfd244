// A batch handler gets up to 100 jobs in one call and answers for each: one bad row does not fail its neighbours.
import { Millrace, PermanentError, defineJob, failed } from "millrace";

const mill = new Millrace();

const index = defineJob<{ id: number; text: string }, { words: number }>("index-document");

const worker = mill.worker();
worker.handleBatch(
  index,
  async (jobs) => {
    console.log(`indexing ${jobs.length} documents at once`);
    return jobs.map(({ input }) =>
      input.text === "" ? failed(new PermanentError("nothing to index")) : { words: input.text.split(" ").length },
    );
  },
  { size: 100 },
);

const jobs = await mill.enqueueMany(index, [
  { id: 1, text: "the mill turns" },
  { id: 2, text: "" },
  { id: 3, text: "water runs" },
]);
await worker.start();
for (const job of jobs) {
  console.log(await mill.result(job, { timeout: "20s" }).catch((error: Error) => error.message));
}

await mill.close();
