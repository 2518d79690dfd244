import { migrationStatus } from "../db/schema-version.js";
import { functionsChecksum } from "../db/release.generated.js";
import { type Check, ok, wrong } from "./check.js";

/** The schema is the one of this release, and belongs to this server. */
export const schemaCheck: Check = {
  name: "schema",
  needsSchema: false,
  async run({ pool, read, schema }) {
    const { state, installed, wanted } = await migrationStatus(pool, { schema });
    if (state === "missing")
      return [
        wrong(`there is no Millrace schema "${schema}"`, 'run "millrace migrate", or name another with --schema'),
      ];
    if (state === "older")
      return [
        wrong(`schema ${schema} has version ${installed}, this release needs ${wanted}`, 'run "millrace migrate"'),
      ];
    if (state === "newer")
      return [wrong(`schema ${schema} has version ${installed}, this release knows ${wanted}`, "upgrade millrace")];
    const [status] = await read<{ functions: string; restored: boolean }>(
      "select functions, restored from :cell_status()",
    );
    return [
      status?.functions === functionsChecksum
        ? ok(`schema ${schema} has version ${installed}`)
        : wrong(
            `the functions of schema ${schema} are not those of this release`,
            'run "millrace migrate", with the newest release in use',
          ),
      status?.restored
        ? wrong(
            "the schema was restored from a dump of another server: enqueue and claim refuse to work",
            'stop everything that uses it, then run "millrace repair" once',
          )
        : ok("the schema belongs to this server"),
    ];
  },
};
