import { createHash } from "node:crypto";
import { InvalidArgumentError } from "./errors.js";

/** The default schema; everything Millrace owns lives in one schema, a cell. */
export const defaultSchema = "millrace";

/**
 * The name that a statement is prepared under. The server knows it by its first 63 characters, so a long schema name
 * stands there as its hash. A hash of the text makes it the only one: a connection refuses two texts under one name,
 * and clients may share connections.
 */
export function statementName(schema: string, verb: string, text: string): string {
  const prefix = schema.length <= 24 ? schema : hash(schema, 24);
  return `${prefix}.${verb}/${hash(text, 8)}`;
}

const hash = (text: string, length: number): string => createHash("sha256").update(text).digest("hex").slice(0, length);

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
