import { createHash } from "node:crypto";
import { InvalidArgumentError } from "./errors.js";

/** The default schema; everything Millrace owns lives in one schema, a cell. */
export const defaultSchema = "millrace";

/**
 * What names of prepared statements begin with: the server knows them by their first 63 characters, so a long schema
 * name stands there as its hash.
 */
export function statementPrefix(schema: string): string {
  return schema.length <= 32 ? schema : createHash("sha256").update(schema).digest("hex").slice(0, 32);
}

/** Check a schema name. Plain lower-case names only, so that nobody ever has to quote or escape one. */
export function checkSchemaName(name: string): string {
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(name) || name.startsWith("pg_")) {
    throw new InvalidArgumentError(
      `"${name}" cannot name a schema`,
      "use up to 63 lower-case letters, digits and _, not beginning with a digit or pg_",
    );
  }
  return name;
}
