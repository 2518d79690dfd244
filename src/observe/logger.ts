import { inspect } from "node:util";
import { InvalidArgumentError } from "../db/errors.js";
import { shown } from "../db/check-options.js";
import { visible } from "../db/visible.js";
import { warn } from "./warning.js";

/** Where failures and troubles are told: pino, or anything that takes an object and a text as it does. */
export interface Logger {
  /** Something went wrong that will be tried again, or that nobody has to act on. */
  warn(fields: object, message: string): void;
  /** Something went wrong for good. */
  error(fields: object, message: string): void;
}

/**
 * The logger that was chosen: the console unless told otherwise, none for `false`. One that throws breaks nothing: the
 * first error is told as a warning.
 */
export function loggerOf(logger: Logger | false | undefined): Logger | undefined {
  if (logger === false) return undefined;
  if (logger === undefined || (logger as unknown) === console) return consoleLogger;
  if (typeof logger?.warn !== "function" || typeof logger.error !== "function")
    throw new InvalidArgumentError(
      `logger cannot be ${shown(logger)}`,
      "give an object with warn and error, such as a pino logger, or false for none",
    );
  let isTold = false;
  const guard =
    (level: keyof Logger) =>
    (fields: object, message: string): void => {
      try {
        logger[level](fields, message);
      } catch (error) {
        if (!isTold) warn("MILLRACE_LOGGER", error);
        isTold = true;
      }
    };
  return { warn: guard("warn"), error: guard("error") };
}

/** One line each, and nothing in it that a terminal would obey. */
const consoleLogger: Logger = {
  warn: (_fields, message) => console.warn(`millrace: ${visible(message)}`),
  error: (_fields, message) => console.error(`millrace: ${visible(message)}`),
};

/** An error in one line: its class, when that says something, and its message. */
export function errorLine(error: unknown): string {
  if (!(error instanceof Error)) return typeof error === "string" ? error : inspect(error);
  return withName(error.name, error.message);
}

/** A message after the class of its error, when that says something. */
export function withName(name: string | undefined, message: string): string {
  return name === undefined || name === "Error" || name === "" ? message : `${name}: ${message}`;
}
