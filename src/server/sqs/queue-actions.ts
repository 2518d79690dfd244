import type { SqsQueueRecord } from "../../db/sqs-engine.js";
import type { Defaults } from "../../db/types.js";
import { beneathIn, notAdoptable, notSettable } from "./adopted.js";
import {
  type AttributeChanges,
  type Redrive,
  type SqsQueue,
  allowsRedrive,
  attributeNames,
  changedOptions,
  checkAttributes,
  countNames,
  effectiveAttributes,
  firstDifference,
  invalidRedrive,
  isAdopted,
  isFifoName,
  optionsOf,
  plainValues,
} from "./attributes.js";
import type { ActionContext, ActionHandlers } from "./context.js";
import { arnOf, checkQueueName, internalName, urlOf } from "./names.js";
import type { SqsService } from "./service.js";
import { SqsError, invalidParameter, missingParameter } from "./wire/errors.js";

/** How long a name is not given out again, and how often a queue may be purged. */
const pauseSeconds = 60;
const maxResults = 1000;
const maxTags = 50;
const cancelAtOnce = 1000;
/** As many as one look at those in flight shows. */
const maxInFlight = 100_000;

type QueueActions = Pick<
  ActionHandlers,
  | "CreateQueue"
  | "DeleteQueue"
  | "GetQueueAttributes"
  | "GetQueueUrl"
  | "ListDeadLetterSourceQueues"
  | "ListQueueTags"
  | "ListQueues"
  | "PurgeQueue"
  | "SetQueueAttributes"
  | "TagQueue"
  | "UntagQueue"
>;

/** Actions on queues as a whole. */
export function queueActions(service: SqsService, { isPatient }: { readonly isPatient: boolean }): QueueActions {
  const { engine } = service;

  return {
    async CreateQueue({ QueueName: name, Attributes = {}, tags = {} }, context) {
      const given = plainValues(Attributes);
      checkQueueName(name, given["FifoQueue"] === "true");
      const { changes, redrive } = checkAttributes(name, given, undefined);
      checkTags(name, tags);
      if (redrive) await checkRedrive(name, given["RedrivePolicy"]!, redrive, context);
      const own = beneathIn(given);
      for (;;) {
        const existing = await engine.sqs.queueGet(name);
        if (existing) {
          if (own && isAdopted(existing)) throw notAdoptable(existing.queue, own);
          const different = firstDifference(existing, given);
          if (different === undefined) return { QueueUrl: urlOf(name, context) };
          throw new SqsError(
            "QueueNameExists",
            `A queue already exists with the same name and a different value for attribute ${different}`,
          );
        }
        const made = await engine.sqs.queueCreate(
          name,
          internalName(name),
          strip(changes),
          tags,
          optionsOf(name, changes),
          {
            waitSeconds: isPatient ? pauseSeconds : 0,
            adopts: own === undefined,
          },
        );
        if (made === "deleted") throw new SqsError("QueueDeletedRecently");
        if (made === "foreign") throw notAdoptable(internalName(name), own);
        service.forget(name);
        if (made === "created") return { QueueUrl: urlOf(name, context) };
      }
    },

    async GetQueueUrl({ QueueName: name }, context) {
      await service.queueNamed(name);
      return { QueueUrl: urlOf(name, context) };
    },

    async ListQueues({ QueueNamePrefix: prefix = "", MaxResults: most, NextToken: token }, context) {
      const { names, next } = await page(most, token, (after, limit) => engine.sqs.queueList(prefix, after, limit));
      return { QueueUrls: names.map((name) => urlOf(name, context)), NextToken: next };
    },

    async ListDeadLetterSourceQueues({ MaxResults: most, NextToken: token, ...input }, context) {
      const { name: target } = await service.currentQueueOf(input, context);
      const { names, next } = await page(most, token, (after, limit) => engine.sqs.queueList("", after, limit, target));
      return { queueUrls: names.map((name) => urlOf(name, context)), NextToken: next };
    },

    async DeleteQueue(input, context) {
      const queue = await service.currentQueueOf(input, context);
      await empty(queue); // before it is gone, so that whoever fails here may try again
      const isThere = await engine.sqs.queueDelete(queue.name);
      service.forget(queue.name);
      if (!isThere) throw new SqsError("QueueDoesNotExist");
      await empty(queue); // of what came meanwhile
    },

    async PurgeQueue(input, context) {
      const queue = await service.currentQueueOf(input, context);
      const { name } = queue;
      const inProgress = new SqsError(
        "PurgeQueueInProgress",
        `Only one PurgeQueue operation on ${name} is allowed every 60 seconds.`,
      );
      if (!(await engine.sqs.queuePurge(name, pauseSeconds, "may"))) throw inProgress;
      await empty(queue);
      if (!(await engine.sqs.queuePurge(name, pauseSeconds, "done"))) throw inProgress;
    },

    async GetQueueAttributes({ AttributeNames: asked = [], ...input }, context) {
      const { record } = await service.currentQueueOf(input, context);
      for (const name of asked)
        if (name !== "All" && !attributeNames.has(name))
          throw new SqsError("InvalidAttributeName", `Unknown Attribute ${name}.`);
      if (asked.length === 0) return {};
      const isAsked = (name: string) => asked.includes("All") || asked.includes(name);
      const all = {
        ...effectiveAttributes(record),
        QueueArn: arnOf(record.name, context),
        CreatedTimestamp: secondsOf(record.createdAt),
        LastModifiedTimestamp: secondsOf(record.changedAt),
        ...(countNames.some(isAsked) ? await counts(record) : {}),
      };
      return { Attributes: Object.fromEntries(Object.entries(all).filter(([name]) => isAsked(name))) };
    },

    async SetQueueAttributes({ Attributes, ...input }, context) {
      const { name, record } = await service.currentQueueOf(input, context);
      const given = plainValues(Attributes);
      if (Object.keys(given).length === 0) throw missingParameter("Attribute.Name");
      const own = beneathIn(given);
      if (own && isAdopted(record)) throw notSettable(record.queue, own);
      const { changes, redrive } = checkAttributes(name, given, record.attributes);
      if (redrive) await checkRedrive(name, given["RedrivePolicy"]!, redrive, context);
      await change(name, changes, {}, isAdopted(record) ? {} : changedOptions(changes));
    },

    async TagQueue({ Tags: tags, ...input }, context) {
      const { name, record } = await service.currentQueueOf(input, context);
      if (Object.keys(tags).length === 0) throw missingParameter("Tags");
      checkTags(name, { ...record.tags, ...tags });
      await change(name, {}, tags);
    },

    async UntagQueue({ TagKeys: keys, ...input }, context) {
      const { name } = await service.currentQueueOf(input, context);
      if (keys.length === 0) throw invalidParameter("Tag keys can't be empty.");
      await change(name, {}, Object.fromEntries(keys.map((key) => [key, null])));
    },

    async ListQueueTags(input, context) {
      const { record } = await service.currentQueueOf(input, context);
      return { Tags: record.tags };
    },
  };

  /** Where dead letters go must be another queue, of the same account, region and kind, that lets them in. */
  async function checkRedrive(
    name: string,
    text: string,
    { target, account, region }: Redrive,
    context: ActionContext,
  ): Promise<void> {
    if (account !== context.account)
      throw invalidRedrive(text, "Dead letter target owner should be same as the source.");
    if (region !== context.region)
      throw invalidRedrive(text, "Dead letter target should be in the same region as the source.");
    if (target === name) throw invalidRedrive(text, "A queue cannot be its own dead-letter queue.");
    const queue = await service.findQueue(target);
    if (!queue) throw invalidRedrive(text, "Dead letter target does not exist.");
    if (queue.isFifo !== isFifoName(name))
      throw invalidRedrive(text, "Dead-letter queue must be same type of queue as the source..");
    if (!allowsRedrive(queue.record, arnOf(name, context)))
      throw invalidRedrive(text, "The RedriveAllowPolicy of the dead-letter queue does not allow it.");
  }

  async function change(
    name: string,
    attributes: AttributeChanges,
    tags: Record<string, string | null>,
    options: Defaults = {},
  ): Promise<void> {
    const isThere = await engine.sqs.queueChange(name, attributes, tags, options);
    service.forget(name);
    if (!isThere) throw new SqsError("QueueDoesNotExist");
  }

  /**
   * Messages that wait are dropped at once, whatever their number; those in flight are cancelled, and would be dropped
   * too if they came back in between.
   */
  async function empty({ name, queue }: SqsQueue): Promise<void> {
    const before = await engine.sqs.inFlight(queue);
    await engine.sqs.queuePurge(name, pauseSeconds, "drop");
    let ids = [...new Set([...before, ...(await engine.sqs.inFlight(queue))])];
    for (;;) {
      for (let at = 0; at < ids.length; at += cancelAtOnce)
        await engine.sqs.deleteLate(ids.slice(at, at + cancelAtOnce), false);
      if (ids.length < maxInFlight) return;
      ids = await engine.sqs.inFlight(queue);
    }
  }

  async function counts({ queue }: SqsQueueRecord): Promise<Record<string, string>> {
    const { visible, invisible, delayed } = await engine.sqs.depth(queue);
    return {
      ApproximateNumberOfMessages: String(visible),
      ApproximateNumberOfMessagesNotVisible: String(invisible),
      ApproximateNumberOfMessagesDelayed: String(delayed),
    };
  }
}

