import type { Action, Input, Output } from "./wire/model.js";

/** What an action knows of its request beside its input. */
export interface ActionContext {
  /** What queue URLs begin with: scheme, host and prefix as the client sees them. */
  readonly baseUrl: string;
  readonly account: string;
  readonly region: string;
  readonly protocol: "json" | "query";
  /** The queue that the path names, where a request has no QueueUrl. */
  readonly pathQueue?: string | undefined;
  /** The header `X-Amzn-Trace-Id`. */
  readonly traceHeader?: string | undefined;
  /** Fires when the client has gone. */
  readonly signal: AbortSignal;
  /** Fires when the server stops. */
  readonly stopping: AbortSignal;
}

/** One action. */
export type ActionHandler<A extends Action> = (input: Input<A>, context: ActionContext) => Promise<Output<A>>;
/** All of them by name. */
export type ActionHandlers = { readonly [A in Action]: ActionHandler<A> };
