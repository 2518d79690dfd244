import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { get } from "../../api.js";
import { CellFilter } from "../../cells.js";
import { moment, plural, timeOfDay } from "../../format.js";
import { perform } from "../../parts/act.js";
import { Button } from "../../parts/button.js";
import { Empty } from "../../parts/empty.js";
import { firstJob } from "../../parts/samples.js";
import { Load } from "../../parts/load.js";
import { PageHead, Panel } from "../../parts/panel.js";
import { useResource } from "../../parts/resource.js";
import { Why, useQueueWhy } from "../../parts/why.js";
import { go, route, to } from "../../router.js";
import { type Filter, terms, writeQuery } from "../../search/query.js";
import { SavedFilters } from "../../search/saved.js";
import { mayAct, mayProduce } from "../../session.js";
import type { Job, List } from "../../wire.js";
import { type Verb, bulk } from "./bulk.js";
import { asked } from "./filter.js";
import { JobTable } from "./job-table.js";

const pageSize = 50;
/** As many as one request takes. */
const mostChosen = 1000;
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
  const line = JSON.stringify(filter);
  const [choice, setChoice] = useState<{ of: string; ids: readonly string[] }>({ of: line, ids: [] });
  const chosen = choice.of === line ? choice.ids : []; // another filter, another choice
  return (
    <>
      <PageHead title="Jobs" actions={mayProduce.value && <BulkActs filter={filter} />}>
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
        <CellFilter />
        <SavedFilters filter={filter} />
        <WhyOfPart filter={filter} />
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
        {chosen.length > 0 && <ChosenActs ids={chosen} clear={() => setChoice({ of: line, ids: [] })} />}
        <Load of={jobs} lines={12}>
          {({ items, next }) => (
            <>
              <JobTable
                jobs={items}
                choosing={
                  mayProduce.value
                    ? {
                        has: ({ id }) => chosen.includes(id),
                        choose: (rows, isChosen) => {
                          const ids = rows.map(({ id }) => id);
                          const rest = chosen.filter((id) => !ids.includes(id));
                          setChoice({ of: line, ids: (isChosen ? [...rest, ...ids] : rest).slice(0, mostChosen) });
                        },
                        name: ({ id, type }) => `${type} ${id}`,
                      }
                    : undefined
                }
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
                  <span class="muted">
                    {plural(items.length, "job")} here
                    {next !== undefined && items.length < pageSize && `, looked back to ${moment(timeOfId(next))}`}
                  </span>
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

/** Why jobs of a type or a group of a queue wait. A group has no page of its own: this is it. */
function WhyOfPart({ filter: { queue, type, group, state } }: { filter: Filter }): JSX.Element {
  const isPart = (type ?? group) !== undefined && (!state || ["ready", "blocked", "delayed"].includes(state));
  return <Why of={useQueueWhy(isPart ? queue : undefined, { ...(type && { type }), ...(group && { group }) })} />;
}

/** So many looks, of two seconds each at most, until somebody is asked whether to go on. */
const maxLooks = 60;

/** The next jobs that match. A look may end without having found any: then the next follows, and says how far it is. */
async function search(
  query: Record<string, string | number | boolean>,
  cursor: string | undefined,
  signal: AbortSignal,
  tell: (lookedTo: string) => void,
): Promise<List<Job>> {
  for (let looks = 1; ; looks += 1) {
    const found = await get<List<Job>>("jobs", { ...query, cursor }, signal);
    if (found.items.length > 0 || found.next === undefined || looks === maxLooks) return found;
    cursor = found.next;
    tell(cursor);
  }
}

/** An id begins with when its job was enqueued: microseconds since 2020 above its lower 12 bits. */
const timeOfId = (id: string): number => Date.UTC(2020, 0) + Number(BigInt(id.split(":").at(-1)!) >> 12n) / 1000;

function NoJobs({ isFiltered }: { isFiltered: boolean }): JSX.Element {
  if (isFiltered)
    return <Empty title="No job matches">Leave out a word of the search line, or look at another state.</Empty>;
  return (
    <Empty title="No job yet" code={firstJob}>
      Jobs are listed here from the moment their transaction commits.
    </Empty>
  );
}

const live: readonly string[] = ["ready", "delayed", "running", "suspended", "blocked"];

/** Whether a verb can mean any of what is listed, by the state that is asked for; else why not. */
function obstacle(verb: Verb, filter: Filter): string | undefined {
  const { state, ...rest } = filter;
  if (!state && Object.keys(rest).length === 0) return "Choose a state, a queue, a type or something else first";
  if (!state) return undefined;
  if (verb === "cancel") return live.includes(state) ? undefined : `What is ${state} has ended`;
  if (verb === "rewind")
    return ["running", "succeeded", "cancelled"].includes(state) ? `What is ${state} cannot be rewound` : undefined;
  return state === "failed" || state === "expired" ? undefined : `Only what failed or expired can be ${verb}ed`;
}

/** What can be done with all that match. The buttons stay where they are, and say what is in the way. */
function BulkActs({ filter }: { filter: Filter }): JSX.Element {
  return (
    <>
      <a class="button" href={to(["enqueue"])}>
        New job
      </a>
      {(mayAct.value ? (["retry", "discard", "cancel"] as const) : (["cancel"] as const)).map((verb) => {
        const reason = obstacle(verb, filter);
        return (
          <Button
            key={verb}
            kind={verb === "cancel" ? "danger" : "plain"}
            disabled={reason !== undefined}
            title={reason ?? ""}
            onClick={() => perform(bulk(verb, { filter }))}
          >
            {titles[verb]} all
          </Button>
        );
      })}
      {mayAct.value && filter["type"] && !obstacle("rewind", filter) && (
        <Button kind="danger" onClick={() => perform(bulk("rewind", { filter }))}>
          Rewind all
        </Button>
      )}
    </>
  );
}

const titles: Readonly<Record<Verb, string>> = {
  retry: "Retry",
  discard: "Discard",
  cancel: "Cancel",
  rewind: "Rewind",
};

/** Those that were chosen, on this page of the list and on others of it. */
function ChosenActs({ ids, clear }: { ids: readonly string[]; clear: () => void }): JSX.Element {
  return (
    <div class="chosen" role="group" aria-label="Chosen jobs">
      <strong>{plural(ids.length, "job")} chosen</strong>
      {(mayAct.value ? (["retry", "discard", "cancel", "rewind"] as const) : (["cancel"] as const)).map((verb) => (
        <Button
          key={verb}
          small
          kind={verb === "cancel" || verb === "rewind" ? "danger" : "plain"}
          onClick={() => perform({ ...bulk(verb, { ids }), after: clear })}
        >
          {titles[verb]}
        </Button>
      ))}
      <Button small kind="quiet" onClick={clear}>
        Choose none
      </Button>
    </div>
  );
}
