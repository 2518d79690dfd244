import type { Reason } from "../db/types.js";
import { whyText } from "../db/why-text.js";
import { count, time } from "./format.js";

/** Reasons for waiting as people read them: names as they are, times of their zone. */
export const whyLines = (reasons: readonly Reason[]): string[] =>
  reasons.map((reason) => whyText(reason, { name: (name) => name, count, time }));
