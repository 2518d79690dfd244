import { rangeOf } from "../../db/option-table.js";
import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { UsageError } from "../usage-error.js";

export const groupsPutCommand: Command = {
  name: "groups put",
  summary: "set the weight of a group: its share of a queue while other groups have work too",
  arguments: [
    { name: "NAME", help: "the queue" },
    { name: "GROUP", help: "the group" },
  ],
  options: { weight: { value: "N", help: "an integer from 1, the default, to 1000" }, ...databaseOptions },
  examples: ["millrace groups put mail acme --weight 3"],
  async run({ args, options, out }) {
    const [name, group] = args as [string, string];
    const weight = options.givenInteger("weight", ...rangeOf("weight"));
    if (weight === undefined) throw new UsageError("nothing to set", "give --weight");
    return withDatabase(options, async ({ engine }) => {
      const { weight: set } = await engine.groupPut(name, group, { weight });
      out.result({ name, group, weight: set }, `${group} in ${name} has the weight ${set}`);
      return 0;
    });
  },
};
