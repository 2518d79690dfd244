import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { get } from "../../api.js";
import { CellFilter, chosenCell } from "../../cells.js";
import { now } from "../../clock.js";
import { count, exact, plural } from "../../format.js";
import { perform } from "../../parts/act.js";
import { Button } from "../../parts/button.js";
import { Empty } from "../../parts/empty.js";
import { Load } from "../../parts/load.js";
import { PageHead, Panel } from "../../parts/panel.js";
import { useResource } from "../../parts/resource.js";
import { Choice } from "../../parts/tabs.js";
import { Table } from "../../parts/table.js";
import { TextField } from "../../parts/text-field.js";
import { Ago } from "../../parts/time.js";
import { go, route, to } from "../../router.js";
import { asTime } from "../../search/query.js";
import { mayAct } from "../../session.js";
import type { Failure, List } from "../../wire.js";
import { bulk } from "../jobs/bulk.js";
import { type Which, replay, retryAlike } from "./acts.js";

/** Failed jobs that nobody has decided on, by alike errors. What is asked for stands in the address. */
export function Failures(): JSX.Element {
  const { kind, cell: _cell, ...query } = Object.fromEntries(route.value.query);
  const asked = JSON.stringify(query);
  const cell = chosenCell.value;
  const failures = useResource(
    `failures ${asked} ${cell}`,
    async (signal) => {
      const which = whichOf(query, cell);
      type Answer = List<Failure> & { readonly total: number; readonly isExact: boolean };
      return { ...(await get<Answer>("failures", { limit: 1000, ...which }, signal)), which };
    },
    15_000,
  );
  const isFiltered = Object.keys(query).length > 0;
  return (
    <>
      <PageHead title="Failures" actions={mayAct.value && <Button onClick={() => perform(replay())}>Replay…</Button>}>
        Failed jobs that nobody has retried or discarded yet. Errors are alike when they differ only in numbers, ids and
        quoted texts.
        <CellFilter />
      </PageHead>
      <Filters key={asked} query={query} kind={kind} />
      <Panel
        title={kind === undefined ? "By error" : "One kind of error"}
        note={
          failures.data &&
          (failures.data.isExact
            ? plural(failures.data.total, "job")
            : `${exact(failures.data.total)} jobs or more: these are the newest`)
        }
        actions={
          <>
            {kind !== undefined && (
              <a class="button button-small" href={to(["failures"], { ...query, cell })}>
                All kinds
              </a>
            )}
            {isFiltered && (
              <Button small onClick={() => go(to(["failures"], { kind, cell }))}>
                Clear
              </Button>
            )}
          </>
        }
        flush
      >
        <Load of={failures}>
          {({ items, isExact, which }) => (
            <Table
              caption="Failures"
              rows={kind === undefined ? items : items.filter(({ fingerprint }) => fingerprint === kind)}
              rowKey={({ fingerprint }) => fingerprint}
              sort={["Jobs", true]}
              columns={[
                { head: "Error", cell: (failure) => <ErrorCell of={failure} /> },
                {
                  head: "Jobs",
                  end: true,
                  width: "80px",
                  by: ({ jobs }) => jobs,
                  cell: ({ jobs, fingerprint }) => (
                    <a
                      href={to(["jobs"], { state: "failed", ...asFilter(which, fingerprint) })}
                      title="All jobs of this kind"
                    >
                      {count(jobs) + (isExact ? "" : "+")}
                    </a>
                  ),
                },
                {
                  head: "Types",
                  rank: 2,
                  cell: ({ types }) => <Names of={types} link={(type) => to(["jobs"], { type, state: "failed" })} />,
                },
                {
                  head: "Queues",
                  rank: 3,
                  cell: ({ queues }) => <Names of={queues} link={(queue) => to(["queues", queue])} />,
                },
                {
                  head: "First",
                  end: true,
                  width: "90px",
                  rank: 3,
                  by: ({ firstAt }) => firstAt,
                  cell: ({ firstAt }) => <Ago at={firstAt} />,
                },
                {
                  head: "Last",
                  end: true,
                  width: "90px",
                  rank: 2,
                  by: ({ lastAt }) => lastAt,
                  cell: ({ lastAt }) => <Ago at={lastAt} />,
                },
                mayAct.value && {
                  head: "Acts",
                  end: true,
                  width: "150px",
                  card: "bare",
                  cell: (failure) => (
                    <span class="row-acts">
                      <Button
                        small
                        label={`Retry ${failure.jobs} jobs that failed with ${failure.message ?? "this error"}`}
                        onClick={() => perform(retryAlike(failure, which))}
                      >
                        Retry
                      </Button>
                      <Button
                        small
                        label={`Discard ${failure.jobs} jobs that failed with ${failure.message ?? "this error"}`}
                        onClick={() =>
                          perform(
                            bulk("discard", { filter: { state: "failed", ...asFilter(which, failure.fingerprint) } }),
                          )
                        }
                      >
                        Discard
                      </Button>
                    </span>
                  ),
                },
              ]}
              empty={
                <Empty
                  title={
                    !isExact
                      ? "Not among the newest ten thousand"
                      : isFiltered
                        ? "Nothing that failed is like that"
                        : "Nothing has failed for good"
                  }
                >
                  {isExact
                    ? "Jobs come here when their attempts are used up, or when their handler says that trying again is of no use."
                    : "Ask for a queue, a type or a time to see further back."}
                </Empty>
              }
            />
          )}
        </Load>
      </Panel>
    </>
  );
}

