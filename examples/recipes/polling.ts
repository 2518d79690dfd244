// Start something elsewhere, and look again and again until it is ready.
import { type Handler, PermanentError, defineJob } from "millrace";

export interface ExportApi {
  start(report: string, key: string): Promise<{ id: string }>;
  look(id: string): Promise<{ state: "busy" | "ready" | "failed"; url?: string }>;
}

interface Export {
  readonly report: string;
}
interface Exported {
  readonly url: string;
}

export const exportReport = defineJob<Export, Exported>("export-report");

export function runExport(api: ExportApi): Handler<Export, Exported> {
  return async ({ input }, { step }) => {
    const { id } = await step.run("start", ({ key }) => api.start(input.report, key), { maxAttempts: 5 });
    for (let looks = 0, seconds = 5; looks < 100; looks += 1, seconds = Math.min(seconds * 2, 600)) {
      await step.sleep("pause", { seconds });
      const { state, url } = await step.run("look", () => api.look(id), { maxAttempts: 10 });
      if (state === "failed") throw new PermanentError(`export ${id} failed`);
      if (url !== undefined) return { url };
    }
    throw new PermanentError(`export ${id} is not ready after 100 looks`);
  };
}
