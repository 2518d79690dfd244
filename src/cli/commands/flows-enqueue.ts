import { DeclaredInputs } from "../../client/declared-inputs.js";
import { Millrace } from "../../client/millrace.js";
import { checkObject } from "../../db/check-options.js";
import { checkKeys } from "../../db/encode.js";
import type { FlowTarget } from "../../db/types.js";
import { type NamedFlowJob, flowPlan } from "../../client/flow-plan.js";
import { type Command, databaseOptions } from "../command.js";
import { databaseUrl } from "../database.js";
import { plural } from "../format.js";
import { jsonArgument } from "../json-argument.js";

export const flowsEnqueueCommand: Command = {
  name: "flows enqueue",
  summary: "enqueue jobs that wait for each other, all or none",
  details: [
    'FLOW is `{"name", "queue", "jobs"}`, or `{"flow", "jobs"}` to add to one. A job is `{"name", "type", "input", "after", "when"}` with the options of docs/options.md: `after` names jobs of the flow, or ids of jobs that are there; `when` is `succeeded` (the default), `failed` or `ended`.',
    "Prints the id of the flow.",
  ],
  arguments: [{ name: "FLOW", help: "the flow: JSON, `@file`, or `-` for standard input", isFile: true }],
  options: databaseOptions,
  examples: [
    "millrace flows enqueue @import.json",
    `millrace flows enqueue '{"jobs": [{"name": "a", "type": "extract"}, {"type": "load", "after": ["a"]}]}'`,
  ],
  async run({ args, options, out }) {
    const flow = await jsonArgument(args[0], "FLOW");
    checkObject(flow, "FLOW");
    checkKeys(flow as object, new Set(["name", "queue", "flow", "jobs"]));
    const { jobs: named = [], ...target } = flow as FlowTarget & { readonly jobs?: readonly NamedFlowJob[] };
    const { jobs, places } = flowPlan(named);
    const mill = new Millrace({
      connection: { connectionString: databaseUrl(options), max: 2, application_name: "millrace cli" },
      schema: options.text("schema"),
    });
    try {
      const inputs = jobs.map(({ type, input, options: { headers } = {} }) => ({ type, input, headers }));
      await new DeclaredInputs(mill.engine).check(inputs);
      const stored = await mill.engine.flowEnqueue(jobs, target);
      await mill.engine.queueNotify([...new Set(jobs.map((job) => job.options?.queue ?? "default"))]);
      await mill.engine.noticesDeliver();
      const ids = places.map((place) => stored.jobs[place]!);
      out.result({ id: stored.id, jobs: ids }, `${stored.id} (a flow of ${plural(ids.length, "job")})`);
      return 0;
    } finally {
      await mill.close();
    }
  },
};
