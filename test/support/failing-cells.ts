import type { Engine } from "../../src/db/engine.js";

/** What a call that fails is refused with. */
export const broken = new Error("killed");

/** Engines whose calls fail from one on: an odd `n` says that this one is not done, an even one that it is. */
export function failingFrom(n: number, engines: ReadonlyMap<string, Engine>): Map<string, Engine> {
  let calls = 0;
  const wrap = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(of, key) {
        const value = Reflect.get(of, key, of) as unknown;
        if (key === "moves") return wrap(value as object);
        if (typeof value !== "function") return value;
        return async (...given: unknown[]) => {
          calls += 2;
          if (calls > n) throw broken;
          const result: unknown = await (value as (...all: unknown[]) => unknown).apply(of, given);
          if (calls === n) throw broken;
          return result;
        };
      },
    });
  return new Map([...engines].map(([name, one]) => [name, wrap(one)]));
}
