import { describe, expect, it } from "vitest";
import { claimOne, enqueue } from "../../support/jobs.js";
import { until } from "../../support/wait.js";
import { useServer } from "./server.js";

const server = useServer();

/** What workers are told while something is done: the queues to look at. */
async function told(act: () => Promise<unknown>): Promise<string[]> {
  const client = await server.db.pool.connect();
  const heard: string[] = [];
  const channel = `millrace:${server.db.engine.schema}`;
  const hear = ({ payload }: { payload?: string | undefined }): void => void heard.push(payload!);
  client.on("notification", hear);
  try {
    await client.query(`listen "${channel}"`);
    await act();
    // What was committed before this one has come when this one has.
    await server.db.pool.query("select pg_notify($1, '!end')", [channel]);
    await until("all was heard", () => heard.includes("!end"));
    return heard.filter((queue) => queue !== "!end");
  } finally {
    client.off("notification", hear);
    await client.query("unlisten *");
    client.release();
  }
}

let queues = 0;
async function failedIn(): Promise<{ queue: string; type: string; id: string }> {
  const queue = `stirred-${(queues += 1)}`;
  await server.db.engine.queuePut(queue);
  const type = `type-${queues}`;
  const id = await enqueue(server.db, queue, { type, maxAttempts: 1 });
  await server.db.engine.fail(await claimOne(server.db, queue), { message: `it was told to, in ${queue}` });
  return { queue, type, id };
}

describe("what makes jobs claimable wakes workers, wherever it is called", () => {
  it.each<[string, (of: { queue: string; type: string; id: string }) => Promise<unknown>]>([
    ["POST /jobs/{id}/retry", ({ id }) => server.ask("POST", `/jobs/${id}/retry`, {})],
    ["POST /jobs/retry by ids", ({ id }) => server.ask("POST", "/jobs/retry", { ids: [id] })],
    ["POST /jobs/retry by type", ({ type }) => server.ask("POST", "/jobs/retry", { filter: { type } })],
    ["POST /failures/retry", ({ queue }) => server.ask("POST", "/failures/retry", { queue })],
    ["mill.retry", ({ id }) => server.running.mill.retry(id)],
    [
      "POST /jobs/replay",
      ({ queue }) =>
        server.ask("POST", "/jobs/replay", { since: new Date(0).toISOString(), queue, states: ["failed"] }),
    ],
    ["job_retry in plain SQL", ({ id }) => server.db.sql("select job_retry(1, array[$1::bigint])", [id])],
  ])("%s", async (_name, act) => {
    const failed = await failedIn();
    expect(new Set(await told(() => act(failed)))).toEqual(new Set([failed.queue]));
    expect(await server.db.engine.claim({ queues: [failed.queue] })).toHaveLength(1);
  });

  it("a resume and the release of a stage, in plain SQL too", async () => {
    const { queue } = await failedIn();
    const { db } = server;
    await db.engine.queuePause(queue);
    expect(await told(() => db.sql("select queue_resume($1)", [queue]))).toEqual([queue]);
    await enqueue(server.db, queue, { type: "staged", stage: "approval" });
    expect(await told(() => db.sql("select stage_release($1, 'approval')", [queue]))).toEqual([queue]);
  });

  it("dead letters that are redriven, in the queue they came from", async () => {
    const { queue } = await failedIn();
    const { engine } = server.db;
    await engine.queuePut(`${queue}-dead`);
    await engine.queuePut(queue, { deadLetterQueue: `${queue}-dead` });
    await enqueue(server.db, queue, { type: "letter" });
    await engine.deadLetter(await claimOne(server.db, queue), `${queue}-dead`);
    const heard = await told(() => server.ask("POST", `/queues/${queue}-dead/redrive`, {}));
    expect(heard).toContain(queue);
  });

  it("but not what is only counted, or is due later", async () => {
    const { id, queue } = await failedIn();
    expect(await told(() => server.ask("POST", "/jobs/retry", { ids: [id], dryRun: true }))).toEqual([]);
    const later = () =>
      server.db.sql("select job_retry(1, array[$1::bigint], p_start_at => clock_now() + interval '1 hour')", [id]);
    expect(await told(later)).toEqual([]);
    expect(await server.db.engine.claim({ queues: [queue] })).toEqual([]);
  });
});
