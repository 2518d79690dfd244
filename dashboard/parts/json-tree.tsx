import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ExactInteger } from "../../src/db/exact-json.js";
import { plural } from "../format.js";
import type { Json } from "../wire.js";
import { Button } from "./button.js";

/** Of long lists and texts so much is shown at first. */
const maxEntries = 100;
const maxLetters = 2000;

/** A value as a tree. Branches are drawn when they are opened, so that large ones cost nothing. */
export function JsonTree({ value }: { value: Json }): JSX.Element {
  return (
    <div class="json">
      <Node value={value} depth={0} />
    </div>
  );
}

function Node({ name, value, depth }: { name?: string; value: Json; depth: number }): JSX.Element {
  const label = name === undefined ? null : <span class="json-name">{name}: </span>;
  if (value === null || typeof value !== "object" || value instanceof ExactInteger) {
    return (
      <div class="json-leaf">
        {label}
        <Leaf value={value} />
      </div>
    );
  }
  return <Branch label={label} value={value} depth={depth} />;
}

function Branch({
  label,
  value,
  depth,
}: {
  label: JSX.Element | null;
  value: readonly Json[] | { readonly [key: string]: Json };
  depth: number;
}): JSX.Element {
  const entries = Object.entries(value);
  const isList = Array.isArray(value);
  const [open, setOpen] = useState(depth < 2 && entries.length <= 50);
  const [most, setMost] = useState(maxEntries);
  if (entries.length === 0) {
    return (
      <div class="json-leaf">
        {label}
        <span class="muted">{isList ? "[]" : "{}"}</span>
      </div>
    );
  }
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {label}
        <span class="muted">
          {isList ? `[ ${plural(entries.length, "entry", "entries")} ]` : `{ ${plural(entries.length, "field")} }`}
        </span>
      </summary>
      {open && (
        <div class="json-branch">
          {entries.slice(0, most).map(([key, child]) => (
            <Node key={key} name={key} value={child} depth={depth + 1} />
          ))}
          {entries.length > most && (
            <Button small onClick={() => setMost(most + maxEntries * 10)}>
              Show more of {entries.length.toLocaleString("en")}
            </Button>
          )}
        </div>
      )}
    </details>
  );
}

function Leaf({ value }: { value: null | boolean | number | string | ExactInteger }): JSX.Element {
  const [whole, setWhole] = useState(false);
  if (typeof value !== "string") return <span class={value === null ? "muted" : "json-number"}>{String(value)}</span>;
  const cut = !whole && value.length > maxLetters;
  return (
    <span class="json-text">
      “{cut ? value.slice(0, maxLetters) : value}”
      {cut && (
        <Button small onClick={() => setWhole(true)}>
          Show all {value.length.toLocaleString("en")} letters
        </Button>
      )}
    </span>
  );
}
