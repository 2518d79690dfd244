import { DatabaseUnavailableError, InvalidArgumentError, QueueClosedError, QueueFullError, QueueNotFoundError } from "../../db/errors.js";
import { NoRoomError } from "../http/shares.js";
import { SqsError, invalidParameter } from "./wire/errors.js";

/** What a client is told of an error that the engine raised: what is ours to blame tells nothing of itself. */
export function refusalOf(error: unknown): SqsError {
  if (error instanceof SqsError) return error;
  if (error instanceof InvalidArgumentError) return invalidParameter(error.message);
  if (error instanceof QueueNotFoundError) return new SqsError("QueueDoesNotExist");
  if (error instanceof QueueFullError) return new SqsError("RequestThrottled", error.message);
  if (error instanceof QueueClosedError) return new SqsError("UnsupportedOperation", error.message);
  if (error instanceof NoRoomError) return new SqsError("ServiceUnavailable", `${error.message}; try again.`);
  return new SqsError(error instanceof DatabaseUnavailableError ? "ServiceUnavailable" : "InternalFailure");
}
