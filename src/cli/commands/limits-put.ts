import { rangeOf } from "../../db/option-table.js";
import type { Rate } from "../../db/types.js";
import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import type { Options } from "../options.js";
import { UsageError } from "../usage-error.js";

export const limitsPutCommand: Command = {
  name: "limits put",
  summary: "limit how many jobs run at once, or how often they may start, of a queue, a type, a group or a resource",
  details: [
    "Takes effect with the next claim, in all processes. `none` lifts a limit. A resource is created when it is first set.",
    "With --queue alone the whole queue is limited; with --group one group of it, with --each-group every group by itself.",
  ],
  arguments: [],
  options: {
    queue: { value: "NAME", help: "limit a queue" },
    group: { value: "GROUP", help: "limit one group of the queue" },
    "each-group": { help: "limit each group of the queue by itself" },
    type: { value: "TYPE", help: "limit a type, in all queues" },
    resource: { value: "NAME", help: "limit a resource, whatever jobs need it" },
    "max-running": { value: "N", help: "how many at once, or `none`" },
    "per-second": { value: "N", help: "how many may start each second, such as 0.5, or `none`" },
    burst: { value: "N", help: "how many may start at once after a pause (default what a second brings, at least 1)" },
    ...databaseOptions,
  },
  examples: [
    "millrace limits put --queue mail --max-running 10",
    "millrace limits put --queue mail --each-group --per-second 5 --burst 20",
    "millrace limits put --resource gpu --max-running 4",
    "millrace limits put --type charge --per-second none",
  ],
  async run({ options, out }) {
    const { queue, group, type, resource } = options.pick("queue", "group", "type", "resource");
    const eachGroup = options.flag("each-group");
    if ([queue, type, resource].filter((name) => name !== undefined).length !== 1)
      throw new UsageError("nothing to limit", "give one of --queue, --type and --resource");
    if ((group !== undefined || eachGroup) && queue === undefined)
      throw new UsageError("a group belongs to a queue", "give --queue");
    if (group !== undefined && eachGroup)
      throw new UsageError("--group and --each-group exclude each other", "give one of them");
    const [maxRunning, rate] = [givenMaxRunning(options), givenRate(options)];
    if (maxRunning === undefined && rate === undefined)
      throw new UsageError("no limit given", "give --max-running or --per-second");
    const limits = { ...(maxRunning === undefined ? {} : { maxRunning }), ...(rate === undefined ? {} : { rate }) };
    const ofEachGroup = {
      ...(maxRunning === undefined ? {} : { groupMaxRunning: maxRunning }),
      ...(rate === undefined ? {} : { groupRate: rate }),
    };
    return withDatabase(options, async ({ engine }) => {
      if (resource !== undefined) await engine.resourcePut(resource, limits);
      else if (type !== undefined) await engine.typePut(type, limits);
      else if (group !== undefined) await engine.groupPut(queue!, group, limits);
      else await engine.queuePut(queue!, eachGroup ? ofEachGroup : limits);
      const what =
        resource ??
        type ??
        (group !== undefined ? `${group} in ${queue}` : eachGroup ? `each group of ${queue}` : queue!);
      out.result(
        { ...options.pick("queue", "group", "type", "resource"), ...(eachGroup ? { eachGroup } : {}), ...limits },
        `${what}: ${describe(limits)}`,
      );
      return 0;
    });
  },
};

function givenMaxRunning(options: Options): number | null | undefined {
  return options.given("max-running") === "none" ? null : options.givenInteger("max-running", ...rangeOf("maxRunning"));
}

function givenRate(options: Options): Rate | null | undefined {
  const text = options.given("per-second");
  const burst = options.givenInteger("burst", 1, 1_000_000_000);
  if (text === undefined && burst !== undefined) throw new UsageError("a burst needs a rate", "give --per-second");
  if (text === undefined || text === "none") return text === "none" ? null : undefined;
  const perSecond = Number(text);
  if (!(perSecond > 0) || !Number.isFinite(perSecond))
    throw new UsageError(`--per-second cannot be "${text}"`, "give a number above 0, or none");
  return { perSecond, ...(burst === undefined ? {} : { burst }) };
}

/** Limits in words. */
function describe({ maxRunning, rate }: { readonly maxRunning?: number | null; readonly rate?: Rate | null }): string {
  const parts = [
    maxRunning === undefined ? [] : [maxRunning === null ? "any number at once" : `${maxRunning} at once`],
    rate === undefined
      ? []
      : [
          rate === null
            ? "as often as they come"
            : `${rate.perSecond} a second${rate.burst === undefined ? "" : `, ${rate.burst} after a pause`}`,
        ],
  ];
  return parts.flat().join("; ");
}
