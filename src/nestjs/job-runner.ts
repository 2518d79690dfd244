// oxlint-disable-next-line typescript/triple-slash-reference -- an ambient module cannot be imported
/// <reference path="./nest-core.d.ts" />
import type { DiscoveryService } from "@nestjs/core";
import type { Millrace } from "../client/with-workers.js";
import { InvalidArgumentError } from "../db/errors.js";
import type { Handler } from "../worker/handler.js";
import type { WorkerOptions } from "../worker/worker-options.js";
import type { Worker } from "../worker/worker.js";
import { handlerMethodsOf } from "./job-handler.js";

/** Runs what `@JobHandler` marks, as long as the application lives. Nest calls these methods by their names. */
export class JobRunner {
  #worker: Worker | undefined;

  constructor(
    private readonly mill: Millrace,
    private readonly discovery: DiscoveryService,
    private readonly options: WorkerOptions | undefined,
  ) {}

  /** After all modules are ready. */
  async onApplicationBootstrap(): Promise<void> {
    if (this.options === undefined) return;
    const worker = this.mill.worker(this.options);
    const found = this.#register(worker);
    if (found === 0)
      throw new InvalidArgumentError(
        "MillraceModule has a worker, and no provider has a method with @JobHandler",
        "list the class among the providers of a module that the application imports, or leave worker out",
      );
    await worker.start();
    this.#worker = worker;
  }

  /** Handlers use other providers, so that they end before any of those is asked to. */
  async onModuleDestroy(): Promise<void> {
    await this.#worker?.stop();
  }

  /** Last, because others may still enqueue while they end. */
  async onApplicationShutdown(): Promise<void> {
    await this.mill.close();
  }

  #register(worker: Worker): number {
    let found = 0;
    for (const wrapper of [...this.discovery.getProviders(), ...this.discovery.getControllers()]) {
      const { instance } = wrapper;
      if (typeof instance !== "object" || instance === null) continue;
      for (const { key, definition, options } of handlerMethodsOf(instance)) {
        if (!wrapper.isDependencyTreeStatic())
          throw new InvalidArgumentError(
            `${String(wrapper.name)} is made anew for each request, and a job is none`,
            "move the method with @JobHandler to a provider of the default scope",
          );
        const methods = instance as Record<string | symbol, Handler>;
        worker.handle(definition, (job, context) => methods[key]!(job, context), options);
        found += 1;
      }
    }
    return found;
  }
}
