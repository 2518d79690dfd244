/// <reference types="node" preserve="true" />
/// <reference lib="esnext.disposable" preserve="true" />
export { Engine, type EngineOptions } from "./db/engine.js";
export * from "./errors.js";
export type {
  FireTarget,
  PutSchedule,
  ScheduleChange,
  ScheduleEngine,
  ScheduleEvent,
  ScheduleHealth,
  SchedulePolicy,
  ScheduleRecord,
  ScheduleRunRecord,
  ScheduleStats,
} from "./db/schedule-engine.js";
export { type MigrateResult, migrate, migrationScript } from "./db/migrate.js";
export { type MigrateOptions, type MigrationStatus, checkSchema, migrationStatus } from "./db/schema-version.js";
export type { CallOptions, Database, Transaction } from "./db/foreign.js";
export type { ConnectionPool, PooledConnection, QueryResult, Queryable } from "./db/queryable.js";
export type {
  Answered,
  AttemptRecord,
  AuditRecord,
  BreakerOptions,
  BreakerRecord,
  BlockedPeriod,
  CancelFilter,
  CellLook,
  CellMember,
  HeldCell,
  ClaimOptions,
  ClaimedJob,
  CountFilter,
  DecisionNote,
  DecisionRecord,
  Defaults,
  DrainTimes,
  Depth,
  EnqueueOptions,
  Enqueued,
  ErrorRule,
  FailureFilter,
  FailureGroup,
  FailureRetry,
  FailuresRetried,
  FindFilter,
  Found,
  GroupDepth,
  GroupOptions,
  Rate,
  ResourceOptions,
  LimitRecord,
  GroupRecord,
  Held,
  EnqueuedFlow,
  FlowGraph,
  FlowTarget,
  FlowWhen,
  NewFlowJob,
  NewStep,
  RunSteps,
  StepKind,
  StepRecord,
  Wait,
  WaitedJob,
  JobCounts,
  ChildRecord,
  JobDetails,
  JobStep,
  JobStepsFilter,
  JobWaits,
  JobError,
  JobId,
  JobLog,
  JobOutcome,
  JobRecord,
  JobState,
  Json,
  ListFilter,
  LiveSample,
  LiveSampleOptions,
  MaintenanceReport,
  NewJob,
  PauseRecord,
  QueueEvent,
  PurgeStep,
  PurgeStepped,
  QueuePart,
  QueueRecord,
  CellGroup,
  LimitOwner,
  Reason,
  Replay,
  Replayed,
  QueueState,
  Retention,
  RetryPolicy,
  RunStats,
  RunStatsFilter,
  RunningJob,
  Settlement,
  SpaceReport,
  StageRecord,
  TypeDepth,
  DeclaredType,
  DeclaredWorker,
  DefinitionRecord,
  ProcessFacts,
  AlertEvent,
  AlertKind,
  AlertRecord,
  AlertRule,
  AlertRuleRecord,
  HistoryPoint,
  HookRecord,
  ObeyedOrder,
  ProcessRecord,
  ProcessState,
  UnhandledType,
  WorkerOrder,
  WorkerRecord,
  WorkerTarget,
} from "./db/types.js";
export { type WhyPart, type WhyWords, whyText } from "./db/why-text.js";
export { type EmbeddedServer, type EmbeddedServerOptions, startEmbeddedServer } from "./embedded/server.js";
export { Maintainer, type MaintainerOptions } from "./maintenance/maintainer.js";
export {
  type AnyJobDefinition,
  type JobDefinition,
  type JobDefinitionOptions,
  type Upcast,
  defineJob,
} from "./job/define-job.js";
export type { Duration, DurationParts } from "./job/duration.js";
export type { Codec, CodecKind, EnqueueCall, Middleware, RunCall, RunningCallJob } from "./job/middleware.js";
export type { JobDefaults, JobOptions, RetryDelay } from "./job/job-options.js";
export type { CellOptions, QueueBreaker, QueueErrorRule, QueueOptions, TypeOptions } from "./job/queue-options.js";
export type { PartialAnswer } from "./cells/ask.js";
export type { CellRecord, Cells, DrainResult, Rehearsal } from "./cells/cells.js";
export type { MemberState } from "./cells/members.js";
export type { CellFinding } from "./cells/move-doctor.js";
export type { DrainOptions, DrainPlan, EmptyQueue } from "./cells/move-drain.js";
export type { MoveOptions, MovePlan, MoveProgress, MoveResult } from "./cells/move.js";
export type { RemovePlan } from "./cells/remove.js";
export type { CellConnections } from "./cells/open-cells.js";
export type { TxOptions } from "./client/call.js";
export type { DurationsFilter, Jobs } from "./client/jobs.js";
export { Flow, type FlowJob, type FlowJobOptions, type FlowOptions } from "./client/flow.js";
export type {
  EnqueueCallOptions,
  HistoryOptions,
  ResultOptions,
  SignalTarget,
  TellOptions,
} from "./client/millrace.js";
export type { MillraceOptions } from "./client/millrace-options.js";
export { Millrace } from "./client/with-workers.js";
export type { EventsOptions, Queues } from "./client/queues.js";
export type { ScheduleOptions, Scheduled, Schedules } from "./client/schedules.js";
export type { Resources } from "./client/resources.js";
export type { Types } from "./client/types.js";
export type { Cell } from "./client/cell.js";
export type { Alerts } from "./client/alerts.js";
export type { WebHookOptions } from "./client/web-hook.js";
export type { Workers } from "./client/workers.js";
export type { SchemaInput, SchemaOutput, StandardSchema } from "./job/standard-schema.js";
export type { Logger } from "./observe/logger.js";
export { type Labels, type MetricName, type Metrics, metricNames } from "./observe/metrics.js";
export { type OpenTelemetryApi, openTelemetryMetrics, openTelemetryTracing } from "./observe/opentelemetry.js";
export { PrometheusMetrics } from "./observe/prometheus.js";
export type { Tracing } from "./observe/tracing.js";
export type {
  AfterRule,
  AtRule,
  CronRule,
  DaylightSaving,
  EveryRule,
  Moment,
  RecurrenceRule,
  RuleInput,
  RuleOptions,
  TimesRule,
} from "./schedule/rule.js";
export { Scheduler, type SchedulerOptions } from "./schedule/scheduler.js";
export type {
  ChildOptions,
  Signal,
  Step,
  StepContext,
  StepOptions,
  TokenOptions,
  TransactionOf,
  WaitOptions,
} from "./steps/step.js";
export type { StepEnd, StepTry, StepWork } from "./steps/observer.js";
export type {
  BatchHandler,
  BatchHandlerOptions,
  CompleteOptions,
  Context,
  Handler,
  HandlerOptions,
  Job,
} from "./worker/handler.js";
export { type IsolateOptions, type IsolatedHandler, inProcesses, inThreads } from "./worker/isolate.js";
export { type Decision, failed, release, retryLater } from "./worker/outcome.js";
export { PermanentError } from "./job/permanent-error.js";
export type { WorkerOptions } from "./worker/worker-options.js";
export { Worker } from "./worker/worker.js";
export type { WorkerEvents } from "./worker/worker-events.js";
