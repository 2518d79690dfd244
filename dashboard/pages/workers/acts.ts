import { send } from "../../api.js";
import { plural } from "../../format.js";
import { type Act, type Field, type Values, because, filled, numberOf } from "../../parts/act.js";
import type { Process } from "../../wire.js";

/** A worker of a process. */
export interface Row extends Pick<Process, "id" | "host" | "pid" | "orders"> {
  readonly worker: Process["workers"][number];
}

const everywhere: Field = {
  name: "everywhere",
  label: "In all processes",
  kind: "checkbox",
  hint: "all workers of this name, also those that start later",
};

const order = <T>(verb: string, { id, worker }: Row, { everywhere: all, ...rest }: Values, body: object = {}) =>
  send<T>("POST", `workers/${verb}`, {
    ...(all ? {} : { process: id }),
    worker: worker.name,
    ...filled(rest),
    ...body,
  });

const told = (answer: unknown, what: string): string =>
  `${plural((answer as { workers: number }).workers, "worker")} ${what}`;

/** The order that holds it now: the closest. */
const holdOf = ({ orders, worker: { name } }: Row): Row["orders"][number] | undefined =>
  orders.find(({ hold, worker }) => hold !== null && (worker === null || worker === name));

/** What was ordered before counts again; an order for others than this one is only covered by a closer one. */
async function takeBack(row: Row, { everywhere: all = "" }: Values): Promise<unknown> {
  const before = holdOf(row);
  const target = { ...(all ? {} : { process: row.id }), worker: row.worker.name };
  const again = ({ hold, process, worker, because: why }: Row["orders"][number]): Promise<unknown> =>
    send("POST", `workers/${hold}`, filled({ process: process ?? "", worker: worker ?? "", because: why ?? "" }));
  // Without a resume in between, in which it would take jobs.
  if (before && before.process === (target.process ?? null) && before.worker === target.worker) return again(before);
  const answer = await send("POST", "workers/resume", target);
  // What was for all workers of this name ended the orders for single ones too.
  return all && before ? again(before) : answer;
}

export const pause = (row: Row): Act => ({
  title: `Pause ${row.worker.name}`,
  explain: "It takes no more jobs, and gives back what it has not started. Running handlers go on.",
  fields: [because, everywhere],
  button: "Pause",
  run: (values) => order("pause", row, values),
  done: (answer) => told(answer, "paused"),
  undo: (values) => takeBack(row, values),
});

export const drain = (row: Row): Act => ({
  title: `Drain ${row.worker.name}`,
  explain: "It takes no more jobs, and is drained when its last handler has ended. Then it may be stopped.",
  fields: [because, everywhere],
  button: "Drain",
  run: (values) => order("drain", row, values),
  done: (answer) => told(answer, "to drain"),
  undo: (values) => takeBack(row, values),
});

/** Ends the order that holds it, whomever that is for. */
export const resume = (row: Row): Act => {
  const holding = row.orders.filter(
    ({ hold, worker }) => hold !== null && (worker === null || worker === row.worker.name),
  );
  return {
    title: `Resume ${row.worker.name}`,
    explain: holding.some(({ process }) => process === null)
      ? "It takes jobs again, and so do all workers of this name."
      : holding.some(({ worker }) => worker === null)
        ? "It takes jobs again, and so do all workers of the process."
        : "It takes jobs again.",
    button: "Resume",
    run: async () => {
      let answer: unknown = { workers: 0 };
      for (const { process, worker } of holding)
        answer = await send("POST", "workers/resume", { ...(process && { process }), ...(worker && { worker }) });
      return answer;
    },
    done: (answer) => told(answer, "resumed"),
  };
};

export const concurrency = (row: Row): Act => ({
  title: `Concurrency of ${row.worker.name}`,
  explain:
    "How many handlers it may run at once. Handlers that run are not stopped. Empty gives back what its code says.",
  fields: [
    { name: "concurrency", label: "At once", kind: "number", min: 1, value: String(row.worker.concurrency) },
    because,
    everywhere,
  ],
  button: "Set",
  run: ({ concurrency: n, ...values }) => order("concurrency", row, values, { concurrency: numberOf(n) ?? null }),
  done: (answer) => told(answer, "told"),
});
