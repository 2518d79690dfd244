import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { errorText } from "../../../src/db/error-text.js";
import { get } from "../../api.js";
import { count, duration } from "../../format.js";
import { perform } from "../../parts/act.js";
import { Badge } from "../../parts/badge.js";
import { Button } from "../../parts/button.js";
import { Copy } from "../../parts/copy.js";
import { JsonTree } from "../../parts/json-tree.js";
import { Load } from "../../parts/load.js";
import { Facts, PageHead, Panel } from "../../parts/panel.js";
import { type Resource, useResource } from "../../parts/resource.js";
import { Ago, Moment } from "../../parts/time.js";
import { Why } from "../../parts/why.js";
import { to } from "../../router.js";
import { mayAct, mayProduce } from "../../session.js";
import type { Child, FlowGraph, Job, JobDetails, JobState, List, Reason, Run } from "../../wire.js";
import { Flow, flowType, loadFlow } from "../flows/flow.js";
import * as acts from "./acts.js";
import { Children, loadChildren } from "./children.js";
import { ErrorText } from "./error-text.js";
import { LiveLog } from "./live-log.js";
import { Payload } from "./payload.js";
import { Progress } from "./progress.js";
import { Steps, loadSteps } from "./steps.js";
import { Timeline } from "./timeline.js";
import { isTold } from "./told.js";

const isLiveState = (state: JobState): boolean =>
  ["delayed", "ready", "running", "suspended", "blocked"].includes(state);
const isLive = (job: Job): boolean => isLiveState(job.state);

interface Found extends JobDetails {
  readonly run: Run;
  readonly children: List<Child>;
  readonly why: readonly Reason[];
  /** When it stands for a flow. */
  readonly flow?: FlowGraph;
}

/** How often to ask again: seldom when neither the job nor what it has started changes by itself any more. */
function paceOf({ job, children, flow }: Found): number {
  const all = [job, ...children.items, ...(flow?.jobs ?? [])];
  if (!all.some(({ state }) => state !== null && isLiveState(state))) return 15_000;
  return all.length > 300 ? 10_000 : 3000; // a flow of 1,000 jobs costs the database 0.1 s
}

/** All that the page shows comes at once, so that nothing moves when the rest is there. */
async function load(id: string, known: Found | undefined, signal: AbortSignal): Promise<Found> {
  const [details, run, children, why] = await Promise.all([
    loadDetails(id, known, signal),
    loadSteps(id, signal),
    loadChildren(id, signal),
    loadWhy(id, signal),
  ]);
  const isFlow = details.job.type === flowType;
  return { ...details, run, children, why, ...(isFlow && { flow: await loadFlow(id, signal) }) };
}

/** A server that may not tell, because its role was not granted it, shows the rest all the same. */
const loadWhy = async (id: string, signal: AbortSignal): Promise<readonly Reason[]> =>
  (await get<List<Reason>>(`jobs/${encodeURIComponent(id)}/why`, {}, signal).catch(() => ({ items: [] }))).items;

/** An input may have megabytes: it comes once, and again when something has changed. */
async function loadDetails(id: string, known: Found | undefined, signal: AbortSignal): Promise<JobDetails> {
  const path = `jobs/${encodeURIComponent(id)}`;
  if (!known) return get<JobDetails>(path, {}, signal);
  const found = await get<JobDetails>(path, { brief: true }, signal);
  if (found.job.updatedAt !== known.job.updatedAt || found.job.state !== known.job.state)
    return get<JobDetails>(path, {}, signal);
  const { input, result, headers, source } = known.job;
  return { ...found, job: { ...found.job, input, result, headers, source } };
}

export function JobPage({ id }: { id: string }): JSX.Element {
  const [everyMs, setEveryMs] = useState(3000);
  const details: Resource<Found> = useResource(`job ${id}`, (signal) => load(id, details.data, signal), everyMs);
  const job = details.data?.job;
  useEffect(() => setEveryMs(details.data === undefined ? 3000 : paceOf(details.data)), [details.data]);
  return (
    <>
      <PageHead
        above={
          <>
            <a href={to(["jobs"])}>Jobs</a>
            {job && (
              <>
                {" / "}
                <a href={to(["jobs"], { type: job.type })}>{details.data?.flow ? "Flows" : job.type}</a>
              </>
            )}
          </>
        }
        title={
          <>
            <bdi>{details.data?.flow ? (details.data.flow.name ?? "Flow") : (job?.type ?? "Job")}</bdi>{" "}
            <span class="mono muted">{id}</span>
          </>
        }
        beside={
          <>
            <Copy text={id} label="Copy the id" />
            {job && <Badge state={job.state} title={job.reason} />}
            {job?.reason && <span class="muted">{job.reason}</span>}
          </>
        }
        actions={mayProduce.value && job && <JobActs job={job} />}
      >
        {job?.discardedAt && (
          <p class="note">
            Discarded <Ago at={job.discardedAt} />: nobody will retry it.
          </p>
        )}
        {details.data && job?.state === "cancelled" && <Cancelled of={details.data} />}
        {details.data && <Why of={details.data.why} />}
      </PageHead>
      <Load of={details} lines={12}>
        {(found) => <Details of={found} />}
      </Load>
    </>
  );
}

