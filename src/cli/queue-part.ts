import type { QueuePart } from "../db/types.js";

/** Options that name a part of a queue. */
export const partOptions = {
  type: { value: "TYPE", help: "only its jobs of this type" },
  group: { value: "GROUP", help: "only its jobs of this group" },
};

/** What a person calls a queue or a part of it. */
export function partName(queue: string, part: QueuePart): string {
  return [queue, part.type && `type ${part.type}`, part.group && `group ${part.group}`].filter(Boolean).join(", ");
}
