import { DBOS, type WorkflowHandle } from "@dbos-inc/dbos-sdk";
import pg from "pg";
import { type Bodies, type Input, type Steps, type System, type Workflow, eachOf } from "./system.ts";

/**
 * DBOS Transact, https://docs.dbos.dev/typescript/reference/configuration:
 *
 * - Runs are started in the process itself, without a queue, `concurrency` at a time: no dispatch, no polls, and the
 *   result comes from memory.
 * - `systemDatabasePoolSize: 20` instead of 10, as the others have.
 * - `useListenNotify` is on by default; the poll of each wait, every 10 s by default, is made one of every ten minutes,
 *   so that it does not count: messages come by notification.
 * - No logs, no traces.
 */
const connections = 20;
const quiet = { info() {}, debug() {}, warn() {}, error: (message: unknown) => console.error("dbos:", message) };

function configure(url: string): void {
  DBOS.setConfig({
    name: "bench",
    systemDatabaseUrl: url,
    systemDatabasePoolSize: connections,
    applicationVersion: "1",
    logger: quiet,
  });
}

export const dbos: System = {
  async setup(url) {
    configure(url);
    await DBOS.launch();
    await DBOS.shutdown();
  },

  async work(url, { bodies, concurrency }) {
    const functions = new Map<Workflow, (input: Input) => Promise<number>>();
    const steps: Steps = {
      run: (name, work) => DBOS.runStep(work, { name }),
      signal: () => DBOS.recv("go", { timeoutSeconds: 3600, pollingIntervalMs: 600_000 }),
      async children(inputs) {
        const child = functions.get("child")!;
        const handles: WorkflowHandle<number>[] = await Promise.all(
          inputs.map((input) => DBOS.startWorkflow(child)(input)),
        );
        return Promise.all(handles.map((handle) => handle.getResult()));
      },
    };
    for (const name of Object.keys(bodies) as (keyof Bodies)[])
      functions.set(
        name,
        DBOS.registerWorkflow((input: Input) => bodies[name](steps, input), { name }),
      );
    configure(url);
    await DBOS.launch();
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    let parked = 0;
    return {
      async start(workflow, inputs) {
        const ids: string[] = [];
        await eachOf(inputs, concurrency, async (input, index) => {
          const handle = await DBOS.startWorkflow(functions.get(workflow)!)(input);
          ids[index] = handle.workflowID;
          if (workflow === "parked") parked += 1;
          else await handle.getResult();
        });
        return ids;
      },
      async open() {
        const { rows } = await pool.query(
          "select count(*)::int as n from dbos.workflow_status where status in ('PENDING', 'ENQUEUED')",
        );
        return (rows as { n: number }[])[0]!.n;
      },
      async parked() {
        const { rows } = await pool.query(
          "select count(distinct workflow_uuid)::int as n from dbos.operation_outputs where function_name = 'DBOS.sleep'",
        );
        return Math.min(parked, (rows as { n: number }[])[0]!.n);
      },
      tell: (runs) => eachOf(runs, 100, (run) => DBOS.send(run, 1, "go")),
      async stop() {
        await pool.end();
        await DBOS.shutdown();
      },
    };
  },
};
