import type { JSX } from "preact";
import { now } from "../clock.js";
import { age, moment, none } from "../format.js";

/** How long ago, or in how long; the moment itself is in its title. */
export function Ago({ at }: { at: string | null | undefined }): JSX.Element {
  if (!at) return <span class="muted">{none}</span>;
  const seconds = Math.trunc((now.value - Date.parse(at)) / 1000);
  return (
    <time dateTime={at} title={moment(at)}>
      {seconds >= -1 ? `${age(seconds)} ago` : `in ${age(-seconds)}`}
    </time>
  );
}

/** The moment, in this browser's zone. */
export function Moment({ at }: { at: string | null | undefined }): JSX.Element {
  if (!at) return <span class="muted">{none}</span>;
  return (
    <time dateTime={at} title={at}>
      {moment(at)}
    </time>
  );
}
