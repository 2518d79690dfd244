import type { ComponentChildren, JSX } from "preact";
import { useEffect } from "preact/hooks";
import { errorText } from "../../../src/db/error-text.js";
import { get } from "../../api.js";
import { cellColumn } from "../../cells.js";
import { count, none } from "../../format.js";
import { perform } from "../../parts/act.js";
import { Badge } from "../../parts/badge.js";
import { Button } from "../../parts/button.js";
import { useResource } from "../../parts/resource.js";
import { type Choosing, Table } from "../../parts/table.js";
import { Ago } from "../../parts/time.js";
import { to } from "../../router.js";
import { sawTypes } from "../../search/seen.js";
import { mayAct } from "../../session.js";
import type { Job, Json, List, RunningJob } from "../../wire.js";
import { retry } from "./acts.js";
import { progressText } from "./progress.js";

export function JobTable({
  jobs,
  empty,
  choosing,
}: {
  jobs: readonly Job[];
  empty: ComponentChildren;
  choosing?: Choosing<Job> | undefined;
}): JSX.Element {
  useEffect(() => sawTypes(jobs.map(({ type }) => type)), [jobs]);
  const progress = useProgress(jobs);
  return (
    <Table
      caption="Jobs"
      rows={jobs}
      rowKey={({ id }) => id}
      choosing={choosing}
      columns={[
        {
          head: "Job",
          width: "190px",
          cell: ({ id }) => (
            <a class="mono" href={to(["jobs", id])}>
              {id}
            </a>
          ),
        },
        {
          head: "State",
          width: "100px",
          card: "bare",
          cell: ({ state, reason }) => <Badge state={state} title={reason} />,
        },
        { head: "Type", card: "bare", cell: ({ type }) => <Named name={type} /> },
        {
          head: "Queue",
          rank: 2,
          cell: ({ queue }) => (
            <a href={to(["queues", queue])}>
              <bdi>{queue}</bdi>
            </a>
          ),
        },
        cellColumn<Job>(({ cell }) => cell, 3),
        {
          head: "Group",
          rank: 3,
          card: "none",
          cell: ({ group, tenant }) => <Named name={group ?? tenant} />,
        },
        {
          head: "Attempts",
          end: true,
          width: "80px",
          rank: 2,
          cell: ({ attempts, maxAttempts }) =>
            `${count(attempts)}/${maxAttempts === "unlimited" ? "∞" : count(maxAttempts)}`,
        },
        { head: "Enqueued", end: true, width: "100px", cell: ({ createdAt }) => <Ago at={createdAt} /> },
        {
          head: "Last error",
          rank: 3,
          rest: true,
          card: "wide",
          cell: (job) => <Remark job={job} progress={progress.get(job.id)} />,
        },
        mayAct.value &&
          jobs.some(isOpen) && {
            head: "Acts",
            end: true,
            width: "80px",
            card: "bare",
            cell: (job) =>
              isOpen(job) && (
                <Button small label={`Retry ${job.type} ${job.id}`} onClick={() => perform(retry(job))}>
                  Retry
                </Button>
              ),
          },
      ]}
      empty={empty}
    />
  );
}

/** Nobody has retried or discarded it yet. */
const isOpen = ({ state, discardedAt }: Job): boolean =>
  (state === "failed" || state === "expired") && discardedAt === null;

function Named({ name }: { name: string | null }): JSX.Element {
  if (name === null) return <span class="muted">{none}</span>;
  return (
    <bdi class="name" title={name.slice(0, 1000)}>
      {name}
    </bdi>
  );
}

/** What one wants to know first of a job: how far it is, or what went wrong with it. */
function Remark({ job, progress }: { job: Job; progress: Json | undefined }): JSX.Element | null {
  if (progress !== undefined && progress !== null) return <span class="cut">{progressText(progress)}</span>;
  const text = errorText(job.lastError);
  return text ? <bdi class="cut error-cell">{text}</bdi> : null;
}

/** What running jobs of the list have left for others to see. */
function useProgress(jobs: readonly Job[]): ReadonlyMap<string, Json> {
  const ids = jobs.filter(({ state }) => state === "running").map(({ id }) => id);
  const running = useResource(
    `progress ${ids.join()}`,
    async (signal) => {
      if (ids.length === 0) return new Map<string, Json>();
      const { items } = await get<List<RunningJob>>("running", { limit: 1000, ids: ids.join() }, signal);
      return new Map(items.map(({ id, progress }) => [id, progress]));
    },
    ids.length === 0 ? undefined : 5000,
  );
  return running.data ?? new Map();
}
