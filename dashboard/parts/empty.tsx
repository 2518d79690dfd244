import type { ComponentChildren, JSX } from "preact";
import { Copy } from "./copy.js";

/** Nothing is here, and how that would change. */
export function Empty({
  title,
  code,
  children,
}: {
  title: string;
  code?: string;
  children?: ComponentChildren;
}): JSX.Element {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children !== undefined && <p>{children}</p>}
      {code !== undefined && (
        <div class="code-block">
          <Copy text={code} label="Copy the code" />
          <pre tabIndex={0}>
            <code>{code}</code>
          </pre>
        </div>
      )}
    </div>
  );
}
