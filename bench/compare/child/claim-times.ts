import type { System } from "../systems/system.ts";
import { now } from "./clock.ts";

interface ClaimTimes {
  /** Start anew: what was measured so far was warming up. */
  forget(): void;
  /** Stop measuring. */
  end(): number[];
}

type Query = (...args: unknown[]) => unknown;

/** Time the statements that ask for jobs, from sending to the last row. */
export function timeClaims({ pg, isClaim }: NonNullable<System["claims"]>): ClaimTimes {
  const prototype = pg.Client.prototype as { query: Query };
  const plain = prototype.query;
  let times: number[] = [];
  prototype.query = function timed(this: unknown, ...args: unknown[]): unknown {
    const [first, second] = args as [string | { text?: string; values?: unknown[] }, unknown];
    const text = typeof first === "string" ? first : (first.text ?? "");
    const values = typeof first === "object" && first.values ? first.values : Array.isArray(second) ? second : [];
    if (!isClaim(text, values)) return plain.apply(this, args);
    const startedAt = now();
    const note = (): void => void times.push(now() - startedAt);
    const callback = args.at(-1);
    if (typeof callback === "function") {
      const noted = (...results: unknown[]): unknown => (note(), (callback as Query)(...results));
      return plain.apply(this, [...args.slice(0, -1), noted]);
    }
    const result = plain.apply(this, args) as Promise<unknown>;
    result.then(note, () => {});
    return result;
  };
  return {
    forget: () => (times = []),
    end: () => ((prototype.query = plain), times),
  };
}
