import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { plural } from "../format.js";
import { userName } from "../user-name.js";

export const stagesCancelCommand: Command = {
  name: "stages cancel",
  summary: "cancel the jobs of a stage that have not been released",
  arguments: [
    { name: "NAME", help: "the queue" },
    { name: "STAGE", help: "the stage" },
  ],
  options: { because: { value: "TEXT", help: "why; kept with the event" }, ...databaseOptions },
  examples: ["millrace stages cancel mail approval"],
  async run({ args, options, out }) {
    const [name, stage] = args as [string, string];
    return withDatabase(options, async ({ engine }) => {
      const jobs = await engine.stageCancel(name, stage, { by: userName(), ...options.pick("because") });
      out.result({ name, stage, cancelled: jobs }, `${plural(jobs, "job")} of ${stage} cancelled`);
      return 0;
    });
  },
};