/** The same failures wherever they are listed, counted, retried or discarded: times as they were when it was asked. */
function whichOf(query: Readonly<Record<string, string>>, cell: string | undefined): Which {
  const at = (name: "since" | "until") => query[name] && { [name]: asTime(query[name], now.peek()) };
  const named = (name: "queue" | "type") => query[name] && { [name]: query[name] };
  return { ...named("queue"), ...named("type"), ...at("since"), ...at("until"), ...(cell && { cell }) };
}

/** As lists of jobs and acts on them take it, where `since` and `until` are about the time of the enqueue. */
function asFilter({ since, until, ...rest }: Which, failure: string): Readonly<Record<string, string>> {
  return { ...rest, failure, ...(since && { endedSince: since }), ...(until && { endedUntil: until }) };
}

function Filters({ query, kind }: { query: Readonly<Record<string, string>>; kind: string | undefined }): JSX.Element {
  const [texts, setTexts] = useState({
    queue: query["queue"] ?? "",
    type: query["type"] ?? "",
    until: query["until"] ?? "",
  });
  const set = (name: keyof typeof texts) => (value: string) => setTexts((before) => ({ ...before, [name]: value }));
  const ask = (since: string | undefined): void =>
    go(to(["failures"], { kind, ...texts, since, cell: chosenCell.peek() }));
  return (
    <form
      class="audit-filters"
      role="search"
      aria-label="Failures"
      onSubmit={(event) => {
        event.preventDefault();
        ask(query["since"]);
      }}
    >
      <TextField label="Queue" names="queue" value={texts.queue} onChange={set("queue")} />
      <TextField label="Type" names="type" value={texts.type} onChange={set("type")} />
      <TextField label="Failed before" hint="2026-03-01T08:00, 2h, 3d" value={texts.until} onChange={set("until")} />
      <Choice
        label="Failed within"
        value={query["since"] ?? ""}
        onChange={ask}
        of={[
          { value: "1h", title: "last hour" },
          { value: "1d", title: "last day" },
          { value: "7d", title: "last 7 days" },
          { value: "", title: "any time" },
        ]}
      />
      <Button type="submit">Find</Button>
    </form>
  );
}

function ErrorCell({ of }: { of: Failure }): JSX.Element {
  return (
    <span class="two-lines">
      <a class="clamp" href={to(["jobs", of.lastJobId])} title="The newest job that failed with it">
        {of.message ?? "without a message"}
      </a>
      <small class="mono">{[of.name, of.code].filter(Boolean).join(" ") || of.fingerprint}</small>
    </span>
  );
}

const maxNames = 3;

function Names({ of, link }: { of: readonly string[]; link: (name: string) => string }): JSX.Element {
  return (
    <span class="tags">
      {of.slice(0, maxNames).map((name) => (
        <a key={name} class="tag" href={link(name)}>
          {name}
        </a>
      ))}
      {of.length > maxNames && <small>and {of.length - maxNames} more</small>}
    </span>
  );
}
