import { useEffect, useState } from "preact/hooks";
import { get } from "../api.js";
import type { List } from "../wire.js";

/** The server knows more names than were on the screen. */
const kinds: readonly string[] = ["queue", "type", "group", "tenant"];
/** Nobody types as fast as this stops to think. */
const pauseMs = 120;

/** Names for the word that is being typed, as `type:res`; those of the word before stay until they come. */
export function useNames(line: string): ReadonlyMap<string, readonly string[]> {
  const [names, setNames] = useState<ReadonlyMap<string, readonly string[]>>(new Map());
  const [, kind = "", start = ""] = /(?:^|\s)(\w+):"?(\S*)$/.exec(line) ?? [];
  useEffect(() => {
    if (!kinds.includes(kind)) return;
    const ending = new AbortController();
    const timer = setTimeout(async () => {
      const found = await get<List<string>>("names", { kind, part: start, limit: 20 }, ending.signal).catch(() => null);
      if (found && !ending.signal.aborted) setNames((before) => new Map(before).set(kind, found.items));
    }, pauseMs);
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, [kind, start]);
  return names;
}
