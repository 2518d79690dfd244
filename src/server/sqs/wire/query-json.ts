import { plainMembers } from "./encode.js";
import type { SqsError } from "./errors.js";
import type { Members } from "./model.js";

/** How the Query protocol answers those who accept JSON: the structure of its XML, with maps as lists of pairs. */
export const queryJsonType = "application/json";

/** Write an output. */
export function encodeQueryJson(
  action: string,
  output: unknown,
  members: Members | undefined,
  requestId: string,
): string {
  const result = members ? { [`${action}Result`]: plainMembers(output, members, "pairs") } : {};
  return JSON.stringify({ [`${action}Response`]: { ...result, ResponseMetadata: { RequestId: requestId } } });
}

/** Write an error. */
export function encodeQueryJsonError(error: SqsError, requestId: string): string {
  const { fault, code, queryMessage } = error;
  return JSON.stringify({
    Error: { Code: code, Detail: null, Message: queryMessage, Type: fault },
    RequestId: requestId,
  });
}
