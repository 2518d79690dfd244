import type { ProcessRecord } from "../../db/types.js";
import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { bytes, duration } from "../format.js";
import { textTable } from "../text-table.js";

export const workersCommand: Command = {
  name: "workers",
  summary: "list the workers of all processes: what they handle, their state, and whether they are paused",
  details: [
    "`idle` and `busy` are alive; `stalled`: the event loop of the process stands still; `lost`: its heartbeat is late. A process that was not seen for a day is forgotten.",
    "Those who claim by SQL, HTTP or SQS are not known. The exit code is 1 when a process is stalled or lost.",
  ],
  arguments: [],
  options: databaseOptions,
  examples: ["millrace workers", "millrace workers --json | jq '.[] | select(.state == \"lost\")'"],
  async run({ options, out }) {
    return withDatabase(options, async ({ engine }) => {
      const processes = await engine.server.processes();
      const now = await engine.schedules.now();
      out.result(processes, processes.length === 0 ? "no worker is known" : workersTable(processes, now, out.width));
      return processes.some(({ state }) => state === "stalled" || state === "lost") ? 1 : 0;
    });
  },
};

function workersTable(processes: readonly ProcessRecord[], now: Date, width: number): string[] {
  return textTable(
    [
      { title: "WORKER" },
      { title: "STATE" },
      { title: "ORDERED" },
      { title: "RUNS", align: "right" },
      { title: "AT ONCE", align: "right" },
      { title: "SEEN", align: "right" },
      { title: "MEMORY", align: "right" },
      { title: "RELEASE" },
      { title: "QUEUES" },
      { title: "TYPES" },
      { title: "PROCESS" },
    ],
    processes.flatMap((process) =>
      process.workers.map((worker) => [
        worker.name,
        [stateOf(process, worker), worker.held].filter((part) => part !== undefined).join(", "),
        orderOf(process, worker.name),
        worker.running === undefined ? "?" : String(worker.running),
        String(worker.concurrency),
        duration(Math.max(0, now.getTime() - process.seenAt.getTime())),
        bytes(process.memoryBytes),
        process.release ?? "",
        worker.queues.join(","),
        worker.types?.join(",") ?? "any",
        process.id,
      ]),
    ),
    width,
  );
}

/** The process lives or does not, the worker has something to do or has not. */
function stateOf({ state }: ProcessRecord, { running }: ProcessRecord["workers"][number]): string {
  if (running === undefined || (state !== "idle" && state !== "busy")) return state;
  return running > 0 ? "busy" : "idle";
}

/** "paused by ann: the provider is down" */
function orderOf({ orders }: Pick<ProcessRecord, "orders">, name: string): string {
  const own = orders.filter(({ worker }) => worker === null || worker === name);
  const holds = own.find(({ hold }) => hold !== null);
  const sets = own.find(({ concurrency }) => concurrency !== null);
  const first = holds ?? sets;
  if (!first) return "";
  const what = [holds && (holds.hold === "pause" ? "paused" : "drain"), sets && `${sets.concurrency} at once`].filter(
    (part) => part !== undefined,
  );
  const { by, because } = first;
  return `${what.join(", ")}${by === null ? "" : ` by ${by}`}${because === null ? "" : `: ${because}`}`;
}
