import { Fragment, type JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { CellFilter } from "../../cells.js";
import { get } from "../../api.js";
import { now } from "../../clock.js";
import { count, none } from "../../format.js";
import { Badge } from "../../parts/badge.js";
import { Button } from "../../parts/button.js";
import { Empty } from "../../parts/empty.js";
import { Load } from "../../parts/load.js";
import { PageHead, Panel } from "../../parts/panel.js";
import { useResource } from "../../parts/resource.js";
import { Table } from "../../parts/table.js";
import { Choice } from "../../parts/tabs.js";
import { TextField } from "../../parts/text-field.js";
import { Moment } from "../../parts/time.js";
import { go, route, to } from "../../router.js";
import { asTime } from "../../search/query.js";
import type { AuditEntry, List } from "../../wire.js";
import { type Told, actText, changesOf, chosenJobs, inOne, objectAddress } from "./words.js";

/** Who changed what, why, and from what to what. What is asked for stands in the address. */
export function Audit(): JSX.Element {
  const query = Object.fromEntries(route.value.query);
  const { cursor, since, ...filter } = query;
  const audit = useResource(`audit ${JSON.stringify(query)}`, (signal) =>
    get<List<AuditEntry>>(
      "audit",
      { ...filter, ...(since && { since: asTime(since, now.peek()) }), limit: 100, cursor },
      signal,
    ),
  );
  const isFiltered = since !== undefined || Object.keys(filter).length > 0;
  return (
    <>
      <PageHead title="Audit">
        Who changed what through this server, why, and what came of it: the newest 100,000 acts of the last 90 days.
        <CellFilter />
      </PageHead>
      <Filters query={query} />
      <Panel
        title="Acts"
        note="newest first"
        actions={
          <>
            {isFiltered && (
              <Button small onClick={() => go(to(["audit"]))}>
                Clear
              </Button>
            )}
            <Button small onClick={audit.reload}>
              Refresh
            </Button>
          </>
        }
        flush
      >
        <Load of={audit}>
          {({ items, next }) => (
            <>
              <Acts of={inOne(items)} isFiltered={isFiltered} />
              {(next !== undefined || cursor) && (
                <nav class="table-more" aria-label="Pages of acts">
                  {cursor && <a href={to(["audit"], { ...query, cursor: null })}>← Newest</a>}
                  {next !== undefined && <a href={to(["audit"], { ...query, cursor: next })}>Older →</a>}
                </nav>
              )}
            </>
          )}
        </Load>
      </Panel>
    </>
  );
}

function Filters({ query }: { query: Readonly<Record<string, string>> }): JSX.Element {
  const { cursor: _page, ...asked } = query;
  const [texts, setTexts] = useState({ who: "", action: "", object: "" });
  useEffect(() => {
    setTexts({ who: asked["who"] ?? "", action: asked["action"] ?? "", object: asked["object"] ?? "" });
  }, [asked["who"], asked["action"], asked["object"]]);
  const set = (name: keyof typeof texts) => (value: string) => setTexts((before) => ({ ...before, [name]: value }));
  return (
    <form
      class="audit-filters"
      role="search"
      aria-label="Acts"
      onSubmit={(event) => {
        event.preventDefault();
        go(to(["audit"], { ...asked, ...texts }));
      }}
    >
      <TextField label="Who" value={texts.who} onChange={set("who")} />
      <TextField label="Act" hint="a part: pause, retry, PUT" value={texts.action} onChange={set("action")} />
      <TextField label="Of what, or why" hint="a part of it" value={texts.object} onChange={set("object")} />
      <Choice
        label="Result"
        value={asked["result"] ?? ""}
        onChange={(result) => go(to(["audit"], { ...asked, result }))}
        of={[
          { value: "", title: "any" },
          { value: "done", title: "done" },
          { value: "refused", title: "refused" },
        ]}
      />
      <Choice
        label="Within"
        value={asked["since"] ?? ""}
        onChange={(since) => go(to(["audit"], { ...asked, since }))}
        of={[
          { value: "1h", title: "1 h" },
          { value: "1d", title: "1 day" },
          { value: "7d", title: "7 days" },
          { value: "", title: "any time" },
        ]}
      />
      <Button type="submit">Find</Button>
    </form>
  );
}

function Acts({ of, isFiltered }: { of: readonly Told[]; isFiltered: boolean }): JSX.Element {
  return (
    <Table
      caption="Acts"
      rows={of}
      rowKey={({ id }) => id}
      columns={[
        { head: "When", width: "150px", cell: ({ at }) => <Moment at={at} /> },
        {
          head: "Who",
          width: "110px",
          cell: ({ who }) => (
            <a class="who" href={to(["audit"], { who })} title={who}>
              <bdi>{who}</bdi>
            </a>
          ),
        },
        {
          head: "Act",
          width: "130px",
          card: "bare",
          cell: ({ action }) => (
            <strong class="name" title={action}>
              {actText(action)}
            </strong>
          ),
        },
        { head: "Of", cell: ({ object }) => <Subject object={object} /> },
        { head: "Why and what changed", rest: true, card: "wide", cell: (entry) => <Reason of={entry} /> },
        {
          head: "Jobs",
          end: true,
          width: "80px",
          rank: 2,
          cell: ({ count: jobs, steps }) => (
            <span title={steps > 1 ? `in ${steps} steps` : undefined}>{count(jobs)}</span>
          ),
        },
        {
          head: "Result",
          width: "90px",
          cell: ({ result }) => (result === "done" ? "done" : <Badge state="refused" title={`with ${result}`} />),
        },
        {
          head: "From",
          rank: 3,
          card: "none",
          width: "120px",
          cell: ({ address, requestId }) => (
            <span class="mono" title={requestId ? `request ${requestId}` : undefined}>
              {address ?? none}
            </span>
          ),
        },
      ]}
      empty={
        isFiltered ? (
          <Empty title="No act matches">Ask for less of it, or for a longer time.</Empty>
        ) : (
          <Empty title="Nobody has changed anything">
            What is done from this page, the API or with SQS tools is noted here.
          </Empty>
        )
      }
    />
  );
}

/** How many of the jobs that were chosen are shown. */
const mostJobs = 5;

function Subject({ object }: { object: string }): JSX.Element {
  const chosen = chosenJobs(object);
  if (chosen)
    return (
      <span class="subject" title={object}>
        {chosen.head}
        {chosen.jobs.slice(0, mostJobs).map(([id, address], n) => (
          <Fragment key={id}>
            {n > 0 && ", "}
            <a href={address}>{id}</a>
          </Fragment>
        ))}
        {chosen.jobs.length > mostJobs && ", …"}
      </span>
    );
  const address = objectAddress(object);
  const text = <bdi class="clamp">{object}</bdi>;
  return address ? (
    <a class="subject" href={address} title={object}>
      {text}
    </a>
  ) : (
    <span class="subject" title={object}>
      {text}
    </span>
  );
}

/** How many changed settings are told at once. */
const mostChanges = 4;

function Reason({ of }: { of: Told }): JSX.Element | null {
  const changes = changesOf(of);
  const [all, setAll] = useState(false);
  if (!of.because && changes.length === 0) return null;
  return (
    <div class="reason">
      {of.because && <bdi class="clamp">{of.because}</bdi>}
      {changes.length > 0 && (
        <dl class="changes">
          {changes.slice(0, all ? undefined : mostChanges).map(([key, was, is]) => (
            <div key={key}>
              <dt>{key}</dt>
              <dd>
                <del title={was}>{was}</del> → <ins title={is}>{is}</ins>
              </dd>
            </div>
          ))}
        </dl>
      )}
      {changes.length > mostChanges && !all && (
        <Button small kind="quiet" onClick={() => setAll(true)}>
          {changes.length - mostChanges} more
        </Button>
      )}
    </div>
  );
}
