import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { get, send } from "../../api.js";
import { now } from "../../clock.js";
import { moment, plural, timeOfDay } from "../../format.js";
import { type Act, because, filled, perform } from "../../parts/act.js";
import { Button } from "../../parts/button.js";
import { Empty } from "../../parts/empty.js";
import { firstJob } from "../../parts/samples.js";
import { Load } from "../../parts/load.js";
import { PageHead, Panel } from "../../parts/panel.js";
import { useResource } from "../../parts/resource.js";
import { go, route, to } from "../../router.js";
import { type Filter, asTime, terms, writeQuery } from "../../search/query.js";
import { mayAct } from "../../session.js";
import type { Job, List, Touch } from "../../wire.js";
import { JobTable } from "./job-table.js";

const pageSize = 50;
const states = terms.find(({ key }) => key === "state")!.values!;

/** Jobs, newest first. The list stands still until somebody asks again: nothing moves under the pointer. */
export function Jobs(): JSX.Element {
  const query = Object.fromEntries(route.value.query);
  const { cursor, ...filter } = query;
  const [lookedTo, setLookedTo] = useState<string | undefined>();
  const jobs = useResource(`jobs ${JSON.stringify(query)}`, (signal) => {
    setLookedTo(undefined);
    return search({ ...asked(filter), limit: pageSize, brief: true }, cursor, signal, setLookedTo);
  });
  const isFiltered = Object.keys(filter).length > 0;
  return (
    <>
      <PageHead title="Jobs" actions={mayAct.value && <BulkActs filter={filter} />}>
        <div class="filters" role="group" aria-label="State">
          {["", ...states].map((state) => (
            <a
              key={state}
              class="button button-small"
              href={to(["jobs"], { ...filter, state })}
              aria-current={(filter["state"] ?? "") === state ? "true" : undefined}
            >
              {state || "any state"}
            </a>
          ))}
        </div>
      </PageHead>
      <Panel
        title={isFiltered ? writeQuery(filter) || "Jobs" : "All jobs"}
        note={jobs.at !== undefined && `as of ${timeOfDay(jobs.at)}`}
        actions={
          <>
            {isFiltered && (
              <Button small onClick={() => go(to(["jobs"]))}>
                Clear
              </Button>
            )}
            <Button small onClick={jobs.reload}>
              Refresh
            </Button>
          </>
        }
        flush
      >
        {jobs.data === undefined && lookedTo !== undefined && (
          <p class="table-more muted" role="status">
            Nothing found yet, back to {moment(timeOfId(lookedTo))}. Looking on…
          </p>
        )}
        <Load of={jobs} lines={12}>
          {({ items, next }) => (
            <>
              <JobTable
                jobs={items}
                empty={
                  next === undefined ? (
                    <NoJobs isFiltered={isFiltered} />
                  ) : (
                    <Empty title="None found yet">
                      There is more to look through than fits into one go; “Older” looks on.
                    </Empty>
                  )
                }
              />
              {(next !== undefined || cursor) && (
                <nav class="table-more" aria-label="Pages of jobs">
                  {cursor && <a href={to(["jobs"], filter)}>← Newest</a>}
                  <span class="muted">{plural(items.length, "job")} here</span>
                  {next !== undefined && <a href={to(["jobs"], { ...filter, cursor: next })}>Older →</a>}
                </nav>
              )}
            </>
          )}
        </Load>
      </Panel>
    </>
  );
}

/** So many looks, of two seconds each at most, until somebody is asked whether to go on. */
const mostLooks = 60;

/** The next jobs that match. A look may end without having found any: then the next follows, and says how far it is. */
async function search(
  query: Record<string, string | number | boolean>,
  cursor: string | undefined,
  signal: AbortSignal,
  tell: (lookedTo: string) => void,
): Promise<List<Job>> {
  for (let looks = 1; ; looks += 1) {
    const found = await get<List<Job>>("jobs", { ...query, cursor }, signal);
    if (found.items.length > 0 || found.next === undefined || looks === mostLooks) return found;
    cursor = found.next;
    tell(cursor);
  }
}

/** An id begins with when its job was enqueued: microseconds since 2020 above its lower 12 bits. */
const timeOfId = (id: string): number => Date.UTC(2020, 0) + Number(BigInt(id) >> 12n) / 1000;

/** The filter as the API takes it: times of the line are relative to now. */
function asked(filter: Filter): Record<string, string> {
  const at = (key: string) => filter[key] && { [key]: asTime(filter[key], now.peek()) };
  return { ...filter, ...at("since"), ...at("until") };
}

function NoJobs({ isFiltered }: { isFiltered: boolean }): JSX.Element {
  if (isFiltered)
    return <Empty title="No job matches">Leave out a word of the search line, or look at another state.</Empty>;
  return (
    <Empty title="No job yet" code={firstJob}>
      Jobs are listed here from the moment their transaction commits.
    </Empty>
  );
}

/**
 * Cancel or retry all that is listed, where the server can do exactly that; otherwise the buttons say what is in the
 * way. Retrying does not tell failed from expired.
 */
function BulkActs({ filter }: { filter: Filter }): JSX.Element {
  const { state, ...rest } = filter;
  const keys = Object.keys(rest);
  const cancellable =
    !state &&
    keys.some((key) => key !== "queue") &&
    keys.every((key) => ["queue", "type", "tenant", "key"].includes(key));
  const retriable =
    (state === "failed" || state === "expired") &&
    rest["type"] !== undefined &&
    keys.every((key) => ["queue", "type"].includes(key));
  return (
    <>
      <Button
        disabled={!retriable}
        title={retriable ? "" : "Choose a type and state:failed first, and at most a queue"}
        onClick={() => perform(retryAll(rest))}
      >
        Retry all
      </Button>
      <Button
        kind="danger"
        disabled={!cancellable}
        title={cancellable ? "" : "Choose a type, tenant or key first, and any state"}
        onClick={() => perform(cancelAll(rest))}
      >
        Cancel all
      </Button>
    </>
  );
}

const cancelAll = (filter: Filter): Act => ({
  title: "Cancel all of these",
  explain: `Every job of ${writeQuery(filter)} that has not ended is cancelled, whatever its state; those that run hear of it with their next heartbeat. This cannot be taken back.`,
  fields: [because],
  count: () => send<Touch>("POST", "jobs/cancel", { filter, dryRun: true }),
  button: "Cancel them",
  danger: true,
  run: (values) => send<Touch>("POST", "jobs/cancel", { filter, ...filled(values) }),
  done: (answer) =>
    `${plural((answer as Touch).count, "job")} cancelled${(answer as Touch).isExact ? "" : "; there are more"}`,
});

const retryAll = (filter: Filter): Act => ({
  title: "Retry all of these",
  explain: `Every failed or expired job of ${writeQuery(filter)} that nobody has decided on gets another attempt.`,
  fields: [{ name: "perSecond", label: "Per second", kind: "number", min: 0, hint: "empty: all at once" }, because],
  count: () => send<Touch>("POST", "jobs/retry", { filter, dryRun: true }),
  button: "Retry them",
  run: ({ perSecond, ...values }) =>
    send<Touch>("POST", "jobs/retry", {
      filter,
      ...(perSecond && { perSecond: Number(perSecond) }),
      ...filled(values),
    }),
  done: (answer) => `${plural((answer as Touch).count, "job")} will be tried again`,
});
