import { describe, expect, it, onTestFinished, vi } from "vitest";
import { JobFailedError } from "../../src/db/errors.js";
import { defineJob } from "../../src/job/define-job.js";
import type { Logger } from "../../src/observe/logger.js";
import { guardMetrics } from "../../src/observe/metrics.js";
import { warn, warningCodes } from "../../src/observe/warning.js";
import { retryLater } from "../../src/worker/outcome.js";
import { readFileSync } from "node:fs";
import { useMill } from "../support/mill.js";
import { until } from "../support/wait.js";

const test = useMill();

/** An error as applications make them. */
class PaymentError extends Error {
  override readonly name = "PaymentError";

  constructor(
    message: string,
    readonly declineCode: string,
    cause: Error,
  ) {
    super(message, { cause });
  }
}

interface Line {
  readonly level: string;
  readonly fields: Record<string, unknown>;
  readonly message: string;
}

function collector(): { readonly lines: Line[]; readonly logger: Logger } {
  const lines: Line[] = [];
  const at = (level: string) => (fields: object, message: string) =>
    void lines.push({ level, fields: fields as Record<string, unknown>, message });
  return { lines, logger: { warn: at("warn"), error: at("error") } };
}

const boom = () => new PaymentError("declined", "insufficient_funds", new TypeError("no money"));

describe("a failure is heard", () => {
  it("by the logger and by listeners, as the error that was thrown, with class, fields and cause", async () => {
    const { lines, logger } = collector();
    const queue = await test.queue();
    const charge = defineJob("charge", { maxAttempts: 2, retryDelay: 0 });
    const thrown: unknown[] = [];
    const worker = test
      .worker(queue, { name: "w" }, test.open({ logger }))
      .handle(charge, () => {
        throw boom();
      })
      .on("failure", (_job, error) => thrown.push(error));
    await worker.start();
    const job = await test.mill.enqueue(charge, null, { queue });
    const failure = await test.mill.result(job, { timeout: "20s" }).catch((error: unknown) => error);
    expect(thrown).toEqual([expect.any(PaymentError), expect.any(PaymentError)]);
    expect(thrown[0]).toMatchObject({ declineCode: "insufficient_funds", cause: expect.any(TypeError) });
    const fields = { worker: "w", job: job.id, type: "charge", queue, maxAttempts: 2 };
    expect(lines).toEqual([
      {
        level: "warn",
        fields: { ...fields, attempt: 1, final: false, err: thrown[0] },
        message: `charge ${job.id} failed (attempt 1 of 2): PaymentError: declined`,
      },
      {
        level: "error",
        fields: { ...fields, attempt: 2, final: true, err: thrown[1] },
        message: `charge ${job.id} failed for good (attempt 2 of 2): PaymentError: declined`,
      },
    ]);
    expect(failure).toBeInstanceOf(JobFailedError);
    expect((failure as JobFailedError).cause).toMatchObject({ name: "PaymentError", message: "declined" });
    expect(((failure as JobFailedError).cause as Error).cause).toMatchObject({
      name: "TypeError",
      message: "no money",
    });
    expect(((failure as JobFailedError).cause as Error).stack).toContain("logger.test.ts");
  });

  it("on the console, in one line, by default; and nowhere when the logger is false", async () => {
    const queue = await test.queue();
    const type = defineJob("noisy", { maxAttempts: 1 });
    const said = vi.spyOn(console, "error").mockImplementation(() => {});
    onTestFinished(() => said.mockRestore());
    const run = async (logger: undefined | false): Promise<string> => {
      const worker = test
        .worker(queue, {}, test.open(logger === undefined ? { logger: console as never } : { logger }))
        .handle(type, () => {
          throw new Error("two\nlines \u001b[31m");
        });
      await worker.start();
      const { id } = await test.mill.enqueue(type, null, { queue });
      await test.mill.result(id, { timeout: "20s" }).catch(() => {});
      await worker.stop();
      return id;
    };
    const id = await run(undefined);
    expect(said.mock.calls).toEqual([
      [`millrace: noisy ${id} failed for good (attempt 1 of 1): two\\nlines \\u001b[31m`],
    ]);
    said.mockClear();
    await run(false);
    expect(said).not.toHaveBeenCalled();
  });

  it("also where nothing was thrown, and a logger that throws breaks nothing", async () => {
    const queue = await test.queue();
    const type = defineJob("later", { maxAttempts: 2 });
    const warnings: (Error & { code?: string })[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning);
    process.on("warning", onWarning);
    onTestFinished(() => void process.off("warning", onWarning));
    const broken = (): never => {
      throw new Error("the disk is full");
    };
    const errors: unknown[] = [];
    const worker = test
      .worker(queue, {}, test.open({ logger: { warn: broken, error: broken } }))
      .handle(type, (job) => (job.attempt === 1 ? retryLater(0, "not yet") : 1))
      .on("failure", (_job, error) => errors.push(error));
    await worker.start();
    expect(await test.mill.result(await test.mill.enqueue(type, null, { queue }), { timeout: "20s" })).toBe(1);
    expect(errors).toEqual([new Error("not yet")]);
    await until("that is told", () => warnings.length > 0);
    expect(warnings.map(({ name, code, message }) => [name, code, message])).toEqual([
      ["MillraceWarning", "MILLRACE_LOGGER", "the disk is full"],
    ]);
  });
});

describe("a warning of the process", () => {
  it("has the code that is documented, and no other is given", async () => {
    const page = readFileSync(new URL("../../docs/observability.md", import.meta.url), "utf8");
    const documented = [...page.matchAll(/^\| `(MILLRACE_\w+)`/gm)].map(([, code]) => code);
    expect(documented).toEqual([...warningCodes]);
    const codes: (string | undefined)[] = [];
    const onWarning = (warning: Error & { code?: string }): void => void codes.push(warning.code);
    process.on("warning", onWarning);
    onTestFinished(() => void process.off("warning", onWarning));
    for (const code of warningCodes) warn(code, new Error("trouble"));
    const broken = guardMetrics({ count: () => JSON.parse("{"), move: () => {}, observe: () => {} });
    broken.count("millrace_jobs_enqueued_total", {});
    await until("all are told", () => codes.length === warningCodes.length + 1);
    expect(codes).toEqual([...warningCodes, "MILLRACE_METRICS"]);
  });
});
