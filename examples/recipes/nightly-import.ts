// A nightly import: a schedule starts a job, which looks what there is to import and makes a flow of it, exactly once.
import type { NodePgDatabase } from "drizzle-orm/node-postgres";
import { type Handler, type JobId, type Millrace, defineJob } from "millrace";

export interface Store {
  files(day: string): Promise<readonly string[]>;
}

interface Nightly {
  readonly flow: JobId;
}

export const nightly = defineJob<null, Nightly>("nightly-import");
export const extract = defineJob<{ file: string }, { rows: number }>("extract", { maxAttempts: 5 });
export const load = defineJob<{ day: string }, { rows: number }>("load");
export const report = defineJob<{ day: string; files: number }>("import-report");

/** At every start of every process: the same again changes nothing. */
export const declareNightly = (mill: Millrace) =>
  mill.schedule("nightly-import", { cron: "0 2 * * *", tz: "Europe/Berlin" }, nightly, null);

export function startImport(mill: Millrace, db: NodePgDatabase, store: Store): Handler<null, Nightly> {
  return async ({ slotAt, createdAt }, { step }) => {
    const day = (slotAt ?? createdAt).toISOString().slice(0, 10); // never the clock: another call may be tomorrow
    const files = await step.run("files", () => store.files(day), { maxAttempts: 10, retryDelay: "1m" });
    const flow = await step.transaction("flow", db, async (tx) => {
      const made = mill.flow({ name: `import ${day}` });
      const parts = files.map((file) => made.add(extract, { file }));
      const loaded = made.add(load, { day }, { after: parts });
      made.add(report, { day, files: files.length }, { after: [...parts, loaded], when: "ended" });
      return (await made.enqueue({ tx })).id;
    });
    return { flow };
  };
}

/** The results of what it waited for. */
export const loadAll: Handler<{ day: string }, { rows: number }> = async (job) => {
  const parts = await job.parents(extract);
  return { rows: parts.reduce((sum, { rows }) => sum + rows, 0) };
};
