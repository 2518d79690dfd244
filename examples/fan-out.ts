// Fan-out: one job makes 100,000 others, from a generator, a thousand in each statement; a worker drains them.
import { Millrace, defineJob } from "millrace";

const mill = new Millrace();
const recipients = 100_000;

const campaign = defineJob<{ id: string }, { mails: number }>("campaign");
const mail = defineJob<{ campaign: string; to: string }>("mail", { maxAttempts: 3 });

function* addresses(id: string): Generator<{ campaign: string; to: string }> {
  for (let n = 0; n < recipients; n += 1) yield { campaign: id, to: `user-${n}@example.org` };
}

let sent = 0;
const worker = mill.worker({ concurrency: 100 });
worker.handle(campaign, async (job) => ({ mails: (await mill.enqueueMany(mail, addresses(job.input.id))).count }));
worker.handle(mail, () => {
  sent += 1;
});
await worker.start();

const job = await mill.enqueue(campaign, { id: "spring" });
console.log(await mill.result(job, { timeout: "5m" }));
while (sent < recipients) await new Promise((resolve) => setTimeout(resolve, 50));
console.log(`${sent} mails sent`);

await mill.close();
