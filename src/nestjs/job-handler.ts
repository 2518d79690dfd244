import type { AnyJobDefinition, JobDefinition } from "../job/define-job.js";
import type { Handler, HandlerOptions } from "../worker/handler.js";

/** A method that runs the jobs of a type. */
export interface HandlerMethod {
  readonly key: string | symbol;
  readonly definition: AnyJobDefinition;
  readonly options: HandlerOptions;
}

/** By the prototype of its class, and not by the method: other decorators may put another in its place. */
const methods = new WeakMap<object, HandlerMethod[]>();

/**
 * The method of a provider (or a controller) that runs the jobs of a type, with the options of `worker.handle`. It gets
 * the job and its context, as any handler does; its types are checked. Where `MillraceModule` has a worker, Nest's
 * application runs it.
 *
 * @example
 * ```ts
 * import { Injectable } from "@nestjs/common";
 * import { type Context, type Job, defineJob } from "millrace";
 * import { JobHandler } from "millrace/nestjs";
 *
 * export const welcome = defineJob<{ email: string }>("welcome");
 *
 * @Injectable()
 * export class WelcomeJobs {
 *   @JobHandler(welcome, { concurrency: 5 })
 *   async send(job: Job<{ email: string }>, { signal }: Context): Promise<void> {
 *     await fetch(`https://mail.example/?to=${job.input.email}`, { signal });
 *   }
 * }
 * ```
 */
export function JobHandler<Parsed, Out>(
  definition: JobDefinition<unknown, Parsed, Out, unknown>,
  options: HandlerOptions = {},
): <Method extends Handler<Parsed, Out>>(
  prototype: object,
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<Method>,
) => void {
  return (prototype, key) => {
    const own = methods.get(prototype) ?? [];
    own.push({ key, definition: definition as AnyJobDefinition, options });
    methods.set(prototype, own);
  };
}

/** Those of an object, inherited ones too, unless the class below has the method for itself. */
export function handlerMethodsOf(instance: object): readonly HandlerMethod[] {
  const found: HandlerMethod[] = [];
  for (let at: object | null = Object.getPrototypeOf(instance); at !== null; at = Object.getPrototypeOf(at))
    for (const method of methods.get(at) ?? [])
      if (!found.some(({ key, definition }) => key === method.key && definition === method.definition))
        found.push(method);
  return found;
}
