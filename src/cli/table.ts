import type { Command, CommandGroup } from "./command.js";
import { breakersCommand } from "./commands/breakers.js";
import { breakersResetCommand } from "./commands/breakers-reset.js";
import { completionCommand } from "./commands/completion.js";
import { demoCommand } from "./commands/demo.js";
import { devCommand } from "./commands/dev.js";
import { doctorCommand } from "./commands/doctor.js";
import { enqueueCommand } from "./commands/enqueue.js";
import { limitsCommand } from "./commands/limits.js";
import { limitsSetCommand } from "./commands/limits-set.js";
import { failuresCommand } from "./commands/failures.js";
import { failuresRetryCommand } from "./commands/failures-retry.js";
import { jobsCancelCommand } from "./commands/jobs-cancel.js";
import { jobsDiscardCommand } from "./commands/jobs-discard.js";
import { jobsRetryCommand } from "./commands/jobs-retry.js";
import { jobsShowCommand } from "./commands/jobs-show.js";
import { flowEnqueueCommand } from "./commands/flow-enqueue.js";
import { flowCommand } from "./commands/flow.js";
import { jobsRewindCommand } from "./commands/jobs-rewind.js";
import { jobsStepsCommand } from "./commands/jobs-steps.js";
import { jobsCommand } from "./commands/jobs.js";
import { migrateCommand } from "./commands/migrate.js";
import { groupsCommand } from "./commands/groups.js";
import { groupsPutCommand } from "./commands/groups-put.js";
import { groupsTopCommand } from "./commands/groups-top.js";
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
import { queuesCommand } from "./commands/queues.js";
import { repairCommand } from "./commands/repair.js";
import { replayCommand } from "./commands/replay.js";
import { schedulesCommand, schedulesListCommand } from "./commands/schedules.js";
import { schedulesShowCommand } from "./commands/schedules-show.js";
import { schedulesNextCommand } from "./commands/schedules-next.js";
import { schedulesPutCommand } from "./commands/schedules-put.js";
import { schedulesPauseCommand } from "./commands/schedules-pause.js";
import { schedulesResumeCommand } from "./commands/schedules-resume.js";
import { schedulesRunCommand } from "./commands/schedules-run.js";
import { schedulesBackfillCommand } from "./commands/schedules-backfill.js";
import { schedulesRemoveCommand } from "./commands/schedules-remove.js";
import { schedulesCalendarCommand } from "./commands/schedules-calendar.js";
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

/** Every command by what it is for, in the order of help and docs. */
export const commandGroups: readonly CommandGroup[] = [
  { title: "Start", commands: [devCommand, demoCommand, migrateCommand, enqueueCommand, workCommand, serveCommand] },
  {
    title: "Jobs",
    commands: [
      jobsCommand,
      jobsShowCommand,
      jobsStepsCommand,
      jobsCancelCommand,
      jobsRetryCommand,
      jobsDiscardCommand,
      jobsRewindCommand,
      tellCommand,
      answerCommand,
      flowCommand,
      flowEnqueueCommand,
    ],
  },
  {
    title: "Failures",
    commands: [failuresCommand, failuresRetryCommand, replayCommand, breakersCommand, breakersResetCommand],
  },
  {
    title: "Queues",
    commands: [
      queuesCommand,
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
    commands: [groupsCommand, groupsTopCommand, groupsPutCommand, limitsCommand, limitsSetCommand],
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
      schedulesRunCommand,
      schedulesBackfillCommand,
      schedulesRemoveCommand,
      schedulesCalendarCommand,
    ],
  },
  {
    title: "Operate",
    commands: [topCommand, doctorCommand, repairCommand, tokensCommand, tokensNewCommand, completionCommand],
  },
];

export const commands: readonly Command[] = commandGroups.flatMap((group) => group.commands);
