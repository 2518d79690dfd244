import type { ComponentChildren, JSX } from "preact";
import { useId } from "preact/hooks";

interface Ids {
  readonly id: string;
  readonly "aria-describedby": string | undefined;
}

/** Something to fill in: its label names it, its hint describes it. */
export function Labelled({
  label,
  hint,
  needed,
  beside,
  children,
}: {
  label: string;
  hint?: ComponentChildren;
  needed?: boolean | undefined;
  /** The label stands beside it instead of above. */
  beside?: boolean;
  children: (ids: Ids) => ComponentChildren;
}): JSX.Element {
  const id = useId();
  const hintId = hint ? `${id}-hint` : undefined;
  const name = (
    <label htmlFor={id}>
      {label}
      {needed && <em aria-hidden="true"> (needed)</em>}
    </label>
  );
  return (
    <div class={beside ? "field field-check" : "field"}>
      {!beside && name}
      {children({ id, "aria-describedby": hintId })}
      {beside && name}
      {hint && <small id={hintId}>{hint}</small>}
    </div>
  );
}
