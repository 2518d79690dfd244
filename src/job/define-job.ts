import { InvalidArgumentError } from "../db/errors.js";
import { checkKeys, checkType, encodeOptions, toJson } from "../db/encode.js";
import type { ClaimedJob } from "../db/types.js";
import { type JobDefaults, jobDefaultKeys, toEngineOptions } from "./job-options.js";
import {
  type SchemaInput,
  type SchemaOutput,
  type StandardSchema,
  checkSchema,
  jsonSchemaOf,
  validate,
} from "./standard-schema.js";

/** The header that says in which version an input was written; absent for version 1. */
export const versionHeader = "millrace-version";

/** Turns the input of one version into that of the next. */
export type Upcast = (input: never) => unknown;

/** Options of `defineJob`: the version of its input, and defaults for its jobs. */
export interface JobDefinitionOptions extends JobDefaults {
  /** Version of the input; raise it when the input changes its shape. Default 1. */
  readonly version?: number;
  /**
   * For each older version, how its input becomes the next version's, so that jobs in flight survive a deploy. Default
   * none.
   */
  readonly upcast?: Readonly<Record<number, Upcast>>;
}

/**
 * A type of job: its name, what goes in, what its handler gets, and what comes out. `In` is what `enqueue` takes,
 * `Parsed` what the handler gets, `Out` what the handler returns, `Result` what is stored.
 */
export interface JobDefinition<In = unknown, Parsed = In, Out = unknown, Result = Out> {
  readonly type: string;
  readonly version: number;
  readonly defaults: JobDefaults;
  /** Check an input before it is stored. */
  readonly checkInput: (input: unknown) => Promise<void>;
  /** A stored input as the handler gets it: brought to this version, then checked. */
  readonly readInput: (job: Pick<ClaimedJob, "input" | "headers">) => Promise<Parsed> | Parsed;
  /** A result as it is stored, or a promise of it. */
  readonly checkResult: (result: unknown) => unknown;
  /** The JSON Schema of its input, where its schema library offers one; undefined where it does not. */
  readonly inputSchema: () => unknown;
  /** For the compiler only. */
  readonly types?: { readonly in: In; readonly parsed: Parsed; readonly out: Out; readonly result: Result };
}

/** A definition of any type. */
// oxlint-disable-next-line typescript/no-explicit-any -- stands for any definition, whatever its types
export type AnyJobDefinition = JobDefinition<any, any, any, any>;

/**
 * Define a type of job with schemas: any Standard Schema, such as those of zod, valibot and arktype.
 *
 * @example
 * ```ts
 * const resize = defineJob("resize-image", {
 *   input: z.object({ key: z.string() }),
 *   maxAttempts: 5, retryDelay: ["10s", "1m", "5m"], attemptTimeout: "2m",
 * });
 * ```
 */
export function defineJob<I extends StandardSchema, R extends StandardSchema = StandardSchema>(
  type: string,
  options: JobDefinitionOptions & { readonly input: I; readonly result?: R },
): JobDefinition<SchemaInput<I>, SchemaOutput<I>, SchemaInput<R>, SchemaOutput<R>>;

/**
 * Define a type of job by its TypeScript types alone; nothing is checked when it runs.
 *
 * @example
 * ```ts
 * const resize = defineJob<{ key: string }>("resize-image");
 * ```
 */
export function defineJob<In = unknown, Out = unknown>(
  type: string,
  options?: JobDefinitionOptions,
): JobDefinition<In, In, Out, Out>;

export function defineJob(
  type: string,
  options: JobDefinitionOptions & { readonly input?: StandardSchema; readonly result?: StandardSchema } = {},
): AnyJobDefinition {
  checkKeys(options, new Set([...jobDefaultKeys, "input", "result", "version", "upcast"]));
  checkType(type);
  const { input, result, version = 1, upcast = {}, ...defaults } = options;
  for (const [what, schema] of Object.entries({ input, result }))
    if (schema !== undefined) checkSchema(schema, `the ${what} of "${type}"`);
  if (!Number.isInteger(version) || version < 1)
    throw new InvalidArgumentError(`version ${version} of "${type}" is not possible`, "count from 1");
  for (let older = 1; older < version; older += 1) {
    if (typeof upcast[older] !== "function") {
      throw new InvalidArgumentError(
        `"${type}" has version ${version}, but no upcast from version ${older}`,
        `add upcast: { ${older}: (input) => … }`,
      );
    }
  }
  encodeOptions(toEngineOptions(defaults)); // what is wrong with them is told here, not at the first enqueue
  return Object.freeze({
    type,
    version,
    defaults: Object.freeze(defaults),
    // As it will be stored: a Date, say, would come back as text, and must not be found unfit only then.
    checkInput: async (value: unknown) => {
      if (input) await validate(input, JSON.parse(toJson(value)), `the input of "${type}"`);
    },
    readInput: (job: Pick<ClaimedJob, "input" | "headers">) => {
      let value: unknown = job.input;
      for (let from = storedVersion(job); from < version; from += 1) value = upcast[from]!(value as never);
      return input ? validate(input, value, `the input of "${type}"`) : value;
    },
    inputSchema: () => (input ? jsonSchemaOf(input) : undefined),
    checkResult: (value: unknown) => (result ? validate(result, value, `the result of "${type}"`) : value),
  });
}

/** The version in which a job's input was written. */
export function storedVersion(job: Pick<ClaimedJob, "headers">): number {
  const version = Number(job.headers?.[versionHeader] ?? 1);
  return Number.isInteger(version) && version >= 1 ? version : 1;
}
