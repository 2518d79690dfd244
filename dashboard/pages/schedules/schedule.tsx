import type { JSX } from "preact";
import { errorText } from "../../../src/db/error-text.js";
import { get, segment } from "../../api.js";
import { count, duration, none } from "../../format.js";
import { perform } from "../../parts/act.js";
import { Badge } from "../../parts/badge.js";
import { Button } from "../../parts/button.js";
import { Empty } from "../../parts/empty.js";
import { isolated } from "../../parts/isolated.js";
import { JsonTree } from "../../parts/json-tree.js";
import { Load } from "../../parts/load.js";
import { Facts, PageHead, Panel } from "../../parts/panel.js";
import { type Resource, useResource } from "../../parts/resource.js";
import { Table } from "../../parts/table.js";
import { Ago, Moment } from "../../parts/time.js";
import { Why } from "../../parts/why.js";
import { Slots } from "./slots.js";
import { to } from "../../router.js";
import { mayAct, mayProduce } from "../../session.js";
import type { EventOfSchedule, List, Reason, Schedule, ScheduleRun } from "../../wire.js";
import { backfill, pause, remove, resume, run } from "./acts.js";
import { ruleText } from "./rule.js";

export function SchedulePage({ name }: { name: string }): JSX.Element {
  const path = `schedules/${segment(name)}`;
  const schedule: Resource<Schedule> = useResource(
    `schedule ${name}`,
    (signal) => loadSchedule(path, schedule.data, signal),
    5000,
  );
  const found = schedule.data;
  return (
    <>
      <PageHead
        above={<a href={to(["schedules"])}>Schedules</a>}
        title={name}
        beside={found && <Badge state={found.health} title={found.message} />}
        actions={mayProduce.value && found && <ScheduleActs schedule={found} />}
      >
        {found?.pausedAt && (
          <p class="note">
            Paused <Ago at={found.pausedAt} /> {found.pausedBy && `by ${isolated(found.pausedBy)}`}
            {found.pausedBecause && `: ${isolated(found.pausedBecause)}`}
          </p>
        )}
        {found?.message && <p class="note">{found.message}</p>}
        {found?.health === "blocked" && found.openJobs[0] && <RunWhy job={found.openJobs[0]} />}
      </PageHead>
      <Load of={schedule} lines={8}>
        {(one) => (
          <>
            <ScheduleFacts of={one} />
            <div class="grid-2">
              <Runs path={path} />
              <div class="stack">
                <Next path={path} />
                <Panel title="Declared">
                  <JsonTree
                    value={{ rule: one.rule, job: one.job as never, input: one.input, options: one.options as never }}
                  />
                </Panel>
                <ScheduleEvents path={path} />
              </div>
            </div>
          </>
        )}
      </Load>
    </>
  );
}

/** An input may have a megabyte: it comes once, and again when it was declared anew. */
async function loadSchedule(path: string, known: Schedule | undefined, signal: AbortSignal): Promise<Schedule> {
  const found = known && (await get<Schedule>(path, { brief: true }, signal));
  return found && found.revision === known.revision && found.createdAt === known.createdAt
    ? { ...found, input: known.input }
    : get<Schedule>(path, {}, signal);
}

/** What holds its run back. */
function RunWhy({ job }: { job: string }): JSX.Element {
  const why = useResource(`why ${job}`, (signal) => get<List<Reason>>(`jobs/${job}/why`, {}, signal), 5000);
  return <Why of={why.data?.items ?? []} />;
}

function ScheduleActs({ schedule }: { schedule: Schedule }): JSX.Element {
  const isPaused = schedule.pausedAt !== null || schedule.health === "stopped";
  const finished = schedule.health === "finished";
  const edit = (
    <a class="button" href={to(["schedules", schedule.name, "edit"])}>
      Edit
    </a>
  );
  if (!mayAct.value) return edit;
  return (
    <>
      <Button onClick={() => perform(run(schedule))}>Run now</Button>
      <Button
        kind={isPaused ? "main" : "plain"}
        disabled={finished}
        onClick={() => perform((isPaused ? resume : pause)(schedule))}
      >
        {isPaused ? "Resume" : "Pause"}
      </Button>
      <Button onClick={() => perform(backfill(schedule))}>Backfill</Button>
      {edit}
      <Button kind="danger" onClick={() => perform(remove(schedule))}>
        Remove
      </Button>
    </>
  );
}

