import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { get } from "../../api.js";
import { count, percent, plural } from "../../format.js";
import { Badge } from "../../parts/badge.js";
import { Button } from "../../parts/button.js";
import { Panel } from "../../parts/panel.js";
import { Share } from "../../parts/share.js";
import { StateMark } from "../../parts/state-mark.js";
import { Table } from "../../parts/table.js";
import { Choice } from "../../parts/tabs.js";
import { to } from "../../router.js";
import type { FlowGraph, FlowJob, JobState } from "../../wire.js";
import { type DrawnJob, type FlowNode, type Folding, drawnOf, foldings, usualFolding } from "./fold.js";
import { Graph } from "./graph.js";
import { hasEnded, statesOf, whenOf } from "./states.js";

/** So many jobs of a flow are drawn and listed. */
const most = 1000;

/** The type of the job that stands for a flow. */
export const flowType = "millrace.flow";

export const loadFlow = (id: string, signal: AbortSignal): Promise<FlowGraph> =>
  get<FlowGraph>(`flows/${encodeURIComponent(id)}`, { limit: most }, signal);

const words: Readonly<Record<Folding, string>> = { jobs: "Each job", alike: "Alike as one", types: "By type" };

/** The jobs of a flow: as a graph, and as a list of those that are chosen there. */
export function Flow({ flow }: { flow: FlowGraph }): JSX.Element {
  const drawn = drawnOf(flow);
  const shape = drawn.map(({ id, after }) => `${id} ${after.length}`).join();
  const ways = useMemo(() => foldings(drawn), [shape]);
  const [asked, setAsked] = useState<Folding | null>(null);
  const [chosen, setChosen] = useState<string | null>(null);
  const way = ways.find(({ folding }) => folding === (asked ?? usualFolding(ways))) ?? ways.at(-1)!;
  const nodes = useMemo(() => withStates(way.nodes, drawn), [way, flow]);
  const node = nodes.find(({ key }) => key === chosen);
  const ended = flow.jobs.filter(hasEnded).length;
  return (
    <>
      <Panel
        title="Graph"
        note={
          flow.total > flow.jobs.length
            ? `the first ${count(flow.jobs.length)} of ${plural(flow.total, "job")}`
            : plural(flow.total, "job")
        }
        actions={
          ways.length > 1 && (
            <Choice
              label="What is drawn as one"
              of={ways.map(({ folding, nodes: { length } }) => ({
                value: folding,
                title: `${words[folding]} (${count(length)})`,
              }))}
              value={way.folding}
              onChange={(folding) => (setAsked(folding), setChosen(null))}
            />
          )
        }
      >
        {flow.jobs.length === 0 ? (
          <p class="muted">It has no jobs yet.</p>
        ) : (
          <>
            <div class="graph-legend">
              <ul aria-label="States of its jobs">
                {statesOf(flow.jobs).map(([state, n]) => (
                  <li key={state}>
                    <StateMark state={state} /> {count(n)} {state}
                  </li>
                ))}
              </ul>
              <span class="graph-ended">
                <span>ended</span>
                <Share of={Math.min(0.999, ended / flow.jobs.length)} text={percent(ended / flow.jobs.length)} />
              </span>
            </div>
            <Graph nodes={nodes} chosen={node?.key ?? null} onChoose={setChosen} />
          </>
        )}
      </Panel>
      {flow.jobs.length > 0 && (
        <Members key={node?.key} of={node?.jobs ?? flow.jobs} name={node?.type} showAll={() => setChosen(null)} />
      )}
    </>
  );
}

/** Where nodes stand depends on who waits for whom; their states are those of now. */
function withStates(nodes: readonly FlowNode[], jobs: readonly DrawnJob[]): readonly FlowNode[] {
  const now = new Map(jobs.map((job) => [job.id, job]));
  return nodes.map((node) => ({ ...node, jobs: node.jobs.map((job) => now.get(job.id) ?? job) }));
}

function Members({
  of,
  name,
  showAll,
}: {
  of: readonly FlowJob[];
  name: string | undefined;
  showAll: () => void;
}): JSX.Element {
  const [asked, setAsked] = useState<JobState | "">("");
  const states = statesOf(of);
  const state = states.some(([one]) => one === asked) ? asked : "";
  const rank = new Map(states.map(([one], place) => [one, place]));
  const rows = of
    .filter((job) => state === "" || job.state === state)
    .toSorted((a, b) => rank.get(a.state)! - rank.get(b.state)!);
  return (
    <Panel
      title={name === undefined ? "Jobs" : `Jobs: ${name}`}
      note={
        name !== undefined && (
          <Button small onClick={showAll}>
            Show all jobs
          </Button>
        )
      }
      actions={
        states.length > 1 && (
          <Choice
            label="State"
            of={[
              { value: "" as const, title: `any ${count(of.length)}` },
              ...states.map(([one, n]) => ({ value: one, title: `${one} ${count(n)}` })),
            ]}
            value={state}
            onChange={setAsked}
          />
        )
      }
      flush
    >
      <Table
        caption="Jobs of the flow"
        rows={rows}
        rowKey={({ id }) => id}
        columns={[
          { head: "Job", width: "190px", cell: ({ id }) => <JobLink id={id} /> },
          { head: "State", width: "110px", cell: ({ state: one }) => <Badge state={one} /> },
          { head: "Type", cell: ({ type }) => <span class="name">{type}</span> },
          { head: "Queue", rank: 2, cell: ({ queue }) => <a href={to(["queues", queue])}>{queue}</a> },
          {
            head: "After",
            rank: 2,
            cell: (job) => (
              <>
                {job.after.length === 1 ? (
                  <JobLink id={job.after[0]!} />
                ) : (
                  <span class="muted">{job.after.length === 0 ? "nothing" : plural(job.after.length, "job")}</span>
                )}
                {whenOf(job) !== null && <span class="muted"> {whenOf(job)}</span>}
              </>
            ),
          },
        ]}
        empty={null}
      />
    </Panel>
  );
}

const JobLink = ({ id }: { id: string }): JSX.Element => (
  <a class="mono" href={to(["jobs", id])}>
    {id}
  </a>
);
