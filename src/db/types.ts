/** What goes into the engine and comes out of it, by subject; this file is the one door to all of it. */
export type * from "./types/alerts.js";
export type * from "./types/claim.js";
export type * from "./types/enqueue.js";
export type * from "./types/failure.js";
export type * from "./types/find.js";
export type * from "./types/flow.js";
export type * from "./types/history.js";
export type * from "./types/job.js";
export type * from "./types/options.js";
export * from "./types/queue.js";
export type * from "./types/run.js";
export type * from "./types/server.js";
export type * from "./types/steps.js";
export type * from "./types/upkeep.js";
export * from "./types/why.js";
export type * from "./types/cells.js";
