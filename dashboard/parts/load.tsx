import type { ComponentChildren, JSX } from "preact";
import { ApiError } from "../api.js";
import { Button } from "./button.js";
import type { Resource } from "./resource.js";

/** Show what was answered; until then its shape, or what went wrong. An error beside old data is told above it. */
export function Load<T>({
  of,
  lines = 6,
  skeleton,
  children,
}: {
  of: Resource<T>;
  lines?: number;
  skeleton?: ComponentChildren;
  children: (data: T) => ComponentChildren;
}): JSX.Element {
  if (of.data === undefined && of.error === undefined) return <>{skeleton ?? <Skeleton lines={lines} />}</>;
  return (
    <>
      {of.error !== undefined && <Problem error={of.error} retry={of.reload} />}
      {of.data !== undefined && children(of.data)}
    </>
  );
}

/** The shape of what comes. */
export function Skeleton({ lines }: { lines: number }): JSX.Element {
  return (
    <div class="skeleton" aria-busy="true">
      <span class="sr">Loading…</span>
      {Array.from({ length: lines }, (_, line) => (
        <div key={line} class="skeleton-line" style={{ inlineSize: `${90 - ((line * 17) % 40)}%` }} />
      ))}
    </div>
  );
}

/** What went wrong, what to do about it, and what to quote when asking somebody. */
export function Problem({ error, retry }: { error: unknown; retry?: () => void }): JSX.Element {
  const known = error instanceof ApiError ? error : undefined;
  const message = error instanceof Error ? error.message : String(error);
  return (
    <div class="problem" role="alert">
      <p>
        <strong>{known?.code ?? "Something went wrong"}</strong> {message}
      </p>
      {known?.remedy && <p class="remedy">{known.remedy}</p>}
      <p class="problem-foot">
        {retry && (
          <Button small onClick={retry}>
            Try again
          </Button>
        )}
        {known?.requestId && (
          <span class="muted">
            request <code>{known.requestId}</code>
          </span>
        )}
      </p>
    </div>
  );
}