function strip(changes: AttributeChanges): Record<string, string> {
  return Object.fromEntries(Object.entries(changes).filter((entry): entry is [string, string] => entry[1] !== null));
}

const secondsOf = (time: string): string => String(Math.floor(Date.parse(time) / 1000));

function checkTags(name: string, tags: Readonly<Record<string, string>>): void {
  if (Object.keys(tags).length > maxTags) throw invalidParameter(`Too many tags added for queue ${name}.`);
}

/** Some names after a token, and the token of the next ones: only where the caller said how many it wants. */
async function page(
  most: number | undefined,
  token: string | undefined,
  list: (after: string, limit: number) => Promise<string[]>,
): Promise<{ readonly names: readonly string[]; readonly next: string | undefined }> {
  if (most !== undefined && (most < 1 || most > maxResults)) {
    throw invalidParameter(
      `Value ${most} for parameter MaxResults is invalid. Reason: MaxResults must be an integer between 1 and ${maxResults}.`,
    );
  }
  const limit = most ?? maxResults;
  const names = await list(token ? readToken(token) : "", limit + 1);
  const shown = names.slice(0, limit);
  const isMore = most !== undefined && names.length > limit;
  return {
    names: shown,
    next: isMore ? Buffer.from(JSON.stringify({ after: shown.at(-1) })).toString("base64") : undefined,
  };
}

function readToken(token: string): string {
  try {
    const { after } = JSON.parse(Buffer.from(token, "base64").toString()) as { after?: unknown };
    if (typeof after === "string" && !after.includes("\0")) return after;
  } catch {
    // falls through
  }
  throw invalidParameter("Invalid or expired next token.");
}
