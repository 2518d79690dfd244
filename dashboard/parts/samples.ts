/** Code that pages without anything show. A test runs it. */
export const firstJob = `import { Millrace } from "millrace";

const mill = new Millrace({ connection: process.env.DATABASE_URL });
await mill.enqueue("send-mail", { to: "ann@example.com" });`;

export const firstWorker = `import { Millrace, defineJob } from "millrace";

const mill = new Millrace({ connection: process.env.DATABASE_URL });
const sendMail = defineJob("send-mail");
const worker = mill.worker({ concurrency: 50 });
worker.handle(sendMail, async (job) => { /* … */ });
await worker.start();`;
