import { setTimeout as sleep } from "node:timers/promises";

const patienceMs = 40_000;

/** Wait until something is so, looking less often the longer it takes. Says what it waited for when it gives up. */
export async function until(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  withinMs = patienceMs,
): Promise<void> {
  const giveUpAt = Date.now() + withinMs;
  for (let pauseMs = 5; !(await isSo()); pauseMs = Math.min(pauseMs * 1.5, 100)) {
    if (Date.now() > giveUpAt) throw new Error(`waited in vain: ${what}`);
    await sleep(pauseMs);
  }
}

/** A door that handlers wait at until the test opens it. */
export interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

export function gate(): Gate {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

/** Resolves with the reason when a signal fires. */
export function fired(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason);
    else signal.addEventListener("abort", () => resolve(signal.reason), { once: true });
  });
}
