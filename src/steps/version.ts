import type { NewStep, StepRecord } from "../db/types.js";

/** The step that notes with which version of its handler a run began. No step of a handler has a name like this. */
const versionKey = "#version";

/** Whether a run has done anything yet. Signals may have come before, and jobs have ended that it had to wait for. */
export const hasBegun = (records: readonly StepRecord[]): boolean =>
  records.some(({ kind }) => kind !== "signal" && kind !== "ended");

/** The version that a run began with; 1 where nothing is noted. */
export function versionOf(records: readonly StepRecord[]): number {
  const noted = records.find(({ key, kind }) => key === versionKey && kind === "done");
  return noted === undefined ? 1 : Number(noted.value);
}

/** To be noted with the first step of a run. */
export const began = (version: number): NewStep => ({ key: versionKey, kind: "done", json: String(version) });

/** Somebody had the run who has no handler for its version; the doctor tells. */
export const unhandled = (version: number): NewStep => ({ key: versionKey, kind: "try", n: version });
