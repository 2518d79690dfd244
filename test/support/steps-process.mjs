// A process with one worker whose handler is made of steps, and that kills itself (SIGKILL) at a statement of durable
// work. Argument: JSON with url, queue, worker (its options), dieAt (which of them; 0: never) and when ("before": it is
// sent; "after": the server has answered). What the steps do is written into public.deed, with whether the step had a
// checkpoint by then.
import pg from "pg";
import { Millrace, defineJob } from "../../dist/index.js";

const { url, queue, worker: options, dieAt, when } = JSON.parse(process.argv[2]);
const die = () => process.kill(process.pid, "SIGKILL");

let statements = 0;
// oxlint-disable-next-line typescript/unbound-method -- it is called with its client below
const { query } = pg.Client.prototype;
pg.Client.prototype.query = function (config, ...rest) {
  const text = config?.text ?? config;
  const isDurable = typeof text === "string" && /steps_put|steps_get|step_start|job_settle|notices_deliver/.test(text);
  if (isDurable && ++statements === dieAt) {
    if (when === "before") die();
    const calls = rest.map((one) => (typeof one === "function" ? die : one));
    const answer = query.call(this, config, ...calls);
    answer?.then?.(die, die);
    return answer;
  }
  return query.call(this, config, ...rest);
};

const deeds = new pg.Pool({ connectionString: url, max: 2 });
const mill = new Millrace({ connection: url, logger: false });
const worker = mill.worker({ queues: [queue], ...options });
const child = defineJob("child");
worker.handle(child, (job) => ({ child: job.input }));
worker.handle(defineJob("work"), async (job, { step }) => {
  const deed = (name) =>
    step.run(name, async () => {
      const { rows } = await deeds.query(
        `insert into public.deed (job, name, was_done)
         values ($1, $2, exists (select from millrace.step where job_id = $1 and key = $2 and kind = 'done'))
         returning n`,
        [job.id, name],
      );
      return rows[0].n;
    });
  const first = await deed("first");
  await step.sleep("nap", "5ms");
  const both = await Promise.all([deed("left"), deed("right")]);
  const signal = await step.waitFor("go");
  const one = await step.call("one", child, job.input, { queue });
  const many = await step.map("many", child, [1, 2], { queue });
  return { first, both, signal, one, many, last: await deed("last") };
});
await worker.start();
