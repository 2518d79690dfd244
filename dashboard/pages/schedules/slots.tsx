import { Ago, Moment } from "../../parts/time.js";

/** The times of runs to come. */
export function Slots({ times }: { readonly times: readonly string[] }) {
  return (
    <ol class="slots" aria-label="Next runs">
      {times.map((at) => (
        <li key={at}>
          <Moment at={at} />{" "}
          <span class="muted">
            <Ago at={at} />
          </span>
        </li>
      ))}
    </ol>
  );
}
