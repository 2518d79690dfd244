// A schedule: declare it, run it, look at how it does, take a break, and see when it runs next.
import { Millrace, defineJob } from "millrace";

const mill = new Millrace();

const ping = defineJob<{ host: string }>("ping");

// The same again, in every process and at every start, changes nothing.
const { change } = await mill.schedule(
  "ping",
  { every: "1s" },
  ping,
  { host: "example.org" },
  { overlap: "skip", afterFailure: "skip" },
);
console.log(change);

let runs = 0;
const worker = mill.worker();
worker.handle(ping, async (job) => {
  console.log(`${job.schedule} pings ${job.input.host}`);
  runs += 1;
});
await worker.start();
while (runs < 2) await new Promise((resolve) => setTimeout(resolve, 50));

await mill.schedules.pause("ping", { by: "ann", because: "enough for today" });
const { health, pausedBecause, failedRuns } = await mill.schedules.get("ping");
console.log({ health, pausedBecause, failedRuns });

// Clocks go forward that night: 02:30 does not exist, and the run comes at 03:00.
const [first] = await mill.schedules.next(
  { cron: "30 2 * * *", tz: "Europe/Berlin", startsAt: "2099-03-29T00:00:00+01:00" },
  { count: 1 },
);
console.log(first?.toISOString());

await mill.close();
