import { existsSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { type AnyJobDefinition, defineJob } from "../job/define-job.js";
import type { Millrace } from "../client/millrace.js";
import type { Handler, HandlerOptions } from "../worker/handler.js";
import type { Worker } from "../worker/worker.js";
import { allowTypeScript, isTypeScript } from "./typescript.js";
import { UsageError } from "./usage-error.js";

/** One handler in a file's default export. A type's name stands for a definition without schema. */
type HandlerEntry = readonly [definition: AnyJobDefinition | string, handler: Handler, options?: HandlerOptions];

/** What `millrace work` expects a file to export. */
interface HandlersModule {
  /** A function that registers handlers, or a list of them. */
  readonly default?: ((worker: Worker, mill: Millrace) => unknown) | readonly HandlerEntry[];
  /** Called once, when the last job has ended. */
  readonly close?: () => unknown;
}

const remedy = "export default a function (worker, mill) => …, or an array of [definition or type, handler, options]";

/** A handlers file, loaded. */
export class HandlersFile {
  private constructor(
    readonly file: string,
    readonly module: HandlersModule,
  ) {}

  static async load(file: string): Promise<HandlersFile> {
    const full = handlersPath(file);
    if (isTypeScript(full)) allowTypeScript(full);
    try {
      return new HandlersFile(file, (await import(pathToFileURL(full).href)) as HandlersModule);
    } catch (cause) {
      const help =
        (cause as { code?: unknown }).code === "ERR_UNKNOWN_FILE_EXTENSION"
          ? "give JavaScript or TypeScript, or run node --import with a loader for this language"
          : undefined;
      throw new UsageError(`${file} cannot be loaded`, help, cause);
    }
  }

  /** Give the worker what the file exports. */
  async register(worker: Worker, mill: Millrace): Promise<void> {
    const exported = this.module.default;
    if (typeof exported === "function") {
      await exported(worker, mill);
    } else if (Array.isArray(exported)) {
      for (const entry of exported as readonly HandlerEntry[]) this.#handle(worker, entry);
    } else {
      throw new UsageError(`${this.file} has no handlers`, remedy);
    }
  }

  #handle(worker: Worker, entry: HandlerEntry): void {
    if (!Array.isArray(entry)) throw new UsageError(`${this.file} lists something that is no handler`, remedy);
    const [definition, handler, options] = entry as HandlerEntry;
    worker.handle(typeof definition === "string" ? defineJob(definition) : definition, handler, options);
  }

  async close(): Promise<void> {
    await this.module.close?.();
  }
}

/** Where a handlers file is; refuses one that does not exist. */
export function handlersPath(file: string): string {
  const full = path.resolve(file);
  if (!existsSync(full)) throw new UsageError(`there is no file ${file}`);
  return full;
}
