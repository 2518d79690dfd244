import { migrate, migrationScript, migrationStatus } from "../db/migrate.js";
import type { CliOptions } from "./main.js";
import { withPool } from "./pool.js";

export async function migrateCommand(options: CliOptions): Promise<number> {
  const { schema } = options;
  if (options.print) {
    process.stdout.write(migrationScript({ schema }));
    return 0;
  }
  return withPool(options.url, async (pool) => {
    if (options.status) {
      const status = await migrationStatus(pool, { schema });
      console.log(`schema ${status.schema}: version ${status.installed} of ${status.wanted}, ${status.state}`);
      return status.state === "current" ? 0 : 1;
    }
    const result = await migrate(pool, { schema });
    for (const name of result.applied) console.log(`applied ${name}`);
    if (result.functionsReplaced) console.log("functions and views replaced");
    console.log(`schema ${result.schema} is at version ${result.version}`);
    return 0;
  });
}
