import { OpenWorkflow, defineWorkflowSpec } from "openworkflow";
import { BackendPostgres } from "openworkflow/postgres";
import pg from "pg";
import { type Bodies, type Input, type System, type Workflow, eachOf } from "./system.ts";

/**
 * OpenWorkflow with its PostgreSQL backend, https://openworkflow.dev/docs/production: `concurrency` is the one setting
 * of a worker. 20 connections instead of 10 (`max` of the driver, in the address), as the others have. Its polls back
 * off to a second by themselves. A run has at most 1,000 steps, children among them.
 */
const urlOf = (url: string): string => `${url}${url.includes("?") ? "&" : "?"}max=20`;

export const openworkflow: System = {
  maxSteps: 999,

  async setup(url) {
    const backend = await BackendPostgres.connect(urlOf(url));
    await backend.stop();
  },

  async work(url, { bodies, concurrency }) {
    const backend = await BackendPostgres.connect(urlOf(url), { runMigrations: false });
    const client = new OpenWorkflow({ backend });
    const specs = new Map(
      (Object.keys(bodies) as (keyof Bodies)[]).map((name) => [name, defineWorkflowSpec<Input, number>({ name })]),
    );
    const specOf = (name: keyof Bodies) => {
      const spec = specs.get(name);
      if (!spec) throw new Error(`there is no workflow ${name}`);
      return spec;
    };
    for (const [name, spec] of specs)
      client.implementWorkflow(spec, ({ input, step }) =>
        bodies[name](
          {
            run: (step_name, work) => step.run({ name: step_name }, work),
            signal: ({ n }) => step.waitForSignal({ signal: signalOf(n) }),
            children: (inputs) =>
              Promise.all(inputs.map((one) => step.runWorkflow(specOf("child"), one, { name: `child-${one.n}` }))),
          },
          input,
        ),
      );
    const worker = client.newWorker({ concurrency });
    await worker.start();
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    const count = async (text: string): Promise<number> => ((await pool.query(text)).rows as { n: number }[])[0]!.n;
    return {
      async start(workflow: Workflow, inputs) {
        await eachOf(inputs, 100, (input) => client.runWorkflow(specOf(workflow), input));
        return inputs.map(({ n }) => signalOf(n));
      },
      open: () =>
        count(
          `select count(*)::int as n from openworkflow.workflow_runs
            where status not in ('completed', 'succeeded', 'failed', 'canceled')`,
        ),
      parked: () =>
        count(
          `select count(*)::int as n from openworkflow.workflow_runs
            where worker_id is null and started_at is not null and finished_at is null`,
        ),
      tell: (runs) => eachOf(runs, 100, (signal) => client.sendSignal({ signal, data: 1 })),
      async stop() {
        await pool.end();
        await worker.stop();
        await backend.stop();
      },
    };
  },
};

const signalOf = (n: number): string => `go-${n}`;
