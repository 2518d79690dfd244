import { type RetryDelay, toEngineOptions } from "./job-options.js";

const usual = { base: 1, factor: 2, cap: 3600, jitter: 0.1 };

/** How long to wait after so many failures: what `sql/outcome/retry_delay.sql` says of jobs. */
export function retryDelaySeconds(delay: RetryDelay | undefined, failures: number): number {
  const policy = delay === undefined ? usual : toEngineOptions({ retryDelay: delay }).retry!;
  if (typeof policy === "number") return policy;
  if (Array.isArray(policy)) return Number(policy[Math.min(failures, policy.length) - 1] ?? 0);
  const { base, factor, cap, jitter } = { ...usual, ...(policy as Exclude<typeof policy, readonly number[]>) };
  const seconds = Math.min(cap, base * factor ** Math.min(failures - 1, 60));
  return seconds * (1 + jitter * (2 * Math.random() - 1));
}
