import { errorText } from "../../db/error-text.js";
import type { Engine } from "../../db/engine.js";
import type { FindFilter, Found, JobId, JobRecord } from "../../db/types.js";
import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { time } from "../format.js";
import { filterOf, filterOptions, isLookedFor, timeOfId } from "../job-filter.js";
import type { Output } from "../output.js";
import { textTable } from "../text-table.js";
import { waitsText } from "../waits-text.js";

/** Looking through many jobs ends after this long; the answer says how far it came. */
const longestLookMs = 30_000;

export const jobsCommand: Command = {
  name: "jobs",
  summary: "list jobs, newest first",
  details: [
    "With --group, --fingerprint, --error, --failure, --input or --text it looks at one job after the other, newest first, for half a minute at most, and says how far it came; --before goes on from there.",
  ],
  arguments: [],
  options: {
    ...filterOptions,
    undecided: { help: "only failed and expired jobs not yet retried or discarded" },
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
    const filter = {
      ...filterOf(options),
      ...options.pick("before"),
      ...(options.flag("undecided") ? { undecided: true } : {}),
      limit: options.integer("limit", 1, 10_000),
    };
    return withDatabase(options, async ({ engine }) => {
      const jobs = isLookedFor(filter) ? await lookFor(engine, filter, out) : await engine.list(filter);
      out.result(jobs, jobs.length === 0 ? "no jobs" : jobsTable(jobs, out));
      return 0;
    });
  },
};

/** Look until there are enough of them, or for as long as one look for somebody may take. */
async function lookFor(
  engine: Engine,
  filter: FindFilter & { readonly limit: number },
  out: Output,
): Promise<JobRecord[]> {
  const until = Date.now() + longestLookMs;
  const ids: JobId[] = [];
  let next: JobId | null | undefined = filter.before;
  do {
    const found: Found = await engine.server.find({
      ...filter,
      limit: filter.limit - ids.length,
      ...(next && { before: next }),
    });
    ids.push(...found.ids);
    next = found.next;
  } while (next !== null && ids.length < filter.limit && Date.now() < until);
  if (next !== null && ids.length < filter.limit)
    out.note(`looked back to ${time(timeOfId(next))} only: go on with --before ${next}`);
  return ids.length === 0 ? [] : engine.server.byIds(ids);
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
