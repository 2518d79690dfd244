import type { Command, CommandGroup } from "./command.js";
import { breakersCommand } from "./commands/breakers.js";
import { breakersResetCommand } from "./commands/breakers-reset.js";
import { cellsCommand, cellsListCommand } from "./commands/cells.js";
import { cellsAddCommand } from "./commands/cells-add.js";
import { cellsAnchorCommand } from "./commands/cells-anchor.js";
import { cellsDoctorCommand } from "./commands/cells-doctor.js";
import { cellsDrainCommand } from "./commands/cells-drain.js";
import { cellsMoveCommand } from "./commands/cells-move.js";
import { cellsRemoveCommand } from "./commands/cells-remove.js";
import { completionCommand } from "./commands/completion.js";
import { demoCommand } from "./commands/demo.js";
import { devCommand } from "./commands/dev.js";
import { doctorCommand } from "./commands/doctor.js";
import { enqueueCommand } from "./commands/enqueue.js";
import { limitsCommand } from "./commands/limits.js";
import { limitsPutCommand } from "./commands/limits-put.js";
import { failuresCommand } from "./commands/failures.js";
import { failuresRetryCommand } from "./commands/failures-retry.js";
import { jobsCancelCommand } from "./commands/jobs-cancel.js";
import { jobsDiscardCommand } from "./commands/jobs-discard.js";
import { jobsLogCommand } from "./commands/jobs-log.js";
import { jobsRetryCommand } from "./commands/jobs-retry.js";
import { jobsRunNowCommand } from "./commands/jobs-run-now.js";
import { jobsShowCommand } from "./commands/jobs-show.js";
import { flowsEnqueueCommand } from "./commands/flows-enqueue.js";
import { flowsCommand } from "./commands/flows.js";
import { flowsShowCommand } from "./commands/flows-show.js";
import { jobsRewindCommand } from "./commands/jobs-rewind.js";
import { jobsStepsCommand } from "./commands/jobs-steps.js";
import { jobsCommand } from "./commands/jobs.js";
import { migrateCommand } from "./commands/migrate.js";
import { groupsCommand } from "./commands/groups.js";
import { groupsPutCommand } from "./commands/groups-put.js";
import { queuesGroupsCommand } from "./commands/queues-groups.js";
import { queuesCloseCommand } from "./commands/queues-close.js";
import { queuesEventsCommand } from "./commands/queues-events.js";
import { queuesOpenCommand } from "./commands/queues-open.js";
import { queuesPauseCommand } from "./commands/queues-pause.js";
import { queuesPurgeCommand } from "./commands/queues-purge.js";
import { queuesPutCommand } from "./commands/queues-put.js";
import { queuesResumeCommand } from "./commands/queues-resume.js";
import { queuesWaitCommand } from "./commands/queues-wait.js";
import { queuesSetAsideCommand } from "./commands/queues-set-aside.js";
import { queuesShedCommand } from "./commands/queues-shed.js";
import { queuesShowCommand } from "./commands/queues-show.js";
import { queuesCommand } from "./commands/queues.js";
import { repairCommand } from "./commands/repair.js";
import { jobsReplayCommand } from "./commands/jobs-replay.js";
import { schedulesCommand, schedulesListCommand } from "./commands/schedules.js";
import { schedulesShowCommand } from "./commands/schedules-show.js";
import { schedulesNextCommand } from "./commands/schedules-next.js";
import { schedulesPutCommand } from "./commands/schedules-put.js";
import { schedulesPauseCommand } from "./commands/schedules-pause.js";
import { schedulesResumeCommand } from "./commands/schedules-resume.js";
import { schedulesTriggerCommand } from "./commands/schedules-trigger.js";
import { schedulesBackfillCommand } from "./commands/schedules-backfill.js";
import { schedulesRemoveCommand } from "./commands/schedules-remove.js";
import { calendarsCommand } from "./commands/calendars.js";
import { calendarsPutCommand } from "./commands/calendars-put.js";
import { serveCommand } from "./commands/serve.js";
import { stagesCancelCommand } from "./commands/stages-cancel.js";
import { stagesReleaseCommand } from "./commands/stages-release.js";
import { stagesCommand } from "./commands/stages.js";
import { answerCommand } from "./commands/answer.js";
import { tellCommand } from "./commands/tell.js";
import { tokensCommand } from "./commands/tokens.js";
import { tokensNewCommand } from "./commands/tokens-new.js";
import { topCommand } from "./commands/top.js";
import { workCommand } from "./commands/work.js";
import { alertsCommand } from "./commands/alerts.js";
import { alertsRulesCommand } from "./commands/alerts-rules.js";
import { alertsPutCommand } from "./commands/alerts-put.js";
import { alertsRemoveCommand } from "./commands/alerts-remove.js";
import { alertsSilenceCommand } from "./commands/alerts-silence.js";
import { alertsEventsCommand } from "./commands/alerts-events.js";
import { alertsHooksCommand } from "./commands/alerts-hooks.js";
import { alertsHookPutCommand } from "./commands/alerts-hook-put.js";
import { alertsHookRemoveCommand } from "./commands/alerts-hook-remove.js";
import { alertsHookTestCommand } from "./commands/alerts-hook-test.js";
import { historyCommand } from "./commands/history.js";
import { workersCommand } from "./commands/workers.js";
import { workersPauseCommand } from "./commands/workers-pause.js";
import { workersDrainCommand } from "./commands/workers-drain.js";
import { workersResumeCommand } from "./commands/workers-resume.js";
import { workersConcurrencyCommand } from "./commands/workers-concurrency.js";

