import { type Check, ok, wrong } from "./check.js";
import { plural } from "./words.js";

/** Where alerts are to be sent somewhere, somebody sends them. */
export const hooksCheck: Check = {
  name: "hooks",
  needsSchema: true,
  async run({ read }) {
    const hooks = await read<{ name: string; senders: number }>("select name, senders from :hooks order by name");
    const [first] = hooks;
    if (!first) return [ok("no web hook waits for alerts")];
    if (first.senders > 0) return [ok(`web hooks are sent by ${plural(first.senders, "worker")}`)];
    return [
      wrong(
        `there ${hooks.length === 1 ? "is" : "are"} ${plural(hooks.length, "web hook")}, and no worker that is known sends what ${hooks.length === 1 ? "it is" : "they are"} to be told`,
        'run "millrace serve", give createHandler webHooks: true, or start mill.alerts.worker()',
      ),
    ];
  },
};
