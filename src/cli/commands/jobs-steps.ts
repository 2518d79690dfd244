import { exactText } from "../../db/exact-json.js";
import { errorText } from "../../db/error-text.js";
import type { ChildRecord, JobRecord, JobStep, StepKind } from "../../db/types.js";
import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { bytes, duration, plural, time } from "../format.js";
import type { Output } from "../output.js";
import { textTable } from "../text-table.js";
import { waitsText } from "../waits-text.js";

/** So many children are shown; a job may have a hundred thousand. */
const maxChildren = 100;

export const jobsStepsCommand: Command = {
  name: "jobs steps",
  summary: "show the steps of a run, and what it is waiting for",
  details: [
    "Shows steps, their tries, waits and signals in the order in which they were noted; then the jobs it has started, the first hundred of them, with their states. `--json` has all of it, and `next` where to go on with `--after`.",
    "The exit code is 1 when there is no such job, or no longer, after its retention.",
  ],
  arguments: [{ name: "ID", help: "the job" }],
  options: {
    step: { value: "NAME", help: "only this step, or signals of this name" },
    newest: { help: "the newest first" },
    after: { value: "STEP", help: "go on after this one: `next` of the page before" },
    limit: { value: "N", help: "how many, up to 10,000", default: "100" },
    bytes: { value: "N", help: "leave out values that are longer", default: "200" },
    ...databaseOptions,
  },
  examples: [
    "millrace jobs steps 880123456789012345",
    "millrace jobs steps 880123456789012345 --step charge --bytes 1048576 --json | jq '.steps[].value'",
  ],
  async run({ args, options, out }) {
    const [id] = args as [string];
    const limit = options.integer("limit", 1, 10_000);
    const key = options.given("step");
    const filter = {
      ...options.pick("after"),
      ...(key === undefined ? {} : { key }),
      newest: options.flag("newest"),
      valueBytes: options.integer("bytes", 0, 1_048_576),
      limit,
    };
    return withDatabase(options, async ({ engine }) => {
      const details = await engine.get(id);
      if (!details) {
        out.result(null, `there is no job ${id}, or no longer`);
        return 1;
      }
      const { job } = details;
      const steps = await engine.steps(id, filter);
      const children = await engine.children(id, { limit: maxChildren });
      const next = steps.length === limit ? { next: steps.at(-1)!.id } : {};
      const { state, parent, waits, suspendedAt } = job;
      out.result(
        { id, state, parent, waits, suspendedAt, steps, ...next, children },
        lines(job, steps, children, next.next, out),
      );
      return 0;
    });
  },
};

function lines(
  job: JobRecord,
  steps: readonly JobStep[],
  children: readonly ChildRecord[],
  next: string | undefined,
  out: Output,
): string[] {
  const waits = waitsText(job);
  return [
    `${job.type} ${job.id} is ${job.state}${waits === null ? "" : `, and waits for ${waits}`}`,
    ...(job.parent === null ? [] : [`it was started by ${job.parent}`]),
    "",
    ...(steps.length === 0 ? ["no steps"] : stepTable(steps, out)),
    ...(next === undefined ? [] : [`there may be more: --after ${next}`]),
    ...(children.length === 0 ? [] : ["", ...childTable(children, out)]),
    ...(children.length < maxChildren ? [] : [`the first ${maxChildren} children`]),
  ];
}

function stepTable(steps: readonly JobStep[], out: Output): string[] {
  const [titles, ...rows] = textTable(
    [
      { title: "AT" },
      { title: "STEP" },
      { title: "WHAT" },
      { title: "TRIES", align: "right" },
      { title: "TOOK", align: "right" },
      { title: "REMARK" },
    ],
    steps.map((step) => [
      time(step.at),
      step.key,
      words[step.kind](step),
      step.tries === null ? "" : String(step.tries),
      step.seconds === null ? "" : duration(step.seconds * 1000),
      remark(step),
    ]),
    out.width,
  );
  return [out.style("bold", titles!), ...rows.map((row, i) => (steps[i]?.error ? out.style("red", row) : row))];
}

/** What happened, by kind. */
const words: Readonly<Record<StepKind, (step: JobStep) => string>> = {
  done: ({ error, about }) => (error ? "failed" : about === "timeout" ? about : "done"),
  try: () => "failed try",
  due: () => "waits",
  got: () => "got a signal",
  started: ({ children }) => `started ${plural(children ?? 0, "job")}`,
  ended: ({ about, children }) =>
    `${children === null ? "child" : plural(children, "child", "children")} ${about ?? "ended"}`,
  signal: () => "signal",
  rewind: ({ about }) => `went back to ${about}`,
};

function remark({ error, until, other, kind, about, value, valueBytes }: JobStep): string {
  return [
    other,
    errorText(error),
    until && `${kind === "try" ? "next try" : "until"} ${time(until)}`,
    kind === "got" && about ? `for ${about}` : null,
    kind === "signal" && about ? `id ${about}` : null,
    kind === "started" ? about : null,
    valueBytes === null
      ? null
      : value === null && valueBytes > "null".length
        ? `a value of ${bytes(valueBytes)}`
        : exactText(value),
  ]
    .filter(Boolean)
    .join(", ");
}

function childTable(children: readonly ChildRecord[], out: Output): string[] {
  const [titles, ...rows] = textTable(
    [{ title: "CHILD" }, { title: "STATE" }, { title: "TYPE" }, { title: "QUEUE" }, { title: "STEP" }],
    children.map(({ id, state, type, queue, step, detached }) => [
      id,
      state ?? "gone",
      type ?? "",
      queue ?? "",
      detached ? `${step} (goes on by itself)` : step,
    ]),
    out.width,
  );
  return [out.style("bold", titles!), ...rows];
}