/** Every command by what it is for, in the order of help and docs. */
export const commandGroups: readonly CommandGroup[] = [
  { title: "Start", commands: [devCommand, demoCommand, migrateCommand, enqueueCommand, workCommand, serveCommand] },
  {
    title: "Jobs",
    commands: [
      jobsCommand,
      jobsShowCommand,
      jobsLogCommand,
      jobsStepsCommand,
      jobsCancelCommand,
      jobsRetryCommand,
      jobsDiscardCommand,
      jobsRunNowCommand,
      jobsRewindCommand,
      jobsReplayCommand,
      tellCommand,
      answerCommand,
      flowsCommand,
      flowsShowCommand,
      flowsEnqueueCommand,
    ],
  },
  {
    title: "Failures",
    commands: [failuresCommand, failuresRetryCommand, breakersCommand, breakersResetCommand],
  },
  {
    title: "Queues",
    commands: [
      queuesCommand,
      queuesShowCommand,
      queuesPutCommand,
      queuesPauseCommand,
      queuesResumeCommand,
      queuesCloseCommand,
      queuesOpenCommand,
      queuesWaitCommand,
      queuesEventsCommand,
      queuesPurgeCommand,
      queuesShedCommand,
      queuesSetAsideCommand,
      stagesCommand,
      stagesReleaseCommand,
      stagesCancelCommand,
    ],
  },
  {
    title: "Sharing and limits",
    commands: [queuesGroupsCommand, groupsCommand, groupsPutCommand, limitsCommand, limitsPutCommand],
  },
  {
    title: "Workers",
    commands: [
      workersCommand,
      workersPauseCommand,
      workersDrainCommand,
      workersResumeCommand,
      workersConcurrencyCommand,
    ],
  },
  {
    title: "Alerts",
    commands: [
      alertsCommand,
      alertsRulesCommand,
      alertsPutCommand,
      alertsRemoveCommand,
      alertsSilenceCommand,
      alertsEventsCommand,
      alertsHooksCommand,
      alertsHookPutCommand,
      alertsHookRemoveCommand,
      alertsHookTestCommand,
    ],
  },
  {
    title: "Schedules",
    commands: [
      schedulesCommand,
      schedulesListCommand,
      schedulesShowCommand,
      schedulesNextCommand,
      schedulesPutCommand,
      schedulesPauseCommand,
      schedulesResumeCommand,
      schedulesTriggerCommand,
      schedulesBackfillCommand,
      schedulesRemoveCommand,
      calendarsCommand,
      calendarsPutCommand,
    ],
  },
  {
    title: "Cells",
    commands: [
      cellsCommand,
      cellsListCommand,
      cellsAddCommand,
      cellsMoveCommand,
      cellsDrainCommand,
      cellsRemoveCommand,
      cellsAnchorCommand,
      cellsDoctorCommand,
    ],
  },
  {
    title: "Operate",
    commands: [
      topCommand,
      historyCommand,
      doctorCommand,
      repairCommand,
      tokensCommand,
      tokensNewCommand,
      completionCommand,
    ],
  },
];

export const commands: readonly Command[] = commandGroups.flatMap((group) => group.commands);
