import { TimeoutError } from "../db/errors.js";

/**
 * What `work` gives, or a TimeoutError when it takes longer. Its signal fires then, and when the given one does: what
 * does not obey is left behind.
 */
export async function within<T>(
  ms: number | undefined,
  signal: AbortSignal,
  work: (signal: AbortSignal) => T | PromiseLike<T>,
): Promise<T> {
  if (ms === undefined) return work(signal);
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = new TimeoutError(`it took longer than ${ms} ms`);
      reject(error);
      controller.abort(error);
    }, ms);
  });
  try {
    return await Promise.race([work(controller.signal), late]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}
