import type { JobId } from "./job.js";

/** Codes of reasons for waiting; docs/queue-states.md lists them. They stay what they are. */
export const reasonCodes = [
  "paused",
  "queueWaits",
  "breakerOpen",
  "breakerProbe",
  "limit",
  "rate",
  "ordered",
  "held",
  "noWorker",
  "behind",
  "next",
  "backlog",
  "time",
  "retry",
  "stage",
  "followUp",
  "signal",
  "children",
  "after",
  "sleep",
  "suspended",
] as const;

/** Whose limit or rate it is. */
export type LimitOwner = "queue" | "type" | "resource" | "group";

interface Facts {
  /** Of a queue, a type or a group: how many jobs it holds. */
  readonly jobs?: number;
  /** False when there are more. */
  readonly isExact?: boolean;
}

/** Why a job, or jobs of a queue, wait. Times are ISO texts. */
export type Reason = Facts &
  (
    | {
        /** Somebody has paused the queue, a type or a group of it; or a job that failed has (`jobId`). */
        readonly code: "paused";
        readonly type?: string;
        readonly group?: string;
        readonly by?: string;
        readonly because?: string;
        readonly since: string;
        readonly jobId?: JobId;
        /** So many more groups, beside those that are told one by one; the first of them since then. */
        readonly groups?: number;
      }
    | { readonly code: "queueWaits"; /** Queues that have not finished. */ readonly queues: readonly string[] }
    | {
        readonly code: "breakerOpen";
        readonly type: string;
        readonly since: string;
        /** When the next job is tried. */
        readonly until: string;
        readonly error?: string;
      }
    | { readonly code: "breakerProbe"; readonly type: string; readonly since: string }
    | {
        readonly code: "limit";
        readonly of: LimitOwner;
        readonly name?: string;
        readonly group?: string;
        readonly maxRunning: number;
        readonly running: number;
        /** How many units of a resource each job needs. */
        readonly needs?: number;
      }
    | {
        readonly code: "rate";
        readonly of: LimitOwner;
        readonly name?: string;
        readonly group?: string;
        readonly perSecond: number;
        /** When the next job may start. */
        readonly until: string;
      }
    | {
        /** One that goes first in the order cannot go yet. */
        readonly code: "ordered";
        readonly group?: string;
        readonly jobId: JobId;
        readonly state: "running" | "delayed" | "held";
        readonly until?: string;
      }
    | { /** An open transaction holds it. */ readonly code: "held" }
    | {
        /** No worker that is known takes the type; `held` of those that handle it are paused or drained. */
        readonly code: "noWorker";
        readonly type: string;
        readonly held?: number;
      }
    | {
        /** Others go first: `jobs`; `urgent` of them have a higher priority. */
        readonly code: "behind";
        readonly urgent?: number;
        readonly group?: string;
      }
    | { readonly code: "next"; readonly group?: string }
    | { /** Nothing holds them; so many run. */ readonly code: "backlog"; readonly running: number }
    | { readonly code: "time"; readonly until?: string }
    | { readonly code: "retry"; readonly until: string; readonly attempt: number }
    | { readonly code: "stage"; readonly stage: string }
    | { readonly code: "followUp"; readonly jobId: JobId; readonly fingerprint: string }
    | { readonly code: "signal"; readonly signals: readonly string[] }
    | { readonly code: "children"; readonly step: string; readonly of: number; readonly left?: number }
    | { readonly code: "after"; readonly left: number; readonly of: number; readonly when: string }
    | { readonly code: "sleep"; readonly until: string }
    | { readonly code: "suspended" }
  );
