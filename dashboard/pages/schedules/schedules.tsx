import type { JSX } from "preact";
import { CellFilter, cellColumn } from "../../cells.js";
import { count, duration } from "../../format.js";
import { perform } from "../../parts/act.js";
import { Badge } from "../../parts/badge.js";
import { Button } from "../../parts/button.js";
import { Empty } from "../../parts/empty.js";
import { Load } from "../../parts/load.js";
import { PageHead, Panel } from "../../parts/panel.js";
import { Table } from "../../parts/table.js";
import { Ago } from "../../parts/time.js";
import { to } from "../../router.js";
import { mayAct, mayProduce } from "../../session.js";
import type { Schedule } from "../../wire.js";
import { pause, resume } from "./acts.js";
import { Preview } from "./preview.js";
import { ruleText } from "./rule.js";
import { useSchedules } from "./use-schedules.js";

const example = `await mill.schedule("nightly", { cron: "0 3 * * *", tz: "Europe/Berlin" }, "report", { kind: "daily" });`;

export function Schedules(): JSX.Element {
  const schedules = useSchedules(5000);
  return (
    <>
      <PageHead
        title="Schedules"
        actions={
          mayProduce.value && (
            <a class="button" href={to(["new-schedule"])}>
              New schedule
            </a>
          )
        }
      >
        <CellFilter />
      </PageHead>
      <Panel title="All schedules" note={schedules.data && count(schedules.data.length)} flush>
        <Load of={schedules}>
          {(items) => (
            <Table
              caption="Schedules"
              rows={items}
              rowKey={({ name }) => name}
              sort={["Schedule", false]}
              columns={[
                {
                  head: "Schedule",
                  by: ({ name }) => name,
                  cell: ({ name }) => <a href={to(["schedules", name])}>{name}</a>,
                },
                cellColumn<Schedule>(({ cell }) => cell),
                {
                  head: "Health",
                  width: "90px",
                  by: ({ health }) => health,
                  cell: ({ health, message }) => <Badge state={health} title={message} />,
                },
                {
                  head: "Rule",
                  cell: ({ rule, description }) => <code title={description ?? ""}>{ruleText(rule)}</code>,
                },
                { head: "Type", rank: 3, by: ({ job }) => job.type, cell: ({ job }) => job.type },
                {
                  head: "Next",
                  end: true,
                  width: "90px",
                  by: ({ nextSlot }) => nextSlot,
                  cell: ({ nextSlot }) => <Ago at={nextSlot} />,
                },
                {
                  head: "Last success",
                  end: true,
                  width: "110px",
                  rank: 2,
                  by: (row) => row.lastSuccessAt,
                  cell: (row) => <Ago at={row.lastSuccessAt} />,
                },
                {
                  head: "Runs",
                  end: true,
                  width: "90px",
                  rank: 3,
                  by: ({ runs }) => runs,
                  cell: ({ runs }) => count(runs),
                },
                {
                  head: "Missed",
                  end: true,
                  width: "80px",
                  rank: 3,
                  by: ({ missed }) => missed,
                  cell: ({ missed }) => count(missed),
                },
                {
                  head: "Takes",
                  end: true,
                  width: "90px",
                  rank: 3,
                  by: (row) => row.averageSeconds,
                  cell: (row) => duration(row.averageSeconds),
                },
                mayAct.value && {
                  head: "Acts",
                  end: true,
                  width: "90px",
                  cell: (schedule) => {
                    const isPaused = schedule.pausedAt !== null || schedule.health === "stopped";
                    return (
                      <Button
                        small
                        label={`${isPaused ? "Resume" : "Pause"} ${schedule.name}`}
                        disabled={schedule.health === "finished"}
                        onClick={() => perform((isPaused ? resume : pause)(schedule))}
                      >
                        {isPaused ? "Resume" : "Pause"}
                      </Button>
                    );
                  },
                },
              ]}
              empty={
                <Empty title="No schedule yet" code={example}>
                  Schedules are declared in code, or with <code>millrace schedules put</code>. Any worker makes their
                  runs.
                </Empty>
              }
            />
          )}
        </Load>
      </Panel>
      <Preview />
    </>
  );
}
