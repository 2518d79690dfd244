import type { Engine } from "../db/engine.js";
import type { FindFilter, JobId, JobState } from "../db/types.js";
import type { Context, ExitCode, OptionTable } from "./command.js";
import { count, plural, time } from "./format.js";
import type { Options } from "./options.js";
import { stopSignals } from "./stop-signals.js";
import { UsageError } from "./usage-error.js";

const states = [
  "delayed",
  "ready",
  "running",
  "suspended",
  "blocked",
  "succeeded",
  "failed",
  "expired",
  "cancelled",
] as const satisfies readonly JobState[];

/** Which jobs, by what they are and not by their ids. */
export const filterOptions = {
  queue: { value: "NAME", help: "only of this queue" },
  state: { value: "STATE", help: "only in this state", choices: states },
  type: { value: "TYPE", help: "only of this type" },
  tenant: { value: "NAME", help: "only of this tenant" },
  group: { value: "GROUP", help: "only of this group" },
  fingerprint: { value: "TEXT", help: "only with this fingerprint" },
  error: { value: "TEXT", help: "only whose last error has this in its message" },
  failure: { value: "FINGERPRINT", help: "only whose last error is of this kind, as `millrace failures` shows it" },
  input: { value: "TEXT", help: "only whose input has this in it; JSON in brackets: whose input contains it" },
  text: { value: "TEXT", help: "only with this in a name, the input or the last error" },
  since: { value: "TIME", help: "only those that were enqueued at this time or later, such as 2026-03-01T08:00Z" },
  until: { value: "TIME", help: "only those that were enqueued before this time" },
} as const satisfies OptionTable;

/** Needs a look at each job: it goes back through them for a while, and says how far it came. */
export const isLookedFor = (filter: FindFilter): boolean =>
  ["group", "fingerprint", "error", "failure", "input", "text"].some(
    (name) => filter[name as keyof FindFilter] !== undefined,
  );

export function filterOf(options: Options): FindFilter {
  const [state, since, until] = [options.given("state"), timeOf(options, "since"), timeOf(options, "until")];
  return {
    ...options.pick("queue", "type", "tenant", "group", "fingerprint", "error", "failure", "input", "text"),
    ...(state === undefined ? {} : { state: state as JobState }),
    ...(since === undefined ? {} : { since }),
    ...(until === undefined ? {} : { until }),
  };
}

function timeOf(options: Options, name: "since" | "until"): Date | undefined {
  const text = options.given(name);
  if (text === undefined) return undefined;
  const at = new Date(text);
  if (Number.isNaN(at.getTime()))
    throw new UsageError(`--${name} cannot be "${text}"`, "give an ISO 8601 time such as 2026-03-01T08:00Z");
  return at;
}

/** An id begins with when its job was enqueued: microseconds since 2020 above its lower 12 bits. */
export const timeOfId = (id: JobId): Date => new Date(Date.UTC(2020, 0) + Number(BigInt(id) >> 12n) / 1000);

/** Ids, or a filter and whether to do it. */
export const bulkOptions = {
  ...filterOptions,
  yes: { help: "with a filter: do it; without it they are only counted" },
} as const satisfies OptionTable;

export const bulkDetail =
  "Instead of ids you can give a filter: it applies to all jobs that match, a thousand at a time, newest first. Without `--yes` it only prints how many they are, and changes nothing (exit 1). Ctrl-C stops after the batch in progress.";

/** The ids that were given; undefined when a filter says which jobs. */
export function idsOf(args: readonly string[], options: Options): readonly JobId[] | undefined {
  const isFiltered = Object.keys(filterOf(options)).length > 0;
  if (args.length > 0 === isFiltered)
    throw new UsageError("which jobs is not clear", "give either their ids, or a filter such as --type or --queue");
  return isFiltered ? undefined : [...new Set(args)];
}

/** Act on all jobs that match, in batches; or say how many they are. */
export async function actOnAll(
  { options, out }: Pick<Context, "options" | "out">,
  engine: Engine,
  act: {
    /** What the act is about, of all that match. */
    readonly narrow: FindFilter;
    readonly work: (ids: readonly JobId[], done: number) => Promise<number>;
    /** `cancelled`: the name of the count, and what is said of the jobs. */
    readonly done: string;
    readonly would: string;
  },
): Promise<ExitCode> {
  const filter = { ...filterOf(options), ...act.narrow };
  const signals = stopSignals();
  let found = 0;
  let done = 0;
  let before: JobId | null | undefined;
  try {
    do {
      const look = await engine.server.find({ ...filter, limit: 1000, ...(before && { before }) });
      found += look.ids.length;
      if (options.flag("yes") && look.ids.length > 0) done += await act.work(look.ids, done);
      before = look.next;
      if (before !== null && out.stderr.isTTY) out.note(`${count(found)} so far, back to ${time(timeOfId(before))}`);
    } while (before !== null && !signals.isRequested);
  } finally {
    signals.forget();
  }
  const rest = before === null ? [] : [`stopped: go on with the same, before ${time(timeOfId(before))}`];
  if (!options.flag("yes")) {
    const least = before === null ? "" : "at least ";
    out.result({ [act.done]: 0, matching: found, isExact: before === null }, [
      `${least}${plural(found, "job")} would be ${act.would}; repeat with --yes`,
    ]);
    return 1;
  }
  out.result({ [act.done]: done, isExact: before === null }, [`${plural(done, "job")} ${act.would}`, ...rest]);
  return done > 0 && before === null ? 0 : 1;
}
