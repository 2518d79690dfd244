/** Lets work begin when there is room for it. */
export type Line = <T>(work: () => Promise<T>) => Promise<T>;

/** So many at once; whoever comes beyond that waits for a place, in the order of coming. */
export function lineOf(places: number): Line {
  let free = places;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    }
  };
}
