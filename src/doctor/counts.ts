import { plural } from "./words.js";
import { type Check, type Finding, ok, wrong } from "./check.js";

interface Recount {
  readonly queue: string;
  readonly type: string;
  readonly counted: string;
  readonly found: string;
}

/** Lanes with more jobs than this are not read: their counts are looked at when there are fewer. */
const maxJobs = 100_000;

/** The counts of what waits are what the logs say, and were. */
export const countsCheck: Check = {
  name: "counts",
  needsSchema: true,
  async run({ read, maxCounted = maxJobs }) {
    const audit = (): Promise<Recount[]> =>
      read<Recount>(
        `select queue, type, format('%s ready, %s delayed', counted_ready, counted_delayed) as counted, format('%s ready, %s delayed', ready, delayed) as found
           from :counts_audit(null, $1)`,
        [maxCounted],
      );
    // A table rewritten in the middle of it looks empty, once.
    const first = await audit();
    const second = first.length > 0 ? await audit() : [];
    const findings: Finding[] = second
      .filter(({ queue, type }) => first.some((one) => one.queue === queue && one.type === type))
      .map(({ queue, type, counted, found }) =>
        wrong(
          `queue "${queue}", type "${type}": ${counted} are counted, ${found} wait`,
          "upkeep puts this right by itself within minutes; please report how it came about",
        ),
      );
    const [events] = await read<{ n: string }>(
      `select count(*) as n from :queue_events() x cross join json_array_elements(x.events) e
        where e ->> 'event' = 'recounted' and (e ->> 'at')::timestamptz > :clock_now() - interval '7 days'`,
    );
    const recounts = Number(events?.n ?? 0);
    if (recounts > 0) {
      findings.push(
        wrong(
          `counts were wrong and put right ${plural(recounts, "time")} within a week`,
          'see "millrace queues events"; please report how it came about',
        ),
      );
    }
    return findings.length > 0
      ? findings
      : [
          ok(
            `the counts are what the logs say${maxCounted < maxJobs ? `, of types with up to ${plural(maxCounted, "waiting job")}` : ""}`,
          ),
        ];
  },
};
