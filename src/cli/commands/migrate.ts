import { migrate, migrationScript } from "../../db/migrate.js";
import { migrationStatus } from "../../db/schema-version.js";
import { withCells } from "../cells.js";
import { type Command, type Context, type ExitCode, databaseOptions } from "../command.js";
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
    cells: { help: "do it in every cell that MILLRACE_CELLS names; exit 1 when one could not be reached" },
    print: { help: "print the whole schema as SQL for psql and touch nothing" },
  },
  examples: [
    "millrace migrate",
    "millrace migrate --status",
    "millrace migrate --print --schema jobs | psql app",
    "millrace migrate --cells",
  ],
  async run({ options, out }) {
    const schema = options.text("schema");
    if (options.flag("print")) {
      const script = migrationScript({ schema });
      out.result({ schema, script }, script.trimEnd());
      return 0;
    }
    if (options.flag("cells")) return migrateCells({ options, out });
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

/** One cell after another: those that cannot be reached keep nobody from being brought to the release. */
async function migrateCells({ options, out }: Pick<Context, "options" | "out">): Promise<ExitCode> {
  const schema = options.text("schema");
  return withCells(options, async (cells) => {
    const results = [];
    for (const { name, pool } of cells.values()) {
      try {
        if (options.flag("status")) results.push({ cell: name, ...(await migrationStatus(pool, { schema })) });
        else results.push({ cell: name, ...(await migrate(pool, { schema })), state: "current" as const });
      } catch (error) {
        results.push({ cell: name, state: "failed" as const, error: (error as Error).message });
      }
    }
    out.result(
      { schema, cells: results },
      results.map((result) =>
        "error" in result
          ? `cell ${result.cell}: ${result.error}`
          : `cell ${result.cell}: schema ${schema} is at version ${"version" in result ? result.version : `${result.installed} of ${result.wanted}, ${result.state}`}`,
      ),
    );
    return results.every(({ state }) => state === "current") ? 0 : 1;
  });
}
