import { InvalidArgumentError } from "../db/errors.js";
import type { EnqueueOptions } from "../db/types.js";
import { type AnyJobDefinition, versionHeader } from "./define-job.js";
import { type JobOptions, toEngineOptions } from "./job-options.js";

/** A job as the engine takes it. */
export type EngineJob = EnqueueOptions & { readonly type: string; readonly input: unknown };

/**
 * A job of a definition, or of a type that is named: its input is checked, its options are the definition's where it
 * has none of its own.
 */
export async function newJob(
  definition: AnyJobDefinition | string,
  input: unknown,
  options: JobOptions,
  check = true,
): Promise<EngineJob> {
  if (typeof definition === "string") return { ...toEngineOptions(options), type: definition, input };
  if (typeof definition?.checkInput !== "function")
    throw new InvalidArgumentError("this is not a job definition", "make one with defineJob, or give a type's name");
  if (check) await definition.checkInput(input);
  const { type, version, defaults } = definition;
  const versioned = version === 1 ? options : { ...options, headers: { ...options.headers, [versionHeader]: version } };
  return { ...toEngineOptions({ ...defaults, ...given(versioned) }), type, input };
}

/** An option that is undefined was not given: the definition's default holds. */
export function given<Options extends object>(
  options: Options,
): { [Key in keyof Options]: Exclude<Options[Key], undefined> } {
  return (
    Object.values(options).includes(undefined)
      ? Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
      : options
  ) as {
    [Key in keyof Options]: Exclude<Options[Key], undefined>;
  };
}
