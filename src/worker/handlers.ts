import { checkKeys } from "../db/encode.js";
import { InvalidArgumentError } from "../db/errors.js";
import type { DeclaredType } from "../db/types.js";
import type { AnyJobDefinition } from "../job/define-job.js";
import { toEngineOptions } from "../job/job-options.js";
import type { Dispatcher } from "./dispatcher.js";
import type { BatchHandler, BatchHandlerOptions, Handler, HandlerOptions } from "./handler.js";
import { checkConcurrency } from "./worker-options.js";

/** What a worker runs: the handlers of its types, and those of older versions beside them. */
export class Handlers {
  /** By type, the handlers of runs that began with an older version. */
  readonly #older = new Map<string, Map<number, Handler>>();
  readonly #dispatcher: Dispatcher;
  /** Handlers can be registered as long as this says so. */
  readonly #isOpen: () => boolean;

  constructor(dispatcher: Dispatcher, isOpen: () => boolean) {
    this.#dispatcher = dispatcher;
    this.#isOpen = isOpen;
  }

  add(definition: AnyJobDefinition, handler: Handler, options: HandlerOptions): void {
    checkKeys(options, new Set(["concurrency", "version"]));
    const { concurrency, version } = options;
    if (concurrency !== undefined) checkConcurrency(concurrency);
    if (version !== undefined && version !== definition?.version) {
      this.#addOlder(definition, handler, version);
      return;
    }
    this.#checkNew(definition, handler);
    const older = this.#olderOf(definition.type);
    this.#dispatcher.register({ definition, run: { one: handler }, older, size: 1, concurrency });
  }

  addBatch(definition: AnyJobDefinition, handler: BatchHandler, options: BatchHandlerOptions): void {
    checkKeys(options, new Set(["size", "concurrency"]));
    const { size = 100, concurrency = 1 } = options;
    checkConcurrency(concurrency);
    if (!Number.isInteger(size) || size < 1 || size > 10_000)
      throw new InvalidArgumentError(`a batch of ${size} is not possible`, "give 1 to 10,000");
    this.#checkNew(definition, handler);
    this.#dispatcher.register({ definition, run: { many: handler }, size, concurrency });
  }

  /** A worker that begins can run what it is given. */
  check(): void {
    if (this.#dispatcher.types.length === 0)
      throw new InvalidArgumentError("the worker has no handlers", "add one with worker.handle(definition, handler)");
    for (const [type, older] of this.#older)
      if (older.size > 0 && !this.#dispatcher.has(type))
        throw new InvalidArgumentError(
          `"${type}" has handlers of older versions only`,
          "add one of the present version: new runs begin with it",
        );
  }

  /** Its types as the database knows them. */
  declared(): DeclaredType[] {
    return this.#dispatcher.definitions.map(declared);
  }

  #olderOf(type: string): Map<number, Handler> {
    let older = this.#older.get(type);
    if (!older) this.#older.set(type, (older = new Map()));
    return older;
  }

  #addOlder(definition: AnyJobDefinition, handler: Handler, version: number): void {
    checkHandler(definition, handler);
    if (!Number.isInteger(version) || version < 1 || version > definition.version)
      throw new InvalidArgumentError(
        `version ${version} of "${definition.type}" is not possible`,
        `the definition has version ${definition.version}`,
      );
    const older = this.#olderOf(definition.type);
    if (older.has(version))
      throw new InvalidArgumentError(`version ${version} of "${definition.type}" has a handler already`);
    this.#mustBeOpen();
    older.set(version, handler);
  }

  #checkNew(definition: AnyJobDefinition, handler: unknown): void {
    checkHandler(definition, handler);
    if (this.#dispatcher.has(definition.type))
      throw new InvalidArgumentError(
        `"${definition.type}" has a handler already`,
        "register each type once per worker",
      );
    this.#mustBeOpen();
  }

  #mustBeOpen(): void {
    if (!this.#isOpen())
      throw new InvalidArgumentError("the worker has been started", "register handlers before start()");
  }
}

/** A definition as the database knows it. A time that is computed from other options is left to those who have them. */
function declared({ type, version, defaults, inputSchema }: AnyJobDefinition): DeclaredType {
  const { queue, ttlSeconds, ...rest } = toEngineOptions(defaults);
  const schema = inputSchema();
  return {
    type,
    version,
    ...(queue === undefined ? {} : { queue }),
    defaults: { ...rest, ...(typeof ttlSeconds === "number" ? { ttlSeconds } : {}) },
    ...(schema === undefined ? {} : { inputSchema: schema }),
  };
}

function checkHandler(definition: AnyJobDefinition, handler: unknown): void {
  if (typeof definition?.readInput !== "function")
    throw new InvalidArgumentError("this is not a job definition", "make one with defineJob");
  if (typeof handler !== "function")
    throw new InvalidArgumentError(`the handler of "${definition.type}" is not a function`);
}
