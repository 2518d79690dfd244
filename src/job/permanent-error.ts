/** Thrown by a handler, or found in the `cause` of what it throws: trying again would not help. */
export class PermanentError extends Error {
  /** Its name, whatever its class was renamed to by a bundler. */
  override readonly name = "PermanentError";
}
