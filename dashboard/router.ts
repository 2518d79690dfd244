/** Routes live in the hash: they survive reloads, prefixes and any proxy in front of the server. */
import { computed, signal } from "@preact/signals";

export interface Route {
  /** Decoded segments: `#/queues/mail` is `["queues", "mail"]`. */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

const hash = signal(location.hash);
addEventListener("hashchange", () => (hash.value = location.hash));

export const route = computed<Route>(() => parseRoute(hash.value));

function parseRoute(text: string): Route {
  const [path = "", query = ""] = text.replace(/^#\/?/, "").split(/\?(.*)/s);
  return { path: path.split("/").filter(Boolean).map(decode), query: new URLSearchParams(query) };
}

/** The address of a page: `to(["queues", name], { tab: "groups" })`. */
export function to(path: readonly string[], query: Readonly<Record<string, string | null | undefined>> = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value) search.set(name, value);
  const tail = search.size > 0 ? `?${search}` : "";
  return `#/${path.map(encodeURIComponent).join("/")}${tail}`;
}

/** Go there; `replace` leaves no entry in the history. */
export function go(address: string, { replace = false } = {}): void {
  if (replace) {
    history.replaceState(null, "", address);
    hash.value = address;
  } else location.hash = address;
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
