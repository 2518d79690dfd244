import type { JSX } from "preact";
import { exactText, parseExact } from "../../src/db/exact-json.js";
import { Labelled } from "./labelled.js";

/** JSON that somebody writes: undefined when it is empty, and why when it is none. */
export function readJson(text: string): { readonly value?: unknown; readonly wrong?: string } {
  if (text.trim() === "") return {};
  try {
    return { value: parseExact(text) };
  } catch (error) {
    return { wrong: (error as Error).message };
  }
}

export const writeJson = (value: unknown): string =>
  value === null || value === undefined ? "" : (exactText(value, undefined, 2) ?? "");

/** A place for JSON, which says at once when it is none. */
export function JsonField({
  label,
  hint,
  value,
  rows = 8,
  onChange,
}: {
  label: string;
  hint?: string;
  value: string;
  rows?: number;
  onChange: (value: string) => void;
}): JSX.Element {
  const { wrong } = readJson(value);
  return (
    <Labelled label={label} hint={wrong === undefined ? hint : `This is not JSON: ${wrong}`}>
      {(ids) => (
        <textarea
          {...ids}
          class="mono"
          rows={rows}
          spellcheck={false}
          aria-invalid={wrong !== undefined}
          value={value}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      )}
    </Labelled>
  );
}
