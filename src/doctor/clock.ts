import { duration } from "./words.js";
import { type Check, ok, wrong } from "./check.js";

const maxMs = 2000;

/** This machine and the database agree on the time. */
export const clockCheck: Check = {
  name: "clock",
  needsSchema: true,
  async run({ read }) {
    const before = Date.now();
    const [row] = await read<{ now: Date }>("select :clock_now() as now");
    const after = Date.now();
    const server = row!.now.getTime();
    // Inside the round trip nobody can tell; beyond it the difference is real.
    const ahead = server > after ? server - after : server < before ? server - before : 0;
    if (Math.abs(ahead) <= maxMs)
      return [ok(`the clocks agree within ${duration(Math.max(Math.abs(ahead), after - before))}`)];
    return [
      wrong(
        `the database's clock is ${duration(Math.abs(ahead))} ${ahead > 0 ? "ahead of" : "behind"} this machine's`,
        "synchronise both (NTP); Millrace goes by the database's clock, so that times you compute here (runAt, deadline) are off by this much",
      ),
    ];
  },
};
