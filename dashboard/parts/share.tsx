import type { JSX } from "preact";

/** A part of a whole, from 0 to 1, as a bar and in words. */
export function Share({ of, text }: { of: number; text: string }): JSX.Element {
  return (
    <span class={of >= 1 ? "share share-full" : "share"} style={{ "--share": `${Math.min(1, of) * 100}%` }}>
      <i aria-hidden="true" />
      <span>{text}</span>
    </span>
  );
}
