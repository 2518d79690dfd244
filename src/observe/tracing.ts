/** The header that carries the trace of whoever enqueued a job, in the W3C form. */
export const traceHeader = "traceparent";

/** Joins a job's run to the trace of its enqueue. Without one, headers pass through untouched. */
export interface Tracing {
  /** The trace of the caller as a W3C `traceparent`, if there is one. */
  current(): string | undefined;
  /** Run `work` as a span below `parent`, or below the current one. */
  run<T>(
    span: {
      readonly name: string;
      readonly parent: string | undefined;
      readonly attributes: Readonly<Record<string, string | number>>;
    },
    work: () => Promise<T>,
  ): Promise<T>;
}
