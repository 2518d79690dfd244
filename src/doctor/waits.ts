import { type Check, type Finding, ok, wrong } from "./check.js";
import { plural } from "./words.js";

/** People take weeks to decide; what nobody has decided after this long is forgotten rather than late. */
const longDays = 30;

interface Stuck {
  readonly problem: "endless" | "gone" | "unhandled" | "untaken" | "untold";
  readonly queue: string;
  readonly type: string;
  readonly jobs: string;
  readonly first: string;
  readonly about: string;
}

/** Suspended jobs can go on some day, and so can runs of older versions. */
export const waitsCheck: Check = {
  name: "waits",
  needsSchema: true,
  async run({ read, schema }) {
    const stuck = await read<Stuck>(
      `select problem, queue, type, count(*) as jobs, (array_agg(job_id::text order by suspended_at))[1] as first,
              (array_agg(about order by suspended_at))[1] as about
         from :waits_audit($1) group by problem, queue, type order by problem, queue, type`,
      [longDays],
    );
    return stuck.length > 0 ? stuck.map((one) => told(one, schema)) : [ok("nothing waits in vain")];
  },
};

function told({ problem, queue, type, jobs, first, about }: Stuck, schema: string): Finding {
  const which = `${plural(Number(jobs), "job")} of type "${type}" in queue "${queue}"`;
  const example = `such as ${first}`;
  switch (problem) {
    case "endless":
      return wrong(
        `${which}, ${example}, ${Number(jobs) === 1 ? "has" : "have"} waited more than ${longDays} days for a signal (${about}), and would wait for ever`,
        `tell it ("millrace tell ${first} NAME") or cancel it ("millrace jobs cancel ${first}"); give step.waitFor a timeout, or the job a deadline`,
      );
    case "gone":
      return wrong(
        `${which}, ${example}, ${Number(jobs) === 1 ? "waits" : "wait"} for children that are gone, such as ${about}`,
        `cancel it ("millrace jobs cancel ${first}"), and enqueue it again`,
      );
    case "unhandled":
      return wrong(
        `${which}, ${example}, began with version ${about} of the handler, which the worker that had it last does not have`,
        `run a worker with worker.handle(definition, handler, { version: ${about} }) until such runs have ended`,
      );
    case "untaken":
      return wrong(
        `${plural(Number(about), "job")} of type "${type}" in queue "${queue}", ${example}, ${Number(about) === 1 ? "is" : "are"} suspended, and no worker that is known handles that type`,
        `run a worker that does (worker.handle), or cancel such jobs ("millrace jobs cancel")`,
      );
    case "untold":
      return wrong(
        `${which}, ${example}, ${Number(jobs) === 1 ? "waits" : "wait"} for children that have ended, such as ${about}, and nobody tells`,
        `run a worker ("millrace work"), which delivers such notices; by hand: select ${schema}.notices_deliver()`,
      );
  }
}
