import type { JSX } from "preact";
import { CellFilter, cellColumn, chosenCell } from "../../cells.js";
import { errorText } from "../../../src/db/error-text.js";
import { get, segment, send } from "../../api.js";
import { count, none, rate } from "../../format.js";
import { type Act, numberOf, perform } from "../../parts/act.js";
import { isolated } from "../../parts/isolated.js";
import { Badge } from "../../parts/badge.js";
import { Button } from "../../parts/button.js";
import { Empty } from "../../parts/empty.js";
import { Load } from "../../parts/load.js";
import { PageHead, Panel } from "../../parts/panel.js";
import { useResource } from "../../parts/resource.js";
import { Share } from "../../parts/share.js";
import { Table } from "../../parts/table.js";
import { Ago } from "../../parts/time.js";
import { to } from "../../router.js";
import { mayAct } from "../../session.js";
import type { Breaker, Limit, List } from "../../wire.js";

export function Limits(): JSX.Element {
  const cell = chosenCell.value;
  const limits = useResource(`limits ${cell}`, (signal) => get<List<Limit>>("limits", { cell }, signal), 3000);
  const breakers = useResource(`breakers ${cell}`, (signal) => get<List<Breaker>>("breakers", { cell }, signal), 5000);
  return (
    <>
      <PageHead
        title="Limits"
        actions={mayAct.value && <Button onClick={() => perform(putResource())}>Set a resource</Button>}
      >
        Exact across all processes, and in force with the next claim. A lane at its limit delays no other.
        <CellFilter />
      </PageHead>
      <Panel title="Limits" note={limits.data && count(limits.data.items.length)} flush>
        <Load of={limits}>
          {({ items }) => (
            <Table
              caption="Limits"
              rows={items}
              rowKey={({ kind, queue, name, cell: at }) => `${kind} ${queue} ${name} ${at}`}
              columns={[
                {
                  head: "Of",
                  cell: ({ name, queue }) => name ?? (queue && <a href={to(["queues", queue])}>{queue}</a>),
                },
                cellColumn<Limit>(({ cell: at }) => at),
                { head: "Kind", width: "110px", by: ({ kind }) => kind, cell: ({ kind }) => kind },
                {
                  head: "Queue",
                  rank: 2,
                  by: ({ queue }) => queue,
                  cell: ({ queue, name }) =>
                    queue && name ? <a href={to(["queues", queue])}>{queue}</a> : <span class="muted">{none}</span>,
                },
                {
                  head: "At once",
                  end: true,
                  width: "90px",
                  by: (row) => row.maxRunning,
                  cell: (row) => count(row.maxRunning),
                },
                {
                  head: "In use",
                  width: "170px",
                  by: ({ inUse }) => inUse,
                  cell: ({ inUse, maxRunning }) =>
                    inUse !== null && maxRunning !== null ? (
                      <Share of={inUse / maxRunning} text={count(inUse)} />
                    ) : (
                      <span class="muted">{count(inUse)}</span>
                    ),
                },
                {
                  head: "Starts",
                  end: true,
                  width: "150px",
                  rank: 2,
                  cell: ({ rate: limit }) =>
                    limit ? `${rate(limit.perSecond)}/s${limit.burst ? `, ${count(limit.burst)} at once` : ""}` : none,
                },
                mayAct.value && {
                  head: "Acts",
                  end: true,
                  width: "80px",
                  cell: (limit) =>
                    limit.kind === "resource" && (
                      <Button small label={`Change ${limit.name}`} onClick={() => perform(putResource(limit))}>
                        Change
                      </Button>
                    ),
                },
              ]}
              empty={
                <Empty
                  title="Nothing is limited"
                  code={`await mill.queues.put("mail", { maxRunning: 10, groupMaxRunning: 3 });\nawait mill.resources.put("api:stripe", { rate: { perSecond: 25 } });`}
                >
                  Queues, types, groups and resources can have a number at once, and a rate.
                </Empty>
              }
            />
          )}
        </Load>
      </Panel>
      <Panel title="Circuit breakers" note="what has failed lately where one is set" flush>
        <Load of={breakers} lines={3}>
          {({ items }) => (
            <Table
              caption="Circuit breakers"
              rows={items}
              rowKey={({ queue, type, cell: at }) => `${queue} ${type} ${at}`}
              columns={[
                cellColumn<Breaker>(({ cell: at }) => at),
                {
                  head: "Type",
                  by: ({ type }) => type,
                  cell: ({ type }) => <a href={to(["jobs"], { type, state: "failed" })}>{type}</a>,
                },
                {
                  head: "Queue",
                  by: ({ queue }) => queue,
                  cell: ({ queue }) => <a href={to(["queues", queue])}>{queue}</a>,
                },
                {
                  head: "State",
                  width: "100px",
                  by: ({ state }) => state,
                  cell: ({ state }) => <Badge state={state} />,
                },
                {
                  head: "Failures",
                  end: true,
                  width: "90px",
                  rank: 2,
                  cell: ({ failures, opensAt }) => (failures === null ? none : `${failures} of ${opensAt}`),
                },
                {
                  head: "Tries again",
                  end: true,
                  width: "110px",
                  rank: 2,
                  cell: ({ openUntil }) => <Ago at={openUntil} />,
                },
                {
                  head: "Last error",
                  rank: 3,
                  cell: ({ lastError }) => <span class="cut error-cell">{errorText(lastError)}</span>,
                },
                mayAct.value && {
                  head: "Acts",
                  end: true,
                  width: "80px",
                  cell: (breaker) => (
                    <Button
                      small
                      label={`Reset ${breaker.type} of ${breaker.queue}`}
                      onClick={() => perform(reset(breaker))}
                    >
                      Reset
                    </Button>
                  ),
                },
              ]}
              empty={
                <Empty
                  title="No breaker has counted a failure"
                  code={`await mill.queues.put("mail", { breaker: { failures: 5, within: "1m", pause: "30s" } });`}
                >
                  A breaker holds a type back while everything of it fails.
                </Empty>
              }
            />
          )}
        </Load>
      </Panel>
    </>
  );
}

