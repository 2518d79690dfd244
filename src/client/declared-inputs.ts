import type { Engine } from "../db/engine.js";
import { InputError, NotGrantedError } from "../db/errors.js";
import { type SchemaIssue, schemaIssues } from "../db/json-schema.js";
import { versionHeader } from "../job/define-job.js";

/** A job as far as its input can be checked. */
export interface CheckedJob {
  readonly type: string;
  readonly input?: unknown;
  readonly headers?: unknown;
}

interface Known {
  readonly version: number;
  readonly schema: unknown;
}

/** How long what was read holds. An input that it refuses is compared with what is declared just then. */
const freshMs = 10_000;
/** One that was declared earlier may have been committed later. */
const overlapMs = 60_000;

/**
 * Checks inputs of those who enqueue without the code, by the schemas that workers have declared for their types. They
 * are kept; what was declared since is read at most every ten seconds, however many jobs come. An input counts as of
 * version 1 when no header says otherwise; one of another version than the declared one is not checked.
 */
export class DeclaredInputs {
  readonly #known = new Map<string, Known>();
  #newest: Date | undefined;
  #readAt = -Infinity;
  #reading: Promise<void> | undefined;

  constructor(private readonly engine: Engine) {}

  /** Throws an InputError for the first job whose input does not fit. */
  async check(jobs: readonly CheckedJob[]): Promise<void> {
    if (performance.now() - this.#readAt >= freshMs) await this.#read();
    const bad = this.#find(jobs);
    if (!bad) return;
    await this.#read(); // it may fit what was declared since
    const still = this.#find(jobs);
    if (still) throw new InputError(`the input of ${still.what}`, still.issues);
  }

  #find(jobs: readonly CheckedJob[]): { readonly what: string; readonly issues: SchemaIssue[] } | undefined {
    for (const [n, { type, input, headers }] of jobs.entries()) {
      const known = this.#known.get(type);
      if (!known || known.version !== versionOf(headers)) continue;
      const issues = schemaIssues(known.schema, input);
      if (issues.length > 0) return { what: jobs.length === 1 ? `"${type}"` : `"${type}" (jobs.${n})`, issues };
    }
    return undefined;
  }

  #read(): Promise<void> {
    this.#reading ??= this.#readNew().finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  /** A role that may not look enqueues unchecked, as by SQL. */
  async #readNew(): Promise<void> {
    const since = this.#newest && new Date(this.#newest.getTime() - overlapMs);
    const definitions = await this.engine.server.schemas(since).catch((error: unknown) => {
      if (error instanceof NotGrantedError) return [];
      throw error;
    });
    this.#readAt = performance.now();
    for (const { type, version, inputSchema, declaredAt } of definitions) {
      if (inputSchema === null) this.#known.delete(type);
      else this.#known.set(type, { version, schema: inputSchema });
      if (!this.#newest || declaredAt > this.#newest) this.#newest = declaredAt;
    }
  }
}

function versionOf(headers: unknown): number {
  const told = (headers as Readonly<Record<string, unknown>> | null | undefined)?.[versionHeader];
  return told === undefined ? 1 : Number(told);
}
