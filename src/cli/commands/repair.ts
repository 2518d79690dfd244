import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { plural } from "../format.js";

export const repairCommand: Command = {
  name: "repair",
  summary: "repair a schema that was restored from a dump of another server",
  details: [
    "Waiting jobs get new tickets. Run it once, while nothing else works on the schema. `millrace doctor` says whether it is needed.",
  ],
  arguments: [],
  options: databaseOptions,
  examples: ["millrace repair"],
  async run({ options, out }) {
    return withDatabase(options, async ({ engine, schema }) => {
      const ready = await engine.cellRepair();
      out.result({ schema, ready }, `schema ${schema} repaired: ${plural(ready, "job is", "jobs are")} ready`);
      return 0;
    });
  },
};
