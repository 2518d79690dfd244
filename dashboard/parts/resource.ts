import { useEffect, useRef, useState } from "preact/hooks";
import { changes } from "../api.js";

/** Something the server was asked for. What was there stays until its successor comes, so that nothing jumps. */
export interface Resource<T> {
  readonly data: T | undefined;
  readonly error: unknown;
  /** When it was answered. */
  readonly at: number | undefined;
  readonly reload: () => void;
}

/** The last answers, so that going back shows something at once. */
const kept = new Map<string, { readonly data: unknown; readonly at: number }>();
const maxKept = 50;

function keep(key: string, data: unknown): void {
  kept.delete(key);
  kept.set(key, { data, at: Date.now() });
  if (kept.size > maxKept) kept.delete(kept.keys().next().value!);
}

/**
 * Ask for something, and ask again when its key changes, when something was changed from this page, and every so many
 * milliseconds while the tab is seen. `key` names all that `load` depends on.
 */
export function useResource<T>(key: string, load: (signal: AbortSignal) => Promise<T>, everyMs?: number): Resource<T> {
  const [state, setState] = useState<{ key: string; error: unknown; round: number }>({
    key,
    error: undefined,
    round: 0,
  });
  const change = changes.value;
  const loader = useRef(load);
  loader.current = load;

  useEffect(() => {
    const ending = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = async (): Promise<void> => {
      if (!document.hidden || !kept.has(key)) {
        let error: unknown;
        try {
          keep(key, await loader.current(ending.signal));
        } catch (problem) {
          error = problem;
        }
        if (ending.signal.aborted) return;
        setState(({ round }) => ({ key, error, round: round + 1 }));
      }
      if (everyMs !== undefined) timer = setTimeout(() => void ask(), everyMs);
    };
    void ask();
    return () => {
      ending.abort();
      clearTimeout(timer);
    };
  }, [key, change, everyMs]);

  const answer = kept.get(key) as { data: T; at: number } | undefined;
  return {
    data: answer?.data,
    at: answer?.at,
    error: state.key === key ? state.error : undefined,
    reload: () => (changes.value += 1),
  };
}

/** Nothing of what was answered stays: somebody else has signed in. */
export const forgetAnswers = (): void => kept.clear();
