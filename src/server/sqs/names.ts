import type { ActionContext } from "./context.js";
import { SqsError, invalidParameter } from "./wire/errors.js";
import { queueOfUrl } from "./wire/queue-url.js";

type Place = Pick<ActionContext, "account" | "region">;

/** The name of the queue that a request is about. */
export function queueNameOf(
  { QueueUrl }: { readonly QueueUrl?: string | undefined },
  { pathQueue }: Pick<ActionContext, "pathQueue">,
): string {
  const name = QueueUrl ? queueOfUrl(QueueUrl)?.name : pathQueue;
  if (!name) throw new SqsError("QueueDoesNotExist");
  return name;
}

export function urlOf(name: string, { baseUrl, account }: Pick<ActionContext, "baseUrl" | "account">): string {
  return `${baseUrl}/${account}/${name}`;
}

export function arnOf(name: string, { account, region }: Place): string {
  return `arn:aws:sqs:${region}:${account}:${name}`;
}

/** What an ARN of this service says; undefined when it is none. */
export function placeOfArn(arn: unknown): (Place & { readonly name: string }) | undefined {
  const [, region, account, name] =
    (typeof arn === "string" && /^arn:[\w-]+:sqs:([^:]*):([^:]*):([\w.-]+)$/.exec(arn)) || [];
  return region === undefined || account === undefined || name === undefined ? undefined : { region, account, name };
}

/** The name inside an ARN of this service. */
export const nameOfArn = (arn: unknown): string | undefined => placeOfArn(arn)?.name;

/**
 * What a queue is called here: the same, except for those that begin with a character that names here may not begin
 * with. No SQS name has a colon, so the others are in nobody's way.
 */
export function internalName(name: string): string {
  return /^[A-Za-z0-9]/.test(name) ? name : `sqs:${name}`;
}

/** What SQS calls a queue that is called so here. */
export function externalName(queue: string): string {
  return queue.startsWith("sqs:") ? queue.slice(4) : queue;
}

export function checkQueueName(name: string, isFifo: boolean): void {
  if (isFifo && !/^[\w-]{1,75}\.fifo$/.test(name)) {
    throw invalidParameter(
      "The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, must end with .fifo suffix and be 1 to 80 in length.",
    );
  }
  if (!isFifo && !/^[\w-]{1,80}$/.test(name)) {
    throw invalidParameter("Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length");
  }
}
