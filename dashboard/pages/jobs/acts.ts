import { send } from "../../api.js";
import { type Act, because, filled } from "../../parts/act.js";
import type { Job } from "../../wire.js";

const post = (job: Job, verb: string, body: object = {}) => send("POST", `jobs/${job.id}/${verb}`, body);

export const retry = (job: Job): Act => ({
  title: `Retry ${job.type}`,
  explain: "It gets another attempt, at once.",
  fields: [{ name: "attempts", label: "More attempts", kind: "number", min: 1, value: "1" }, because],
  button: "Retry",
  run: ({ attempts, ...values }) => post(job, "retry", { ...(attempts && { attempts: Number(attempts) }), ...filled(values) }),
  done: () => `${job.type} ${job.id} will be tried again`,
  undo: () => post(job, "cancel", { because: "retried by mistake" }),
});

export const cancel = (job: Job): Act => ({
  title: `Cancel ${job.type}`,
  explain: job.state === "running" ? "Its handler hears of it with its next heartbeat. What it has done by then stays done." : "It will not be handed out.",
  fields: [because],
  button: "Cancel the job",
  danger: true,
  run: (values) => post(job, "cancel", filled(values)),
  done: () => `${job.type} ${job.id} is cancelled`,
});

export const discard = (job: Job): Act => ({
  title: `Discard ${job.type}`,
  explain: "It stays on record, but no longer waits for a decision. It can still be retried.",
  fields: [because],
  button: "Discard",
  run: (values) => post(job, "discard", filled(values)),
  done: () => `${job.type} ${job.id} is discarded`,
});

export const runNow = (job: Job): Act => ({
  title: `Run ${job.type} now`,
  explain: "It does not wait for its time any longer.",
  button: "Run now",
  run: () => post(job, "run-now"),
  done: () => `${job.type} ${job.id} is ready`,
});
