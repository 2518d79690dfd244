import type { ClaimedJob, JobId } from "../../src/db/types.js";
import type { TestDatabase } from "./database.js";
import { claimOne, enqueue } from "./jobs.js";

/** A run that has tried a step twice, and waits for either of two signals or for three children. */
export interface WaitingRun {
  readonly id: JobId;
  readonly children: readonly JobId[];
}

export async function waitingRun(db: TestDatabase, queue: string): Promise<WaitingRun> {
  const { engine } = db;
  const id = await enqueue(db, queue, { type: "order", input: { n: 7 } });
  const { token } = await claimOne(db, queue, { types: ["order"] });
  await engine.stepsPut([
    {
      token,
      job: id,
      steps: [
        {
          key: "charge",
          kind: "try",
          n: 1,
          error: { name: "CardError", message: "card refused" },
          ms: 120,
          seconds: 5,
        },
        { key: "charge", kind: "done", json: '{"paid":true}', ms: 34 },
      ],
    },
  ]);
  const child = { type: "pack", queue };
  const children = await engine.stepStart({ token, id }, "pack", [child, child, child]);
  await suspend(db, { token, id }, [
    { key: "approved|rejected", signals: ["rejected", "approved"] },
    { key: "pack", children: 3 },
  ]);
  await engine.noticesDeliver();
  return { id, children };
}

/** Give a job back as a worker does whose handler waits. */
export async function suspend(
  db: TestDatabase,
  { token, id }: Pick<ClaimedJob, "token" | "id">,
  waits: readonly object[],
): Promise<void> {
  const [row] = await db.sql<{ refused: string }>("select job_suspend($1, $2, $3)::text as refused", [
    token,
    id,
    JSON.stringify(waits),
  ]);
  if (row?.refused !== "{}") throw new Error(`job ${id} could not be suspended`);
}

/** Do the work of the next child, and tell its parent. */
export async function endChild(db: TestDatabase, queue: string): Promise<JobId> {
  const child = await claimOne(db, queue, { types: ["pack"] });
  await db.engine.complete(child, { packed: true });
  await db.engine.noticesDeliver();
  return child.id;
}
