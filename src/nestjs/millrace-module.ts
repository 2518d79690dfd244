// oxlint-disable-next-line typescript/triple-slash-reference -- an ambient module cannot be imported
/// <reference path="./nest-core.d.ts" />
import { DiscoveryModule, DiscoveryService } from "@nestjs/core";
import { Millrace } from "../client/with-workers.js";
import type { MillraceOptions } from "../client/millrace-options.js";
import type { WorkerOptions } from "../worker/worker-options.js";
import { JobRunner } from "./job-runner.js";

/** Options of `MillraceModule`: those of `new Millrace`, and a worker. */
export interface MillraceModuleOptions extends MillraceOptions {
  /** Run what `@JobHandler` marks in this process, by a worker with these options. Default: nothing runs here. */
  readonly worker?: WorkerOptions;
}

/** Options of `MillraceModule` that other providers give. */
export interface MillraceModuleFactory {
  /** Modules that have what is injected. */
  readonly imports?: any[];
  /** What `useFactory` is called with. */
  readonly inject?: any[];
  /** Makes the options. */
  readonly useFactory: (...injected: any[]) => MillraceModuleOptions | Promise<MillraceModuleOptions>;
}

/** A module as Nest takes it. */
export interface MillraceDynamicModule {
  /** The class that stands for it. */
  module: typeof MillraceModule;
  /** All modules have it. */
  global: boolean;
  /** What it needs. */
  imports: any[];
  /** What it makes. */
  providers: any[];
  /** What others get of it: the client. */
  exports: any[];
}

const optionsToken = Symbol("the options of MillraceModule");

/**
 * The client as a provider of Nest, in all modules: inject `Millrace`. With `worker` the process runs the methods that
 * `@JobHandler` marks, from when the application is ready until it is closed: running handlers end first, and the
 * client's connections are closed last. Call `app.enableShutdownHooks()`, so that signals close the application. Needs
 * `@nestjs/core` 10 or later.
 *
 * @example
 * ```ts
 * import { Module } from "@nestjs/common";
 * import { MillraceModule } from "millrace/nestjs";
 *
 * @Module({
 *   imports: [MillraceModule.forRoot({ connection: process.env.DATABASE_URL, worker: { concurrency: 20 } })],
 * })
 * export class AppModule {}
 * ```
 */
// oxlint-disable-next-line typescript/no-extraneous-class -- Nest wants a class
export class MillraceModule {
  /** With options that are known. */
  static forRoot(options: MillraceModuleOptions = {}): MillraceDynamicModule {
    return MillraceModule.forRootAsync({ useFactory: () => options });
  }

  /**
   * With options that other providers give, such as a service of settings.
   *
   * @example
   * ```ts
   * import { MillraceModule } from "millrace/nestjs";
   *
   * MillraceModule.forRootAsync({
   *   inject: ["settings"], // a provider of yours, by its token
   *   useFactory: (settings: { database: string }) => ({ connection: settings.database }),
   * });
   * ```
   */
  static forRootAsync({ imports = [], inject = [], useFactory }: MillraceModuleFactory): MillraceDynamicModule {
    return {
      module: MillraceModule,
      global: true,
      imports: [DiscoveryModule, ...imports],
      providers: [
        { provide: optionsToken, inject, useFactory },
        {
          provide: Millrace,
          inject: [optionsToken],
          useFactory: ({ worker: _worker, ...options }: MillraceModuleOptions) => new Millrace(options),
        },
        {
          provide: JobRunner,
          inject: [Millrace, DiscoveryService, optionsToken],
          useFactory: (mill: Millrace, discovery: DiscoveryService, { worker }: MillraceModuleOptions) =>
            new JobRunner(mill, discovery, worker),
        },
      ],
      exports: [Millrace],
    };
  }
}
