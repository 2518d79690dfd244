import type { ClaimedJob, NewStep, StepRecord } from "../db/types.js";

/** The step that notes how long a call of the handler ran. No step of a handler has a name like this. */
const ranKey = "#ran";
/** Of the attempt timeout. A shorter call is not noted, so that an attempt has a hundred such notes at most. */
const noted = 0.01;

/** How long a job may run in one attempt; absent: as long as it likes. */
export const attemptTimeoutMs = ({ attemptTimeoutSeconds }: ClaimedJob): number | undefined =>
  attemptTimeoutSeconds === undefined ? undefined : attemptTimeoutSeconds * 1000;

/** How long earlier calls of the handler ran in the attempt that this job is at. */
export function ranBeforeMs(records: readonly StepRecord[], { attempt }: ClaimedJob): number {
  let ms = 0;
  for (const { key, about, seconds = 0 } of records)
    if (key === ranKey && about === String(attempt)) ms += seconds * 1000;
  return ms;
}

/**
 * To be noted when a call that ran so long is suspended: goes with what is suspended, and costs nothing else. Nothing
 * for jobs without an attempt timeout. It has the time of its claim as its number, because there is one note for each.
 */
export function ran(job: ClaimedJob, ms: number): readonly NewStep[] {
  const timeoutMs = attemptTimeoutMs(job);
  if (timeoutMs === undefined || ms < noted * timeoutMs) return [];
  return [{ key: ranKey, kind: "done", n: job.claimedAt.getTime(), ms, about: String(job.attempt) }];
}
