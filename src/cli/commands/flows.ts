import type { JobRecord, JobState } from "../../db/types.js";
import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { time } from "../format.js";
import { filterOptions } from "../job-filter.js";
import { textTable } from "../text-table.js";

export const flowsCommand: Command = {
  name: "flows",
  summary: "list flows, newest first",
  details: ["A flow is a job of the type `millrace.flow`: it is suspended until all of its jobs have ended."],
  arguments: [],
  options: {
    queue: filterOptions.queue,
    state: filterOptions.state,
    before: { value: "ID", help: "only older than this flow: the last id of the page before" },
    limit: { value: "N", help: "how many, up to 10,000", default: "20" },
    ...databaseOptions,
  },
  examples: ["millrace flows", "millrace flows --state suspended --json | jq -r '.[].id'"],
  async run({ options, out }) {
    const state = options.given("state") as JobState | undefined;
    const filter = {
      ...options.pick("queue", "before"),
      ...(state === undefined ? {} : { state }),
      type: "millrace.flow",
      limit: options.integer("limit", 1, 10_000),
    };
    return withDatabase(options, async ({ engine }) => {
      const flows = await engine.list(filter);
      out.result(
        flows,
        flows.length === 0
          ? "no flows"
          : textTable(
              [{ title: "ID" }, { title: "QUEUE" }, { title: "STATE" }, { title: "CREATED" }, { title: "NAME" }],
              flows.map((flow) => [flow.id, flow.queue, flow.state, time(flow.createdAt), nameOf(flow)]),
              out.width,
            ),
      );
      return 0;
    });
  },
};

const nameOf = ({ input }: JobRecord): string =>
  input !== null && typeof input === "object" && "name" in input && typeof input["name"] === "string"
    ? input["name"]
    : "";
