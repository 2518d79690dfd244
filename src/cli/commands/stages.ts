import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { count, time } from "../format.js";
import { textTable } from "../text-table.js";

export const stagesCommand: Command = {
  name: "stages",
  summary: "list the stages that hold jobs",
  details: ["Counts what is staged, so it costs more the more there is."],
  arguments: [],
  options: databaseOptions,
  examples: ["millrace stages"],
  async run({ options, out }) {
    return withDatabase(options, async ({ engine }) => {
      const stages = await engine.stages();
      out.result(
        stages,
        textTable(
          [{ title: "QUEUE" }, { title: "JOBS", align: "right" }, { title: "SINCE" }, { title: "STAGE" }],
          stages.map(({ queue, stage, jobs, since }) => [queue, count(jobs), time(since), stage]),
          out.width,
        ),
      );
      return 0;
    });
  },
};
