import { InvalidArgumentError } from "./errors.js";

/** The default schema; everything Millrace owns lives in one schema, a cell. */
export const defaultSchema = "millrace";

/** Check a schema name. Plain lower-case names only, so that nobody ever has to quote or escape one. */
export function checkSchemaName(name: string): string {
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(name) || name.startsWith("pg_")) {
    throw new InvalidArgumentError(`"${name}" cannot name a schema`, "use up to 63 lower-case letters, digits and _, not beginning with a digit or pg_");
  }
  return name;
}
