import { expect, it } from "vitest";
import { firstJob, firstWorker } from "../../dashboard/parts/samples.js";
import { Millrace, defineJob } from "../../src/index.js";
import { useDatabase } from "../support/database.js";

const db = useDatabase();

/** Run a sample as it stands, on the database of this file, and hand back what it has made. */
async function run(sample: string, names: string): Promise<Record<string, unknown>> {
  const body = sample.replaceAll(/^import .*$/gm, "").replace("process.env.DATABASE_URL", "connection");
  const AsyncFunction = (async () => {}).constructor as new (
    ...parts: string[]
  ) => (...args: unknown[]) => Promise<Record<string, unknown>>;
  return new AsyncFunction("Millrace", "defineJob", "connection", `${body}\nreturn { ${names} };`)(
    class extends Millrace {
      constructor(options: object) {
        super({ ...options, schema: db.engine.schema });
      }
    },
    defineJob,
    db.url,
  );
}

it("what empty pages show can be run", async () => {
  const { mill } = (await run(firstJob, "mill")) as { mill: Millrace };
  const [job] = await mill.jobs.list({ type: "send-mail" });
  const made = (await run(firstWorker, "mill")) as { mill: Millrace };
  expect(await made.mill.result(job!.id, { timeout: "20s" })).toBeNull();
  await Promise.all([mill.close(), made.mill.close()]);
});
