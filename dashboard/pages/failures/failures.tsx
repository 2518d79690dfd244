import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { get } from "../../api.js";
import { CellFilter, chosenCell } from "../../cells.js";
import { now } from "../../clock.js";
import { count, plural } from "../../format.js";
import { perform } from "../../parts/act.js";
import { Button } from "../../parts/button.js";
import { Empty } from "../../parts/empty.js";
import { Load } from "../../parts/load.js";
import { PageHead, Panel } from "../../parts/panel.js";
import { useResource } from "../../parts/resource.js";
import { Choice } from "../../parts/tabs.js";
import { Table } from "../../parts/table.js";
import { Ago } from "../../parts/time.js";
import { route, to } from "../../router.js";
import { asTime } from "../../search/query.js";
import { mayAct } from "../../session.js";
import type { Failure, List } from "../../wire.js";
import { bulk } from "../jobs/bulk.js";
import { replay, retryAlike } from "./acts.js";

type Since = "1h" | "1d" | "7d" | "any";

/** Failed jobs that nobody has decided on, by alike errors. */
export function Failures(): JSX.Element {
  const [since, setSince] = useState<Since>("any");
  const cell = chosenCell.value;
  const kind = route.value.query.get("kind");
  const failures = useResource(
    `failures ${since} ${cell}`,
    (signal) =>
      get<List<Failure> & { readonly total: number; readonly isExact: boolean }>(
        "failures",
        { limit: 200, cell, ...(since !== "any" && { since: asTime(since, now.peek()) }) },
        signal,
      ),
    15_000,
  );
  return (
    <>
      <PageHead title="Failures" actions={mayAct.value && <Button onClick={() => perform(replay())}>Replay…</Button>}>
        Failed jobs that nobody has retried or discarded yet. Errors are alike when they differ only in numbers, ids and
        quoted texts.
        <CellFilter />
      </PageHead>
      <Panel
        title={kind === null ? "By error" : "One kind of error"}
        note={
          failures.data &&
          (failures.data.isExact
            ? plural(failures.data.total, "job")
            : `more than ${plural(failures.data.total, "job")}: these are the newest`)
        }
        actions={
          <>
            {kind !== null && (
              <a class="button button-small" href={to(["failures"])}>
                All kinds
              </a>
            )}
            <Choice
              label="Failed within"
              value={since}
              onChange={setSince}
              of={[
                { value: "1h", title: "1 h" },
                { value: "1d", title: "1 day" },
                { value: "7d", title: "7 days" },
                { value: "any", title: "any time" },
              ]}
            />
          </>
        }
        flush
      >
        <Load of={failures}>
          {({ items, isExact }) => (
            <Table
              caption="Failures"
              rows={kind === null ? items : items.filter(({ fingerprint }) => fingerprint === kind)}
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
                      href={to(["jobs"], { state: "failed", failure: fingerprint, cell })}
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
                        onClick={() => perform(retryAlike(failure))}
                      >
                        Retry
                      </Button>
                      <Button
                        small
                        label={`Discard ${failure.jobs} jobs that failed with ${failure.message ?? "this error"}`}
                        onClick={() =>
                          perform(bulk("discard", { filter: { failure: failure.fingerprint, ...(cell && { cell }) } }))
                        }
                      >
                        Discard
                      </Button>
                    </span>
                  ),
                },
              ]}
              empty={
                <Empty title={since === "any" ? "Nothing has failed for good" : "Nothing failed within this time"}>
                  Jobs come here when their attempts are used up, or when their handler says that trying again is of no
                  use.
                </Empty>
              }
            />
          )}
        </Load>
      </Panel>
    </>
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
