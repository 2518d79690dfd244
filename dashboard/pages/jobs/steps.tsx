import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { get } from "../../api.js";
import { bytes, duration, plural } from "../../format.js";
import { perform } from "../../parts/act.js";
import { Badge, toneOf } from "../../parts/badge.js";
import { Button } from "../../parts/button.js";
import { JsonTree } from "../../parts/json-tree.js";
import { Problem } from "../../parts/load.js";
import { Panel } from "../../parts/panel.js";
import { useResource } from "../../parts/resource.js";
import { Moment } from "../../parts/time.js";
import { to } from "../../router.js";
import { mayAct, mayProduce } from "../../session.js";
import type { Job, Json, List, Run, Step } from "../../wire.js";
import * as acts from "./acts.js";
import { ErrorText } from "./error-text.js";
import { isTold } from "./told.js";
import { Waits } from "./waits.js";

/** So many at first; the server gives a thousand at most, and a run may have more behind it. */
const atFirst = 100;
const most = 1000;

const load = (id: string, limit: number, signal: AbortSignal): Promise<Run> =>
  get<Run>(`jobs/${encodeURIComponent(id)}/steps`, { newest: true, limit }, signal);

/** The newest steps of a run, for the page that shows them. */
export const loadSteps = (id: string, signal: AbortSignal): Promise<Run> => load(id, atFirst, signal);

/** What a run has done, the newest first, and above it what it waits for. */
export function Steps({ job, run: first, isLive }: { job: Job; run: Run; isLive: boolean }): JSX.Element | null {
  const [limit, setLimit] = useState(atFirst);
  if (first.items.length === 0 && first.waits === null) return null;
  return (
    <Panel
      title="Steps"
      note={first.next === undefined ? plural(first.items.length, "entry", "entries") : "the newest"}
      actions={
        mayProduce.value && (
          <Button
            small
            kind={first.waits?.signals.length ? "main" : "plain"}
            disabled={!isLive}
            onClick={() => perform(acts.tell(job))}
          >
            Tell
          </Button>
        )
      }
    >
      {limit === atFirst ? (
        <Entries job={job} run={first} more={() => setLimit(most)} />
      ) : (
        <All job={job} first={first} isLive={isLive} />
      )}
    </Panel>
  );
}

function All({ job, first, isLive }: { job: Job; first: Run; isLive: boolean }): JSX.Element {
  const all = useResource(`steps ${job.id}`, (signal) => load(job.id, most, signal), isLive ? 3000 : 15_000);
  return (
    <>
      {all.error !== undefined && <Problem error={all.error} retry={all.reload} />}
      <Entries job={job} run={all.data ?? first} />
    </>
  );
}

function Entries({ job, run, more }: { job: Job; run: Run; more?: () => void }): JSX.Element {
  const undone = voidOf(run.items);
  const goals = mayAct.value && isRewindable(job) ? goalsOf(job, run.items, undone) : undefined;
  return (
    <>
      <ol class="timeline">
        <Waits waits={run.waits} suspendedAt={run.suspendedAt} />
        {together(run.items.filter(({ key }) => key !== ranKey)).map((steps) => (
          <li key={steps.at(-1)!.id} class={undone(steps[0]!) ? "timeline-void" : toneOf(outcomeOf(steps[0]!))}>
            {steps.length > 1 ? (
              <Ends of={steps} />
            ) : (
              <Entry job={job} of={steps[0]!} isVoid={undone(steps[0]!)} rewind={goals?.get(steps[0]!.id)} />
            )}
          </li>
        ))}
      </ol>
      {run.next !== undefined &&
        (more ? (
          <Button small onClick={more}>
            Show more
          </Button>
        ) : (
          <p class="muted">
            These are the newest {run.items.length.toLocaleString("en")}. All of them:{" "}
            <code>millrace jobs steps {job.id}</code>
          </p>
        ))}
    </>
  );
}

/** By this a run notes how long it ran before it was suspended; no step of its own. */
const ranKey = "#ran";

/** What a run may go back to: it is not being worked on, and has neither succeeded nor been cancelled. */
const isRewindable = ({ state }: Job): boolean => !["running", "succeeded", "cancelled"].includes(state);

