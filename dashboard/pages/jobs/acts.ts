import { parseExact } from "../../../src/db/exact-json.js";
import { ApiError, get, send } from "../../api.js";
import { plural } from "../../format.js";
import { type Act, because, filled } from "../../parts/act.js";
import { isolated } from "../../parts/isolated.js";
import type { Job, Touch } from "../../wire.js";

/** The server says so when there was nothing to do any more. */
async function post(job: Job, verb: string, body: object = {}): Promise<void> {
  const { done } = await send<{ done: boolean }>("POST", `jobs/${job.id}/${verb}`, body);
  if (!done)
    throw new ApiError("its state has changed meanwhile, and nothing was done", 409, undefined, "look at it again");
}

export const retry = (job: Job): Act => ({
  title: `Retry ${isolated(job.type)}`,
  explain: "It gets another attempt, at once. This cannot be taken back; a cancel would end it for good.",
  fields: [{ name: "attempts", label: "More attempts", kind: "number", min: 1, value: "1" }, because],
  button: "Retry",
  run: ({ attempts, ...values }) =>
    post(job, "retry", { ...(attempts && { attempts: Number(attempts) }), ...filled(values) }),
  done: () => `${isolated(job.type)} ${job.id} will be tried again`,
});

export const runNow = (job: Job): Act => ({
  title: `Run ${isolated(job.type)} now`,
  explain: "It is due now instead of at its time. This cannot be taken back.",
  fields: [because],
  button: "Run now",
  run: (values) => post(job, "run-now", filled(values)),
  done: () => `${isolated(job.type)} ${job.id} is due now`,
});

/** Let a run go back to one of its steps. `again`: the steps that it will do once more, the first of them first. */
export const rewind = (job: Job, step: string, again: readonly string[]): Act => ({
  title: `Rewind ${isolated(job.type)} to ${isolated(step)}`,
  explain: `${listed(again)} will be done again, with all that they do outside. Jobs that they have started and that have not ended are cancelled; signals stay got. ${
    job.state === "failed" || job.state === "expired" ? "The run gets another attempt. " : ""
  }This cannot be taken back.`,
  fields: [because],
  button: "Rewind",
  danger: true,
  run: (values) => post(job, "rewind", { to: step, ...filled(values) }),
  done: () => `${isolated(job.type)} ${job.id} goes back to ${isolated(step)}`,
});

/** The first few names, and how many more there are. */
function listed(names: readonly string[]): string {
  const some = names.slice(0, 5).join(", ");
  return names.length > 5 ? `${some} and ${plural(names.length - 5, "more step")}` : some;
}

/** A signal for a job that waits for it, or will. */
export const tell = (job: Job): Act => {
  const names = job.waits?.signals ?? [];
  return {
    title: `Tell ${isolated(job.type)}`,
    explain:
      names.length > 0
        ? "It goes on with what it is told. This cannot be taken back."
        : "The signal is kept until the job waits for it. This cannot be taken back.",
    fields: [
      {
        name: "name",
        label: "Signal",
        required: true,
        value: names[0] ?? "",
        ...(names.length > 0 && { options: names }),
      },
      { name: "value", label: "Value", hint: 'JSON, such as {"by": "ann"} or "yes"; null when it is empty' },
      { name: "id", label: "Id", hint: "of signals with the same id one counts" },
    ],
    button: "Tell",
    run: ({ value, ...values }) =>
      send<{ isNew: boolean }>("POST", `jobs/${job.id}/tell`, {
        ...filled(values),
        ...(value && { value: jsonOf(value) }),
      }),
    done: (answer, { name }) =>
      (answer as { isNew?: boolean }).isNew === false
        ? `${isolated(job.type)} ${job.id} was told ${name} before, with this id`
        : `${isolated(job.type)} ${job.id} was told ${name}`,
  };
};

function jsonOf(text: string): unknown {
  try {
    return parseExact(text);
  } catch (error) {
    throw new ApiError(`the value is not JSON: ${(error as Error).message}`, 400, undefined, "put a text in quotes");
  }
}

export const cancel = (job: Job): Act => ({
  title: `Cancel ${isolated(job.type)}`,
  explain:
    job.state === "running"
      ? "Its handler hears of it with its next heartbeat. What it has done by then stays done."
      : job.state === "suspended"
        ? "It will not go on, and jobs that it has started and waits for end with it."
        : "It will not be handed out.",
  fields: [because],
  // Itself, and what is below it.
  count: async () => {
    const { count, isExact } = await get<Touch>(`jobs/${job.id}/below`);
    return { count: count + 1, isExact };
  },
  button: "Cancel the job",
  danger: true,
  run: (values) => post(job, "cancel", filled(values)),
  done: () => `${isolated(job.type)} ${job.id} is cancelled`,
});

export const discard = (job: Job): Act => ({
  title: `Discard ${isolated(job.type)}`,
  explain: "It stays on record, but nobody will retry it. This cannot be taken back.",
  fields: [because],
  button: "Discard",
  danger: true,
  run: (values) => post(job, "discard", filled(values)),
  done: () => `${isolated(job.type)} ${job.id} is discarded`,
});
