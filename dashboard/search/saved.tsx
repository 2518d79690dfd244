/** Filters that somebody wants to come back to; kept in this browser. */
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { perform } from "../parts/act.js";
import { Button } from "../parts/button.js";
import { to } from "../router.js";
import { type Filter, parseQuery, writeQuery } from "./query.js";

interface Saved {
  readonly name: string;
  readonly line: string;
}

const place = "millrace.filters";
const most = 30;

const saved = signal<readonly Saved[]>(read());
addEventListener("storage", ({ key }) => {
  if (key === place) saved.value = read();
});

function read(): readonly Saved[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(place) ?? "[]");
    if (!Array.isArray(found)) return [];
    return (found as Partial<Saved>[])
      .filter((one): one is Saved => typeof one?.name === "string" && typeof one.line === "string")
      .slice(0, most);
  } catch {
    return [];
  }
}

function write(filters: readonly Saved[]): void {
  saved.value = filters;
  try {
    localStorage.setItem(place, JSON.stringify(filters));
  } catch {
    // Then they last as long as the page.
  }
}

const save = (filter: Filter): void =>
  perform({
    title: "Save this filter",
    explain: `“${writeQuery(filter)}” is kept in this browser, under a name. One of the same name is replaced.`,
    fields: [{ name: "name", label: "Name", required: true, value: writeQuery(filter).slice(0, 60) }],
    button: "Save",
    run: async ({ name }) => {
      const rest = saved.peek().filter((one) => one.name !== name);
      write([...rest, { name: name!, line: writeQuery(filter) }].slice(-most));
    },
    done: (_answer, { name }) => `${name} is saved`,
  });

/** Those that were saved, and a way to save what is listed. */
export function SavedFilters({ filter }: { filter: Filter }): JSX.Element | null {
  const line = writeQuery(filter);
  const isSaved = saved.value.some((one) => one.line === line);
  if (saved.value.length === 0 && line === "") return null;
  return (
    <div class="filters" role="group" aria-label="Saved filters">
      {saved.value.map((one) => (
        <span key={one.name} class="saved">
          <a
            class="button button-small"
            href={to(["jobs"], parseQuery(one.line).filter)}
            title={one.line}
            aria-current={one.line === line ? "true" : undefined}
          >
            ★ <span class="saved-name">{one.name}</span>
          </a>
          <Button
            kind="quiet"
            small
            label={`Forget the filter ${one.name}`}
            onClick={() => write(saved.peek().filter(({ name }) => name !== one.name))}
          >
            ✕
          </Button>
        </span>
      ))}
      {line !== "" && !isSaved && (
        <Button kind="quiet" small onClick={() => save(filter)}>
          ☆ Save this filter
        </Button>
      )}
    </div>
  );
}
