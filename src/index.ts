export { Engine, type EngineOptions, type Held } from "./db/engine.js";
export {
  DatabaseUnavailableError,
  InvalidArgumentError,
  JobNotFoundError,
  LaneCollisionError,
  LeaseLostError,
  MillraceError,
  PayloadError,
  QueueNotFoundError,
  SchemaRestoredError,
  SchemaVersionError,
  WrongIsolationError,
} from "./db/errors.js";
export { type MigrateOptions, type MigrateResult, type MigrationStatus, checkSchema, migrate, migrationScript, migrationStatus } from "./db/migrate.js";
export type { CallOptions, ConnectionPool, PooledConnection, QueryResult, Queryable } from "./db/queryable.js";
export type {
  AttemptRecord,
  CancelFilter,
  ClaimOptions,
  ClaimedJob,
  Defaults,
  Depth,
  EnqueueOptions,
  Enqueued,
  JobDetails,
  JobError,
  JobId,
  JobOutcome,
  JobRecord,
  JobState,
  Json,
  ListFilter,
  MaintenanceReport,
  NewJob,
  Retention,
  RetryPolicy,
  Settlement,
  SpaceReport,
} from "./db/types.js";
export { type EmbeddedServer, type EmbeddedServerOptions, startEmbeddedServer } from "./embedded/server.js";
export { Maintainer, type MaintainerOptions } from "./maintenance/maintainer.js";
