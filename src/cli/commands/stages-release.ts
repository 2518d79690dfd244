import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { plural } from "../format.js";
import { userName } from "../user-name.js";

export const stagesReleaseCommand: Command = {
  name: "stages release",
  summary: "release the jobs of a stage; jobs enqueued into it later wait for the next release",
  arguments: [
    { name: "NAME", help: "the queue" },
    { name: "STAGE", help: "the stage" },
  ],
  options: { because: { value: "TEXT", help: "why; kept with the event" }, ...databaseOptions },
  examples: ["millrace stages release mail approval"],
  async run({ args, options, out }) {
    const [name, stage] = args as [string, string];
    return withDatabase(options, async ({ engine }) => {
      const jobs = await engine.stageRelease(name, stage, { by: userName(), ...options.pick("because") });
      await engine.queueNotify([name]);
      out.result({ name, stage, released: jobs }, `${plural(jobs, "job")} of ${stage} released`);
      return 0;
    });
  },
};
