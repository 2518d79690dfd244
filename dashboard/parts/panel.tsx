import type { ComponentChildren, JSX } from "preact";
import { useId } from "preact/hooks";

/** A part of a page with a heading, and what can be done there. */
export function Panel({
  title,
  note,
  actions,
  flush,
  children,
}: {
  title: string;
  note?: ComponentChildren;
  actions?: ComponentChildren;
  flush?: boolean;
  children: ComponentChildren;
}): JSX.Element {
  const id = useId();
  return (
    <section class="panel" aria-labelledby={id}>
      <header class="panel-head">
        <h2 id={id}>{title}</h2>
        {note !== undefined && <span class="muted panel-note">{note}</span>}
        {actions !== undefined && <div class="actions">{actions}</div>}
      </header>
      <div class={flush ? "panel-body panel-flush" : "panel-body"}>{children}</div>
    </section>
  );
}

/** The top of a page: where we are, what it is, what can be done with it. */
export function PageHead({
  title,
  above,
  beside,
  actions,
  children,
}: {
  title: ComponentChildren;
  above?: ComponentChildren;
  beside?: ComponentChildren;
  actions?: ComponentChildren;
  children?: ComponentChildren;
}): JSX.Element {
  return (
    <header class="page-head">
      {above !== undefined && <nav aria-label="Where this is">{above}</nav>}
      <div class="page-title">
        <h1 tabIndex={-1}>{title}</h1>
        {beside}
        {actions !== undefined && <div class="actions">{actions}</div>}
      </div>
      {children !== undefined && <div class="page-lead">{children}</div>}
    </header>
  );
}

/** Names and values. What is not set is left out. */
export function Facts({ of }: { of: readonly (readonly [name: string, value: ComponentChildren])[] }): JSX.Element {
  return (
    <dl class="facts">
      {of
        .filter(([, value]) => value !== null && value !== undefined && value !== false && value !== "")
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
