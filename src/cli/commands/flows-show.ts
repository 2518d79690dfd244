import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { count, time } from "../format.js";
import { textTable } from "../text-table.js";

const columns = ["JOB", "TYPE", "QUEUE", "STATE", "AFTER"].map((title) => ({ title }));
const outside = ["JOB", "TYPE", "QUEUE", "STATE", "FLOW"].map((title) => ({ title }));
const wording = { failed: "if one fails", ended: "however they end" } as const;

export const flowsShowCommand: Command = {
  name: "flows show",
  summary: "show the jobs of a flow, and what each is waiting for",
  details: ["The exit code is 1 when there is no such flow."],
  arguments: [{ name: "ID", help: "the flow" }],
  options: {
    limit: { value: "N", help: "at most this many jobs", default: "100" },
    ...databaseOptions,
  },
  examples: ["millrace flows show 880123456789012345", "millrace flows show 880123456789012345 --json | jq .state"],
  async run({ args, options, out }) {
    const [id] = args as [string];
    const limit = options.integer("limit", 1, 10_000);
    return withDatabase(options, async ({ engine }) => {
      const flow = await engine.flowGet(id, limit);
      if (!flow) {
        out.result(null, `there is no flow ${id}`);
        return 1;
      }
      const title = `flow ${flow.id}${flow.name === null ? "" : ` "${flow.name}"`}: ${flow.state}, ${count(flow.total)} jobs, since ${time(flow.createdAt)}`;
      const rows = flow.jobs.map(({ id: job, type, queue, state, after, when }) => [
        job,
        type,
        queue,
        state,
        when === "succeeded" ? after.join(" ") : `${after.join(" ")} (${wording[when]})`,
      ]);
      const others = flow.others.map((one) => [
        one.id,
        one.type ?? "",
        one.queue ?? "",
        one.state ?? "no longer known",
        one.flow === null ? "" : `of flow ${one.flow}`,
      ]);
      const apart = others.length > 0 ? ["", "outside of the flow:", ...textTable(outside, others, out.width)] : [];
      out.result(flow, [title, "", ...textTable(columns, rows, out.width), ...apart].join("\n"));
      return 0;
    });
  },
};
