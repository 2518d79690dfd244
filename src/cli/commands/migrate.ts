import { migrate, migrationScript, migrationStatus } from "../../db/migrate.js";
import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";

export const migrateCommand: Command = {
  name: "migrate",
  summary: "install the schema, or bring it to this release",
  details: [
    "Safe to run twice, and by many processes at once. Migrations only go forward, and the release before this one goes on working meanwhile.",
  ],
  arguments: [],
  options: {
    ...databaseOptions,
    status: { help: "compare the schema with this release and change nothing; exit 1 when they differ" },
    print: { help: "print the whole schema as SQL for psql and touch nothing" },
  },
  examples: ["millrace migrate", "millrace migrate --status", "millrace migrate --print --schema jobs | psql app"],
  async run({ options, out }) {
    const schema = options.text("schema");
    if (options.flag("print")) {
      const script = migrationScript({ schema });
      out.result({ schema, script }, script.trimEnd());
      return 0;
    }
    return withDatabase(options, async ({ pool }) => {
      if (options.flag("status")) {
        const status = await migrationStatus(pool, { schema });
        out.result(status, `schema ${status.schema}: version ${status.installed} of ${status.wanted}, ${status.state}`);
        return status.state === "current" ? 0 : 1;
      }
      const result = await migrate(pool, { schema });
      out.result(result, [
        ...result.applied.map((name) => `applied ${name}`),
        ...(result.functionsReplaced ? ["functions and views replaced"] : []),
        `schema ${result.schema} is at version ${result.version}`,
      ]);
      return 0;
    });
  },
};
