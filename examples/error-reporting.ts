// Errors go to a reporter such as Sentry, with the request that the job came from. The reporter here prints; that of
// Sentry has the same two calls (withScope, captureException).
import { AsyncLocalStorage } from "node:async_hooks";
import { Millrace, defineJob } from "millrace";

const reporter = {
  captureException: (error: unknown, tags: Record<string, unknown>): void =>
    console.log(`reported: ${String(error)} of`, tags),
};
const request = new AsyncLocalStorage<string>();

const mill = new Millrace({ logger: false });
mill.use({
  // What the producer knows goes along in the headers …
  async enqueue(call, next) {
    const id = request.getStore();
    if (id !== undefined) call.headers["request-id"] = id;
    await next();
  },
  // … and is there again in the handler, and in the report.
  async run({ jobs }, next) {
    const [job] = jobs;
    const id = (job?.headers?.["request-id"] as string | undefined) ?? "none";
    return request.run(id, async () => {
      try {
        return await next();
      } catch (error) {
        reporter.captureException(error, { type: job?.type, attempt: job?.attempt, request: request.getStore() });
        throw error; // the attempt fails as it would have
      }
    });
  },
});

const charge = defineJob<{ cents: number }, string>("charge", { retryDelay: "50ms" });
const worker = mill.worker().handle(charge, (job) => {
  if (job.attempt === 1) throw new Error("the card was declined");
  return `charged ${job.input.cents} for request ${request.getStore()}`;
});
await worker.start();

const job = await request.run("r-42", () => mill.enqueue(charge, { cents: 995 }));
console.log(await mill.result(job, { timeout: "20s" }));
await mill.close();
