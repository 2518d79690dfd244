import { useComputed } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { cellNames } from "../cells.js";
import { queueSamples } from "../live.js";
import { Icon } from "../parts/icon.js";
import { toast } from "../parts/toast.js";
import { go, route, to } from "../router.js";
import { type Suggestion, parseQuery, suggest, terms, writeQuery } from "./query.js";
import { useNames } from "./names.js";
import { seenTypes } from "./seen.js";

/** Look for jobs from anywhere: `/` comes here. */
export function SearchLine(): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  const [line, setLine] = useState("");
  const [open, setOpen] = useState(false);
  const [chosen, setChosen] = useState(-1);
  // On the page of jobs the line says what is listed.
  const listed = useComputed(() =>
    route.value.path[0] === "jobs" && route.value.path.length === 1
      ? writeQuery(Object.fromEntries(route.value.query))
      : "",
  ).value;
  useEffect(() => setLine(listed), [listed]);

  const told = useNames(open ? line : "");
  const names = (kind: string, seen: Iterable<string> = []) => [...new Set([...(told.get(kind) ?? []), ...seen])];
  const suggestions = open
    ? suggest(line, {
        cell: cellNames.value,
        queue: names("queue", queueSamples.value.keys()),
        type: names("type", seenTypes.value),
        group: names("group"),
        tenant: names("tenant"),
      })
    : [];
  const take = (suggestion: Suggestion): void => {
    setLine(suggestion.line);
    setChosen(-1);
    input.current!.focus();
  };
  const search = (): void => {
    const { filter, unknown } = parseQuery(line);
    if (unknown.length > 0) {
      toast(`“${unknown[0]}” is not understood. There are ${terms.map(({ key }) => key).join(", ")}.`, { tone: "bad" });
      return;
    }
    setOpen(false);
    input.current!.blur();
    go(filter["id"] ? to(["jobs", filter["id"]]) : to(["jobs"], filter));
  };
  const press = (event: KeyboardEvent): void => {
    const last = suggestions.length - 1;
    if (event.key === "ArrowDown" && last >= 0) setChosen(chosen >= last ? 0 : chosen + 1);
    else if (event.key === "ArrowUp" && last >= 0) setChosen(chosen <= 0 ? last : chosen - 1);
    else if (event.key === "Tab" && !event.shiftKey && last >= 0 && line !== "" && !line.endsWith(" "))
      take(suggestions[Math.max(chosen, 0)]!);
    else if (event.key === "Enter" && chosen >= 0 && suggestions[chosen]) take(suggestions[chosen]);
    else if (event.key === "Escape") {
      if (open) setOpen(false);
      else input.current!.blur();
    } else return;
    event.preventDefault();
  };
  return (
    <form
      class="search"
      role="search"
      aria-label="Jobs"
      onSubmit={(event) => {
        event.preventDefault();
        search();
      }}
    >
      <input
        ref={input}
        id="search"
        type="text"
        role="combobox"
        aria-label="Search jobs"
        aria-expanded={suggestions.length > 0}
        aria-controls="suggestions"
        aria-autocomplete="list"
        aria-activedescendant={chosen >= 0 ? `suggestion-${chosen}` : undefined}
        placeholder="type:resize state:failed error:timeout"
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        value={line}
        onFocus={() => {
          setOpen(true);
          // Whoever comes back goes on with the next word.
          if (line !== "") setLine(`${line.trimEnd()} `);
        }}
        onBlur={() => {
          setOpen(false);
          setChosen(-1);
        }}
        onInput={(event) => {
          setLine(event.currentTarget.value);
          setOpen(true);
          setChosen(-1);
        }}
        onKeyDown={press}
      />
      <Icon name="search" size={15} />
      <kbd aria-hidden="true">/</kbd>
      <ul
        id="suggestions"
        class="suggestions"
        role="listbox"
        aria-label="What can be searched"
        hidden={suggestions.length === 0}
      >
        {suggestions.map((suggestion, index) => (
          <li
            key={suggestion.shown}
            id={`suggestion-${index}`}
            role="option"
            aria-selected={index === chosen}
            onMouseDown={(event) => {
              event.preventDefault();
              take(suggestion);
            }}
          >
            <code>{suggestion.shown}</code>
            <span class="muted">{suggestion.hint}</span>
          </li>
        ))}
      </ul>
    </form>
  );
}
