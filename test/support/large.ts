/** A size: the first in `npm test`, the second, which takes minutes, in `npm run test:large`. */
export const sized = (quick: number, large: number): number => (isLarge ? large : quick);

export const isLarge = process.env["LARGE"] === "1";

/** How long a test may take that has such a size, in ms. */
export const patienceMs = sized(60_000, 1_800_000);
