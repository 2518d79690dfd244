import { isDuration, shown } from "../db/check-options.js";
import { InvalidArgumentError } from "../db/errors.js";
import { bounds } from "../db/limits.js";

/** A length of time: milliseconds, a text such as `"5m"` or `"1h 30m"`, or parts such as `{ minutes: 5 }`. */
export type Duration = number | string | DurationParts;

/** A duration in parts, which are added. */
export interface DurationParts {
  readonly days?: number;
  readonly hours?: number;
  readonly minutes?: number;
  readonly seconds?: number;
  readonly milliseconds?: number;
}

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const partMs: Readonly<Record<keyof DurationParts, number>> = {
  days: 86_400_000,
  hours: 3_600_000,
  minutes: 60_000,
  seconds: 1000,
  milliseconds: 1,
};
const remedy = 'give milliseconds, a text such as "5m" or "1h 30m", or parts such as { minutes: 5 }';

/**
 * A duration in milliseconds.
 *
 * @example
 * ```ts
 * durationMs("5m") === 300_000;
 * durationMs({ minutes: 5 }) === durationMs(300_000);
 * ```
 */
export function durationMs(duration: Duration, name = "duration"): number {
  const ms =
    typeof duration === "number"
      ? duration
      : typeof duration === "string"
        ? parseText(duration, name)
        : addParts(duration);
  if (!Number.isFinite(ms) || ms < 0) throw new InvalidArgumentError(`${name} cannot be ${shown(duration)}`, remedy);
  return ms;
}

/** A duration for a timer. Node fires one of more than 24.8 days at once, so that is the longest. */
export function timerMs(duration: Duration, name?: string): number {
  return Math.min(durationMs(duration, name), 2 ** 31 - 1);
}

/** A duration as it is stored. */
export function durationSeconds(duration: Duration, name = "duration"): number {
  const seconds = durationMs(duration, name) / 1000;
  if (isDuration(seconds)) return seconds;
  throw new InvalidArgumentError(
    `${name} cannot be ${shown(duration)}`,
    `give at most ${bounds.seconds} seconds, some 31 years`,
  );
}

function parseText(text: string, name: string): number {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|[smhd])/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join("") !== text.replaceAll(/\s/g, "")) {
    throw new InvalidArgumentError(`${name} cannot be ${JSON.stringify(text)}`, remedy);
  }
  return parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * unitMs[unit!]!, 0);
}

function addParts(parts: DurationParts): number {
  const amounts = Object.entries(parts ?? {});
  let ms = amounts.length === 0 ? Number.NaN : 0; // nothing at all is no duration
  for (const [part, amount] of amounts) {
    const unit = partMs[part as keyof DurationParts] as number | undefined;
    ms += unit === undefined || typeof amount !== "number" ? Number.NaN : amount * unit;
  }
  return ms;
}
