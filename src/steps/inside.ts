/**
 * A step in the work of another one is refused: that work is not given up while it waits, so the job would keep its
 * slot, and what it waits for may need that. Apart from the rest, which threads and processes do not load.
 */
export const insideMessage = (name: unknown): string =>
  `step ${JSON.stringify(name)?.slice(0, 100)} is inside of the work of another step`;
export const insideRemedy = "let that work end, and call this step after it";
