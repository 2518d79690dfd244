import { MillraceError } from "../db/errors.js";

/** What was typed cannot be done; the process ends with 2. */
export class UsageError extends MillraceError {
  constructor(message: string, remedy?: string, cause?: unknown) {
    super("MR001", message, remedy, cause);
  }
}
