// A handler for its own thread or process; what it does is in its input.
import { threadId } from "node:worker_threads";

let isBusy = false;

export default async function handler(job, { progress, log, signal }) {
  const { act } = job.input;
  if (act === "return") return { attempt: job.attempt, last: job.isLastAttempt };
  if (act === "progress") return void (await progress({ half: true }));
  if (act === "result") {
    const { Millrace } = await import("../../../dist/index.js");
    const mill = new Millrace({ connection: { connectionString: "postgres://127.0.0.1:1/none" }, logger: false });
    return mill.result("1").catch(({ code, message }) => [code, message]);
  }
  if (act === "permanent") throw Object.assign(new Error("no use"), { name: "PermanentError" });
  if (act === "log") {
    log("about to fail");
    throw new Error("failed as asked");
  }
  if (act === "wait") return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  if (act === "block") for (;;);
  if (act === "count") {
    const other = isBusy;
    isBusy = true;
    await new Promise((resolve) => setTimeout(resolve, 5));
    isBusy = false;
    return { host: `${process.pid} ${threadId}`, other };
  }
  if (act === "crash") process.kill(process.pid, "SIGKILL");
}