/** Who cancelled it, and why, as far as it is known; one that never ran may have been ended by what it waited for. */
function Cancelled({ of: { job, attempts, decisions } }: { of: JobDetails }): JSX.Element {
  const { by = null, because = null } = decisions.findLast(({ action }) => action === "cancel") ?? {};
  const reason = because ?? (attempts.length === 0 ? errorText(job.lastError) : null);
  return (
    <p class="note">
      Cancelled <Ago at={job.finishedAt} />
      {by && (
        <>
          {" "}
          by <strong>{by}</strong>
        </>
      )}
      {reason ? (
        <>
          : <bdi>{reason}</bdi>
        </>
      ) : (
        "."
      )}
    </p>
  );
}

/** What went wrong comes before everything else, and leads to all that went wrong alike. */
function LastError({ of: { job, failure } }: { of: Found }): JSX.Element {
  return (
    <Panel
      title="Error"
      note={
        <>
          attempt {job.attempts}, <Ago at={job.finishedAt} />
        </>
      }
      actions={
        failure && (
          <>
            <a href={to(["jobs"], { state: "failed", failure })}>Jobs that failed alike</a>
            <a href={to(["failures"], { kind: failure })}>This kind of failure</a>
          </>
        )
      }
    >
      <ErrorText error={job.lastError} />
    </Panel>
  );
}

function JobActs({ job }: { job: Job }): JSX.Element {
  const isOpen = (job.state === "failed" || job.state === "expired") && job.discardedAt === null;
  return (
    <>
      {mayAct.value && (
        <>
          <Button kind={isOpen ? "main" : "plain"} disabled={!isOpen} onClick={() => perform(acts.retry(job))}>
            Retry
          </Button>
          <Button disabled={job.state !== "delayed" || job.stage !== null} onClick={() => perform(acts.runNow(job))}>
            Run now
          </Button>
          <Button disabled={!isOpen} onClick={() => perform(acts.discard(job))}>
            Discard
          </Button>
        </>
      )}
      <a class="button" href={to(["enqueue"], { from: job.id })}>
        Clone
      </a>
      <Button kind="danger" disabled={!isLive(job)} onClick={() => perform(acts.cancel(job))}>
        Cancel
      </Button>
    </>
  );
}

function Details({ of }: { of: Found }): JSX.Element {
  const { job, run, children, flow } = of;
  return (
    <>
      {(job.state === "failed" || job.state === "expired") && isTold(job.lastError) && <LastError of={of} />}
      {flow && <Flow flow={flow} />}
      <Panel title="Facts">
        <Facts
          of={[
            [
              "Queue",
              <a key="queue" href={to(["queues", job.queue])}>
                {job.queue}
              </a>,
            ],
            [
              "Type",
              <a key="type" href={to(["jobs"], { type: job.type })}>
                {job.type}
              </a>,
            ],
            ["Group", job.group && <a href={to(["jobs"], { group: job.group })}>{job.group}</a>],
            ["Tenant", job.tenant && <a href={to(["jobs"], { tenant: job.tenant })}>{job.tenant}</a>],
            ["Priority", String(job.priority)],
            [
              "Attempts",
              `${count(job.attempts)} of ${job.maxAttempts === "unlimited" ? "any number" : count(job.maxAttempts)}`,
            ],
            ["Cost", job.cost === 1 ? null : count(job.cost)],
            [
              "Started by",
              job.parent && (
                <a class="mono" href={to(["jobs", job.parent])}>
                  {job.parent}
                </a>
              ),
            ],
            ["Enqueued", <Moment key="enqueued" at={job.createdAt} />],
            ["Runs at", isLive(job) && job.state !== "suspended" && <Moment at={job.runAt} />],
            [
              "Waited",
              job.lastAttemptAt &&
                job.attempts === 1 &&
                duration((Date.parse(job.lastAttemptAt) - Date.parse(job.runAt)) / 1000),
            ],
            ["Finished", job.finishedAt && <Moment at={job.finishedAt} />],
            ["Worker", job.worker],
            ["Lease ends", job.state === "running" && <Ago at={job.leaseEndsAt} />],
            ["Attempt timeout", job.attemptTimeoutSeconds && duration(job.attemptTimeoutSeconds)],
            ["Expires", job.expiresAt && <Moment at={job.expiresAt} />],
            ["Deadline", job.deadline && <Moment at={job.deadline} />],
            ["Stage", job.stage],
            ["Fingerprint", job.fingerprint && <a href={to(["jobs"], { key: job.fingerprint })}>{job.fingerprint}</a>],
            ["Schedule", job.schedule && <a href={to(["schedules", job.schedule])}>{job.schedule}</a>],
            ["Slot", job.scheduleSlot && <Moment at={job.scheduleSlot} />],
          ]}
        />
      </Panel>
      {isTold(of.progress) && <Progress of={of.progress} />}
      {job.state === "running" && <LiveLog id={job.id} />}
      {!flow && (run.items.length > 0 || run.waits !== null) && (
        <div class="grid-2">
          <Steps job={job} run={run} isLive={isLive(job)} />
          <Children id={job.id} of={children} isLive={isLive(job)} />
        </div>
      )}
      <div class="grid-2">
        <Timeline of={of} />
        <div class="stack">
          <Payload job={job} />
          {isTold(job.result) && (
            <Panel title="Result">
              <JsonTree value={job.result} />
            </Panel>
          )}
          {isTold(job.headers) && (
            <Panel title="Headers">
              <JsonTree value={job.headers} />
            </Panel>
          )}
          {isTold(job.source) && (
            <Panel title="Where it came from">
              <JsonTree value={job.source} />
            </Panel>
          )}
        </div>
      </div>
    </>
  );
}
