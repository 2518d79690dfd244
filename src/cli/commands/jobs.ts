import { errorText } from "../../db/error-text.js";
import type { JobRecord, JobState, ListFilter } from "../../db/types.js";
import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { time } from "../format.js";
import type { Options } from "../options.js";
import type { Output } from "../output.js";
import { textTable } from "../text-table.js";
import { waitsText } from "../waits-text.js";

const states = [
  "delayed",
  "ready",
  "running",
  "suspended",
  "blocked",
  "succeeded",
  "failed",
  "expired",
  "cancelled",
] as const satisfies readonly JobState[];

export const jobsCommand: Command = {
  name: "jobs",
  summary: "list jobs, newest first",
  arguments: [],
  options: {
    queue: { value: "NAME", help: "only of this queue" },
    state: { value: "STATE", help: "only in this state", choices: states },
    type: { value: "TYPE", help: "only of this type" },
    tenant: { value: "NAME", help: "only of this tenant" },
    undecided: { help: "only failed and expired ones that nobody has retried or discarded" },
    before: { value: "ID", help: "only older than this job: the last id of the page before" },
    limit: { value: "N", help: "how many, up to 10,000", default: "20" },
    ...databaseOptions,
  },
  examples: [
    "millrace jobs",
    "millrace jobs --state failed --type resize --limit 100",
    "millrace jobs --state failed --json | jq -r '.[].id'",
  ],
  async run({ options, out }) {
    const filter = filterOf(options);
    return withDatabase(options, async ({ engine }) => {
      const jobs = await engine.list(filter);
      out.result(jobs, jobs.length === 0 ? "no jobs" : jobsTable(jobs, out));
      return 0;
    });
  },
};

function filterOf(options: Options): ListFilter {
  const state = options.given("state");
  return {
    ...options.pick("queue", "type", "tenant", "before"),
    ...(state === undefined ? {} : { state: state as JobState }),
    ...(options.flag("undecided") ? { undecided: true } : {}),
    limit: options.integer("limit", 1, 10_000),
  };
}

function jobsTable(jobs: readonly JobRecord[], out: Output): string[] {
  const rows = jobs.map((job) => [
    job.id,
    job.state,
    job.type,
    job.queue,
    String(job.priority),
    `${job.attempts}/${job.maxAttempts === Infinity ? "∞" : job.maxAttempts}`,
    time(job.createdAt),
    remark(job),
  ]);
  const [titles, ...lines] = textTable(
    [
      { title: "ID" },
      { title: "STATE" },
      { title: "TYPE" },
      { title: "QUEUE" },
      { title: "PRIORITY", align: "right" },
      { title: "ATTEMPTS", align: "right" },
      { title: "CREATED" },
      { title: "REMARK" },
    ],
    rows,
    out.width,
  );
  return [
    out.style("bold", titles!),
    ...lines.map((line, i) => (jobs[i]?.state === "failed" ? out.style("red", line) : line)),
  ];
}

/** What one wants to know first of a job in its state. */
function remark(job: JobRecord): string {
  if (job.state === "running")
    return `since ${time(job.lastAttemptAt)}${job.worker ? ` by ${job.worker}` : ""}${job.leaseEnded ? ", lease ended" : ""}`;
  if (job.state === "delayed")
    return `until ${time(job.runAt)}${job.lastError === null ? "" : `: ${errorText(job.lastError)}`}`;
  if (job.state === "suspended") return `waits for ${waitsText(job)}`;
  return [job.discardedAt && "discarded", job.reason, errorText(job.lastError)].filter(Boolean).join(": ");
}
