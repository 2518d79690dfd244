/// <reference types="node" preserve="true" />
/// <reference lib="esnext.disposable" preserve="true" />
/** The dashboard and the API inside of one's own application. */
export type { RateOptions } from "./auth/auth.js";
export type { Role } from "./auth/roles.js";
export { type HandlerCall, type HandlerOptions, type QueueHandler, type User, createHandler } from "./handler.js";
