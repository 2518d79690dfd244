import { Millrace } from "../../src/client/with-workers.js";
import { moveQueue } from "../../src/cells/move.js";
import { defineJob } from "../../src/job/define-job.js";
import { newCells, queueIn } from "./servers.js";

const counted = defineJob<{ key: number }>("counted");

/** A queue moves there and back while it is enqueued to and worked on: what was lost, and what ran twice. */
export async function moveUnderLoad(
  urls: readonly string[],
  jobs: number,
): Promise<{ readonly jobs: number; readonly lost: number; readonly twice: number; readonly seconds: number }> {
  const cells = await newCells(urls, "moved");
  const mill = new Millrace({ cells, logger: false });
  const queue = await queueIn(mill, "cell-0");
  const runs = new Map<number, number>();
  const worker = mill.worker({ queues: [queue], concurrency: 50 });
  worker.handle(counted, async ({ input: { key } }) => void runs.set(key, (runs.get(key) ?? 0) + 1));
  await worker.start();
  const producing = (async () => {
    for (let key = 0; key < jobs; key += 20)
      await mill.enqueueMany(
        counted,
        Array.from({ length: 20 }, (_, i) => ({ key: key + i })),
        { queue },
      );
  })();
  const engines = new Map(
    await Promise.all(Object.keys(cells).map(async (name) => [name, await mill.cells!.engine(name)] as const)),
  );
  const since = performance.now();
  for (const to of ["cell-1", "cell-0", "cell-1"]) await moveQueue(engines, queue, to);
  const seconds = (performance.now() - since) / 1000;
  await producing;
  const isLeft = async (): Promise<boolean> => {
    const depths = await Promise.all([...engines.values()].map((engine) => engine.queueDepth(queue)));
    return depths.some(({ ready, delayed, running }) => ready + delayed + running > 0);
  };
  while (await isLeft()) await new Promise((resolve) => setTimeout(resolve, 50));
  await worker.stop();
  await mill.close();
  const twice = [...runs.values()].filter((n) => n > 1).length;
  return { jobs, lost: jobs - runs.size, twice, seconds };
}