function ScheduleFacts({ of }: { of: Schedule }): JSX.Element {
  return (
    <Panel title="Facts">
      <Facts
        of={[
          ["Rule", <code key="rule">{ruleText(of.rule)}</code>],
          ["In words", of.description],
          [
            "Type",
            <a key="type" href={to(["jobs"], { type: of.job.type })}>
              {of.job.type}
            </a>,
          ],
          ["Queue", of.job.queue && <a href={to(["queues", of.job.queue])}>{of.job.queue}</a>],
          ["Next slot", <Ago key="next" at={of.nextSlot} />],
          ["Next attempt", of.nextAttemptAt && <Ago at={of.nextAttemptAt} />],
          ["Last slot", <Ago key="last" at={of.lastSlot} />],
          ["Last success", <Ago key="success" at={of.lastSuccessAt} />],
          ["Runs", `${count(of.succeeded)} of ${count(of.runs)} succeeded`],
          ["Failed since", of.failedRuns > 0 && `${count(of.failedRuns)} runs, ${count(of.failedAttempts)} attempts`],
          ["Missed", count(of.missed)],
          ["Takes", `${duration(of.averageSeconds)} (last ${duration(of.lastSeconds)})`],
          ["Declared by", of.declaredBy ?? none],
          ["Changed", <Ago key="changed" at={of.changedAt} />],
        ]}
      />
    </Panel>
  );
}

function Runs({ path }: { path: string }): JSX.Element {
  const runs = useResource(`${path} runs`, (signal) => get<List<ScheduleRun>>(`${path}/runs`, {}, signal), 5000);
  return (
    <Panel title="Runs" flush>
      <Load of={runs}>
        {({ items }) => (
          <Table
            caption="Runs"
            rows={items}
            rowKey={({ jobId }) => jobId}
            columns={[
              {
                head: "Slot",
                cell: ({ slotAt, jobId }) => (
                  <a href={to(["jobs", jobId])}>
                    <Moment at={slotAt} />
                  </a>
                ),
              },
              { head: "Kind", width: "80px", rank: 3, cell: ({ kind }) => kind },
              {
                head: "Outcome",
                width: "100px",
                cell: ({ outcome, error }) =>
                  outcome ? (
                    <Badge state={outcome} title={errorText(error) || null} />
                  ) : (
                    <span class="muted">open</span>
                  ),
              },
              { head: "Attempts", end: true, width: "80px", rank: 2, cell: ({ attempts }) => count(attempts) },
              { head: "Took", end: true, width: "90px", cell: ({ seconds }) => duration(seconds) },
            ]}
            empty={<Empty title="No run yet" />}
          />
        )}
      </Load>
    </Panel>
  );
}

function Next({ path }: { path: string }): JSX.Element {
  const next = useResource(
    `${path} next`,
    async (signal) => (await get<List<string>>(`${path}/next`, { count: 10 }, signal)).items,
    30_000,
  );
  return (
    <Panel title="Next runs">
      <Load of={next} lines={4}>
        {(times) =>
          times.length === 0 ? <p class="muted">None: it is paused, or there are no more.</p> : <Slots times={times} />
        }
      </Load>
    </Panel>
  );
}

function ScheduleEvents({ path }: { path: string }): JSX.Element {
  const events = useResource(
    `${path} events`,
    (signal) => get<List<EventOfSchedule>>(`${path}/events`, {}, signal),
    15_000,
  );
  return (
    <Panel title="Events" flush>
      <Load of={events} lines={4}>
        {({ items }) => (
          <Table
            caption="Events"
            rows={items}
            rowKey={({ id }) => id}
            columns={[
              { head: "When", width: "160px", cell: ({ at }) => <Moment at={at} /> },
              { head: "Event", width: "100px", cell: ({ event, slots }) => `${event}${slots ? ` ${slots}` : ""}` },
              { head: "Who and why", cell: ({ by, because }) => [by, because].filter(Boolean).join(": ") },
            ]}
            empty={<Empty title="Nothing has happened to it" />}
          />
        )}
      </Load>
    </Panel>
  );
}
