import type { JSX } from "preact";
import { errorParts } from "./told.js";

/** What went wrong, and where it was thrown. */
export function ErrorText({ error }: { error: unknown }): JSX.Element {
  const { kind, message, stack } = errorParts(error);
  const long = message.length > 500;
  return (
    <div>
      <p class="bad error-text" tabIndex={long ? 0 : undefined}>
        {kind} {message}
      </p>
      {stack && (
        <details>
          <summary>Stack</summary>
          <pre class="block" tabIndex={0}>
            {stack}
          </pre>
        </details>
      )}
    </div>
  );
}