const reset = ({ queue, type }: Breaker): Act => ({
  title: `Reset the breaker of ${isolated(type)} in ${isolated(queue)}`,
  explain: "It forgets its failures, and the jobs are handed out again at once.",
  button: "Reset",
  run: () => send("POST", "breakers/reset", { queue, type }),
  done: () => `The breaker of ${isolated(type)} is closed`,
});

const putResource = (now?: Limit): Act => ({
  title: now ? `Resource ${isolated(now.name ?? "")}` : "Set a resource",
  explain: "How many units there are, and how often they may be taken. What is left empty has no limit.",
  fields: [
    ...(now ? [] : [{ name: "name", label: "Name", required: true, hint: "such as gpu, or api:stripe" }]),
    {
      name: "maxRunning",
      label: "Units",
      kind: "number" as const,
      min: 1,
      value: now?.maxRunning ? String(now.maxRunning) : "",
    },
    {
      name: "perSecond",
      label: "Per second",
      kind: "number" as const,
      min: 0,
      value: now?.rate ? String(now.rate.perSecond) : "",
    },
    {
      name: "burst",
      label: "At once after a pause",
      kind: "number" as const,
      min: 1,
      value: now?.rate?.burst ? String(now.rate.burst) : "",
    },
  ],
  button: "Set",
  run: (values) => {
    const [maxRunning, perSecond, burst] = [
      numberOf(values["maxRunning"]),
      numberOf(values["perSecond"]),
      numberOf(values["burst"]),
    ];
    const limit = perSecond === undefined ? null : { perSecond, ...(burst !== undefined && { burst }) };
    return send("PUT", `resources/${segment(now?.name ?? values["name"]!)}`, {
      maxRunning: maxRunning ?? null,
      rate: limit,
    });
  },
  done: (_answer, values) => `${now?.name ?? values["name"]} is set`,
  ...(now && {
    undo: () => send("PUT", `resources/${segment(now.name!)}`, { maxRunning: now.maxRunning, rate: now.rate }),
  }),
});
