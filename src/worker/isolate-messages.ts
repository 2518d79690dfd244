import type { JobError } from "../db/types.js";
import type { Outcome } from "./outcome.js";

/** A function of the host that this side may call. */
export type HostFunction = number;

/** The steps that can be asked for from another thread or process. */
export type StepMethod = "run" | "sleep" | "sleepUntil" | "waitFor" | "token" | "call" | "map" | "mapSettled" | "start";

/** A definition as it travels: its input is checked where it was made. */
export interface SentDefinition {
  readonly type: string;
  readonly version: number;
  readonly defaults: object;
  readonly check: HostFunction;
}

/** An error as it travels. `stopped`: the run was told to stop, and this error tells nothing else. */
export type SentError = JobError & { readonly permanent: boolean; readonly stopped?: boolean };

/**
 * What the host is told. `seq` counts what concerns steps, so that the host can say how far it has come with it. `run`
 * tells calls of the handler apart: one that was suspended goes on nowhere, whatever it still says.
 */
export type ToHost =
  | { readonly kind: "run"; readonly run: number; readonly job: Readonly<Record<string, unknown>> }
  | { readonly kind: "abort"; readonly reason: string }
  | ({ readonly run: number; readonly seq: number } & (
      | { readonly kind: "stepped"; readonly call: number; readonly value: unknown }
      | {
          readonly kind: "stepFailed";
          readonly call: number;
          readonly error: Readonly<Record<string, unknown>>;
          /** Because the run was stopped. */
          readonly isStop: boolean;
        }
      | { readonly kind: "invoke"; readonly id: number; readonly fn: HostFunction; readonly argument: unknown }
    ));

/** What the host tells. */
export type FromHost =
  | { readonly kind: "ready" }
  | ({ readonly run: number } & (
      | { readonly kind: "returned"; readonly value: unknown }
      | { readonly kind: "decided"; readonly outcome: Outcome }
      | { readonly kind: "threw"; readonly error: SentError }
      | { readonly kind: "progress"; readonly value: unknown }
      | { readonly kind: "log"; readonly message: string }
      | { readonly kind: "step"; readonly call: number; readonly method: StepMethod; readonly args: readonly unknown[] }
      | { readonly kind: "await"; readonly call: number }
      | { readonly kind: "invoked"; readonly id: number; readonly value: unknown }
      | { readonly kind: "invokeFailed"; readonly id: number; readonly error: SentError }
      /** Its code has gone on as far as it can after the message `seq`; all that it wanted was sent. */
      | { readonly kind: "idle"; readonly seq: number }
    ));
