import { SqsError } from "./wire/errors.js";

/**
 * A queue that SQS did not make is adopted: it keeps its options, because other jobs are in it and somebody chose them,
 * and they hold for its messages too. What a client would have to change them for is refused. VisibilityTimeout is none
 * of these: it is that of receives, and workers have the lease of the queue.
 */

/** The attributes that such a queue has options of its own for. */
const beneath = {
  MessageRetentionPeriod: "set ttlSeconds of that queue",
  RedrivePolicy: "set deadLetterQueue of that queue",
} as const;
const ordered = 'set ordered of that queue to "batches", which FIFO queues have and no others';

type Beneath = keyof typeof beneath;

/** The first given attribute that an adopted queue decides on itself. */
export function beneathIn(given: Readonly<Record<string, string>>): Beneath | undefined {
  return (Object.keys(beneath) as Beneath[]).find((name) => given[name] !== undefined);
}

/** An existing queue cannot be what CreateQueue asks for. Without an attribute, it is of the other kind. */
export function notAdoptable(queue: string, attribute: Beneath | undefined): SqsError {
  const remedy = attribute ? `Leave the attribute out, and ${beneath[attribute]}` : `Use another name, or ${ordered}`;
  const different = `A queue already exists with the same name and a different value for attribute ${attribute ?? "FifoQueue"}`;
  return new SqsError(
    "QueueNameExists",
    `${different}. Reason: SQS did not make the queue "${queue}", and its options stay as they are. ${remedy}.`,
  );
}

/** SetQueueAttributes cannot change it. */
export function notSettable(queue: string, attribute: Beneath): SqsError {
  const refused = `The attribute ${attribute} cannot be set for this queue`;
  return new SqsError(
    "UnsupportedOperation",
    `${refused}. Reason: SQS did not make the queue "${queue}". To change it, ${beneath[attribute]}.`,
  );
}
