import type { JSX } from "preact";
import { useId } from "preact/hooks";
import { useNames } from "../search/names.js";
import { Labelled } from "./labelled.js";

/** A line to fill in; with `names`, the server offers those it knows. */
export function TextField({
  label,
  hint,
  value,
  onChange,
  kind = "text",
  names,
  required,
  min,
  isMono,
}: {
  label: string;
  hint?: string;
  value: string;
  onChange: (value: string) => void;
  kind?: "text" | "number" | "datetime-local";
  names?: "queue" | "type" | "group" | "tenant";
  required?: boolean;
  min?: number;
  isMono?: boolean;
}): JSX.Element {
  const list = useId();
  const known = useNames(names ? `${names}:${value.replaceAll(/\s/g, "")}` : "").get(names ?? "") ?? [];
  return (
    <Labelled label={label} hint={hint} needed={required}>
      {(ids) => (
        <>
          <input
            {...ids}
            class={isMono ? "mono" : undefined}
            type={kind}
            value={value}
            required={required}
            min={min}
            step={kind === "number" ? "any" : undefined}
            list={names && list}
            autocomplete="off"
            spellcheck={false}
            onInput={(event) => onChange(event.currentTarget.value)}
          />
          {names && (
            <datalist id={list}>
              {known.map((name) => (
                <option key={name} value={name} />
              ))}
            </datalist>
          )}
        </>
      )}
    </Labelled>
  );
}
