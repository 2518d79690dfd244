import { errorText } from "../../db/error-text.js";
import { exactText } from "../../db/exact-json.js";
import type { AttemptRecord, JobDetails, JobRecord, Json, Reason } from "../../db/types.js";
import { type Command, databaseOptions } from "../command.js";
import { withDatabase } from "../database.js";
import { bytes, duration, time } from "../format.js";
import type { Output } from "../output.js";
import { textTable } from "../text-table.js";
import { waitsText } from "../waits-text.js";
import { whyLines } from "../why-lines.js";

export const jobsShowCommand: Command = {
  name: "jobs show",
  summary: "show one job, its attempts, and why it waits",
  details: ["The exit code is 1 when there is no such job, or no longer, after its retention."],
  arguments: [{ name: "ID", help: "the job" }],
  options: databaseOptions,
  examples: ["millrace jobs show 880123456789012345", "millrace jobs show 880123456789012345 --json | jq .job.input"],
  async run({ args, options, out }) {
    const [id] = args as [string];
    return withDatabase(options, async ({ engine }) => {
      const details = await engine.get(id);
      const why = details && (await engine.why(id));
      out.result(
        details && { ...details, why },
        details ? detailLines(details, why ?? [], out) : `there is no job ${id}, or no longer`,
      );
      return details ? 0 : 1;
    });
  },
};

function detailLines({ job, attempts, progress }: JobDetails, why: readonly Reason[], out: Output): string[] {
  const fields = fieldsOf(job, why, progress).filter(
    (field): field is [string, string] => field[1] !== null && field[1] !== "",
  );
  const width = Math.max(...fields.map(([name]) => name.length));
  const stack: unknown = job.lastError?.stack;
  return [
    ...fields.map(([name, value]) => `${out.style("dim", name.padEnd(width))}  ${value}`),
    ...(typeof stack === "string" ? ["", ...stack.split("\n")] : []),
    ...(attempts.length === 0 ? [] : ["", ...attemptTable(attempts, out.width)]),
  ];
}

function fieldsOf(job: JobRecord, why: readonly Reason[], progress: Json): [string, string | null][] {
  return [
    ["id", job.id],
    ["state", job.reason ? `${job.state} (${job.reason})` : job.state],
    ["type", job.type],
    ["queue", job.queue],
    ["priority", String(job.priority)],
    ["cost", job.cost === 1 ? null : String(job.cost)],
    ["group", job.group],
    ["tenant", job.tenant],
    ["fingerprint", job.fingerprint],
    ["schedule", job.schedule],
    ["attempts", `${job.attempts} of ${job.maxAttempts === Infinity ? "unlimited" : job.maxAttempts}`],
    ["started by", job.parent],
    ["waits for", waitsText(job)],
    ["why it waits", job.waits === null ? whyLines(why).join("; ") : null],
    ["created", time(job.createdAt)],
    ["run at", time(job.runAt)],
    ["expires", time(job.expiresAt)],
    ["deadline", time(job.deadline)],
    ["finished", time(job.finishedAt)],
    ["discarded", time(job.discardedAt)],
    ["worker", job.worker],
    ["lease ends", job.leaseEndsAt && `${time(job.leaseEndsAt)}${job.leaseEnded ? " (ended)" : ""}`],
    ["headers", shown(job.headers)],
    ["input", shown(job.input)],
    [
      "payload",
      job.payloadSize === null ? null : `${bytes(job.payloadSize)}${job.contentType ? ` of ${job.contentType}` : ""}`,
    ],
    ["progress", shown(progress)],
    ["result", shown(job.result)],
    ["error", errorText(job.lastError)],
  ];
}

const shown = (value: Json): string | null => (value === null ? null : exactText(value));

function attemptTable(attempts: readonly AttemptRecord[], width: number): string[] {
  return textTable(
    [
      { title: "ATTEMPT", align: "right" },
      { title: "OUTCOME" },
      { title: "STARTED" },
      { title: "TOOK", align: "right" },
      { title: "WORKER" },
      { title: "ERROR" },
    ],
    attempts.map((attempt) => [
      String(attempt.attempt),
      attempt.outcome,
      time(attempt.startedAt),
      duration(attempt.finishedAt.getTime() - attempt.startedAt.getTime()),
      attempt.worker ?? "",
      errorText(attempt.error),
    ]),
    width,
  );
}