/** Steps as handlers name them: without the number of rewinds before them (`step_name` in the engine). */
const stepName = (key: string): string => (key.includes("#") ? key.replace(/~\d+$/, "").replace(/#1$/, "") : key);

const isStep = ({ kind, key }: Step): boolean =>
  (kind === "done" || kind === "try" || kind === "due" || kind === "started") && key !== ranKey;

/** Which steps a rewind has made void: those from where it went back to, up to itself. */
function voidOf(steps: readonly Step[]): (step: Step) => boolean {
  const ranges = steps
    .filter(({ kind, other }) => kind === "rewind" && other !== null)
    .map(({ other, id }) => [BigInt(other!), BigInt(id)] as const);
  return ({ id, kind }) =>
    kind !== "rewind" &&
    kind !== "signal" &&
    kind !== "got" &&
    ranges.some(([from, to]) => BigInt(id) >= from && BigInt(id) < to);
}

/** How to go back to each step, by the id of what was first noted of it. */
function goalsOf(job: Job, steps: readonly Step[], isVoid: (step: Step) => boolean): ReadonlyMap<string, () => void> {
  const valid = steps.filter((step) => isStep(step) && !isVoid(step));
  const first = new Map(valid.map(({ key }, place) => [stepName(key), place]));
  return new Map(
    [...first].map(([name, place]) => {
      const again = (): string[] => valid.slice(0, place + 1).map(({ key }) => stepName(key));
      return [valid[place]!.id, () => perform(acts.rewind(job, name, [...new Set(again().toReversed())]))];
    }),
  );
}

/** Children of one step that ended well, one after another, are one entry: there may be thousands. */
function together(steps: readonly Step[]): Step[][] {
  const entries: Step[][] = [];
  for (const step of steps) {
    const last = entries.at(-1);
    if (last && isGoodEnd(step) && isGoodEnd(last[0]!) && last[0]!.key === step.key) last.push(step);
    else entries.push([step]);
  }
  return entries;
}

const isGoodEnd = ({ kind, about }: Step): boolean => kind === "ended" && about === "succeeded";

/** What became of it, in a word that has a colour. */
function outcomeOf({ kind, error, about }: Step): string {
  switch (kind) {
    case "done":
      return error ? "failed" : about === "timeout" ? about : "done";
    case "ended":
      return about ?? "ended";
    case "try":
      return "tried";
    case "due":
      return "waits";
    default:
      return kind;
  }
}

function Entry({
  job,
  of,
  isVoid,
  rewind,
}: {
  job: Job;
  of: Step;
  isVoid: boolean;
  rewind: (() => void) | undefined;
}): JSX.Element {
  return (
    <>
      <div class="timeline-head">
        <Badge state={outcomeOf(of)} />
        <strong class="name" title={of.key}>
          {of.kind === "rewind" ? `to ${of.about}` : stepName(of.key)}
        </strong>
        {isVoid && <span class="muted">void since a rewind</span>}
        {about(of)}
        <span>
          <Moment at={of.at} /> {of.seconds !== null && <span class="muted">for {duration(of.seconds)}</span>}
        </span>
        {of.kind === "done" && of.tries !== null && of.tries > 1 && (
          <span class="muted">{plural(of.tries, "try", "tries")}</span>
        )}
        {rewind && (
          <Button small kind="quiet" label={`Rewind to ${stepName(of.key)}`} onClick={rewind}>
            Rewind
          </Button>
        )}
      </div>
      {isTold(of.error) && <ErrorText error={of.error} />}
      {of.valueBytes !== null && of.kind !== "rewind" && <Value job={job} of={of} />}
    </>
  );
}

/** What else is to be said of it. */
function about(step: Step): ComponentChildren {
  switch (step.kind) {
    case "try":
      return (
        <span>
          try {step.tries}
          {step.until && (
            <>
              , the next at <Moment at={step.until} />
            </>
          )}
        </span>
      );
    case "due":
      return (
        <span>
          until <Moment at={step.until} />
        </span>
      );
    case "got":
      return (
        <span>
          came for <span class="name">{step.about}</span>
        </span>
      );
    case "started":
      return (
        <span>
          {plural(step.children ?? 0, "job")}
          {step.about === "detached" && ", on their own"}
        </span>
      );
    case "ended":
      return <ChildLink id={step.other} />;
    case "rewind": {
      const { by, because } = (step.value ?? {}) as { by?: string; because?: string };
      return (
        <>
          {by && <span class="muted">by {by}</span>}
          {because && <span>{because}</span>}
        </>
      );
    }
    case "signal":
      return step.about && <span class="muted">id {step.about}</span>;
    case "done":
      if (step.about === "undo") return <span class="muted">can be undone</span>;
      return step.about !== "timeout" && step.about && <span class="muted">{step.about}</span>;
  }
}

const ChildLink = ({ id }: { id: string | null }): JSX.Element | null =>
  id === null ? null : (
    <a class="mono" href={to(["jobs", id])}>
      {id}
    </a>
  );

function Ends({ of }: { of: readonly Step[] }): JSX.Element {
  const [open, setOpen] = useState(false);
  return (
    <>
      <div class="timeline-head">
        <Badge state="succeeded" />
        <strong class="name" title={of[0]!.key}>
          {of[0]!.key}
        </strong>
        <span>{of.length.toLocaleString("en")} children</span>
        <Moment at={of[0]!.at} />
      </div>
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>Which</summary>
        {open && (
          <ul class="waits">
            {of.map(({ id, other, at }) => (
              <li key={id}>
                <ChildLink id={other} /> <Moment at={at} />
              </li>
            ))}
          </ul>
        )}
      </details>
    </>
  );
}

/** A value, drawn when it is opened; one that was left out is asked for then. */
function Value({ job, of }: { job: Job; of: Step }): JSX.Element {
  const [open, setOpen] = useState(false);
  const isLeftOut = of.value === null && of.valueBytes! > "null".length;
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {of.kind === "signal" || of.kind === "got" ? "What it said" : "What it gave"}{" "}
        <span class="muted">{bytes(of.valueBytes)}</span>
      </summary>
      {open && (isLeftOut ? <Whole job={job} of={of} /> : <JsonTree value={of.value} />)}
    </details>
  );
}

function Whole({ job, of }: { job: Job; of: Step }): JSX.Element {
  const before = String(BigInt(of.id) - 1n);
  const found = useResource(`step ${job.id} ${of.id}`, async (signal): Promise<Json> => {
    const { items } = await get<List<Step>>(
      `jobs/${encodeURIComponent(job.id)}/steps`,
      { key: of.key, cursor: before, limit: 1, valueBytes: 1_048_576 },
      signal,
    );
    return items[0]?.value ?? null;
  });
  if (found.error !== undefined) return <Problem error={found.error} retry={found.reload} />;
  return found.data === undefined ? <p class="muted">Loading…</p> : <JsonTree value={found.data} />;
}
