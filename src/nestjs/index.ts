/// <reference types="node" preserve="true" />
/// <reference lib="esnext.disposable" preserve="true" />
/** The client and its workers as a module of NestJS. Needs `@nestjs/core`, which the package does not bring along. */
export { JobHandler } from "./job-handler.js";
export {
  type MillraceDynamicModule,
  MillraceModule,
  type MillraceModuleFactory,
  type MillraceModuleOptions,
} from "./millrace-module.js";
