// A first job: define it, run a worker, enqueue, wait for the result.
// DATABASE_URL=postgres://… npx millrace migrate, then run this file.
import { Millrace, defineJob } from "millrace";

const mill = new Millrace();

const greet = defineJob<{ name: string }, { greeting: string }>("greet");

const worker = mill.worker();
worker.handle(greet, async (job) => ({ greeting: `Hello, ${job.input.name}!` }));
await worker.start();

const job = await mill.enqueue(greet, { name: "world" });
console.log(await mill.result(job, { timeout: "10s" }));

await mill.close();
