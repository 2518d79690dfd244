import { type Check, ok, wrong } from "./check.js";
import { plural } from "./words.js";

interface Unhandled {
  readonly queue: string;
  readonly type: string;
  readonly waiting: string;
}

/** What is ready is taken by somebody. */
export const handlersCheck: Check = {
  name: "handlers",
  needsSchema: true,
  async run({ read }) {
    const types = await read<Unhandled>("select queue, type, waiting from :types_unhandled() limit 100");
    if (types.length === 0) return [ok("every type of which something is ready has a worker")];
    return types.map(({ queue, type, waiting }) =>
      wrong(
        `${plural(Number(waiting), "job")} of type "${type}" in queue "${queue}" ${Number(waiting) === 1 ? "is" : "are"} ready, and no worker that is known handles that type there`,
        `start a worker with worker.handle for "${type}" and queues: ["${queue}"], or cancel them ("millrace jobs cancel"); look at the spelling of both`,
      ),
    );
  },
};
