import type { WorkerTarget } from "../db/types.js";
import type { OptionTable } from "./command.js";
import type { Options } from "./options.js";
import { UsageError } from "./usage-error.js";

/** Options that say which workers are meant, beside a name. */
export const targetOptions: OptionTable = {
  process: { value: "ID", help: "only workers of this process, as `millrace workers` lists it" },
};

export function targetOf([worker]: readonly string[], options: Options): WorkerTarget {
  const { process } = options.pick("process");
  if (worker !== undefined) return { worker, ...(process === undefined ? {} : { process }) };
  if (process !== undefined) return { process };
  throw new UsageError("neither a name nor a process is given", "give the name of workers, or --process ID");
}

export function targetName({ process, worker }: WorkerTarget): string {
  return [worker !== undefined && `worker ${worker}`, process !== undefined && `process ${process}`]
    .filter(Boolean)
    .join(" of ");
}
