import { ApiError, send } from "../../api.js";
import { type Act, because, filled } from "../../parts/act.js";
import type { Job } from "../../wire.js";

/** The server says so when there was nothing to do any more. */
async function post(job: Job, verb: string, body: object = {}): Promise<void> {
  const { done } = await send<{ done: boolean }>("POST", `jobs/${job.id}/${verb}`, body);
  if (!done)
    throw new ApiError("its state has changed meanwhile, and nothing was done", 409, undefined, "look at it again");
}

export const retry = (job: Job): Act => ({
  title: `Retry ${job.type}`,
  explain: "It gets another attempt, at once.",
  fields: [{ name: "attempts", label: "More attempts", kind: "number", min: 1, value: "1" }, because],
  button: "Retry",
  run: ({ attempts, ...values }) =>
    post(job, "retry", { ...(attempts && { attempts: Number(attempts) }), ...filled(values) }),
  done: () => `${job.type} ${job.id} will be tried again`,
  undo: () => post(job, "cancel", { because: "retried by mistake" }),
});

export const cancel = (job: Job): Act => ({
  title: `Cancel ${job.type}`,
  explain:
    job.state === "running"
      ? "Its handler hears of it with its next heartbeat. What it has done by then stays done."
      : "It will not be handed out.",
  fields: [because],
  button: "Cancel the job",
  danger: true,
  run: (values) => post(job, "cancel", filled(values)),
  done: () => `${job.type} ${job.id} is cancelled`,
});

export const discard = (job: Job): Act => ({
  title: `Discard ${job.type}`,
  explain: "It stays on record, but nobody will retry it. This cannot be taken back.",
  fields: [because],
  button: "Discard",
  danger: true,
  run: (values) => post(job, "discard", filled(values)),
  done: () => `${job.type} ${job.id} is discarded`,
});
