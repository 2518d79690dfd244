/** Words for what is done once more: its time and its author are new, its reason need not be. */
import { isolated } from "./isolated.js";

/** The reason that it had. */
export const reasonAgain = (because: string | null | undefined): { readonly because?: string } =>
  because ? { because } : {};

/** By whom it is now, and by whom it was. */
export const authorNow = (before: string | null | undefined): string =>
  `from now on and by you${before ? `; before it was by ${isolated(before)}` : ""}`;
