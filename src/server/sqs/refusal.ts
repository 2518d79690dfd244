import {
  DatabaseUnavailableError,
  InvalidArgumentError,
  QueueClosedError,
  QueueFullError,
  QueueNotFoundError,
} from "../../db/errors.js";
import { NoRoomError } from "../http/shares.js";
import { SqsError, invalidParameter } from "./wire/errors.js";

/** Somebody's open transaction holds what was asked for. */
export function isHeld(error: unknown): boolean {
  return (error as { readonly code?: unknown } | null)?.code === "55P03";
}

/** What a client is told of an error that the engine raised: what is ours to blame tells nothing of itself. */
export function refusalOf(error: unknown): SqsError {
  if (error instanceof SqsError) return error;
  if (error instanceof InvalidArgumentError) return invalidParameter(error.message);
  if (error instanceof QueueNotFoundError) return new SqsError("QueueDoesNotExist");
  if (error instanceof QueueFullError) return new SqsError("RequestThrottled", error.message);
  if (error instanceof QueueClosedError) return new SqsError("UnsupportedOperation", error.message);
  if (isHeld(error))
    return new SqsError(
      "ServiceUnavailable",
      "A message with the same deduplication id is being sent, and that has not ended; try again.",
    );
  if (error instanceof NoRoomError) return new SqsError("ServiceUnavailable", `${error.message}; try again.`);
  return new SqsError(error instanceof DatabaseUnavailableError ? "ServiceUnavailable" : "InternalFailure");
}
