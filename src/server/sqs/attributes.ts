import type { SqsQueueRecord } from "../../db/sqs-engine.js";
import type { Defaults } from "../../db/types.js";
import { isStorableJson } from "./json-text.js";
import { internalName, nameOfArn, placeOfArn } from "./names.js";
import { SqsError, invalidParameter } from "./wire/errors.js";

/** Attributes as they are stored: those that were given; null removes one. */
export type AttributeChanges = Record<string, string | null>;

interface Range {
  readonly least: number;
  readonly most: number;
  readonly normal: number;
}

const ranges: Readonly<Record<string, Range>> = {
  DelaySeconds: { least: 0, most: 900, normal: 0 },
  MaximumMessageSize: { least: 1024, most: 1_048_576, normal: 1_048_576 },
  MessageRetentionPeriod: { least: 60, most: 1_209_600, normal: 345_600 },
  ReceiveMessageWaitTimeSeconds: { least: 0, most: 20, normal: 0 },
  VisibilityTimeout: { least: 0, most: 43_200, normal: 30 },
};
const keyReuse: Range = { least: 60, most: 86_400, normal: 300 };

/** Values of attributes that have a few; the first is the default. */
const choices: Readonly<Record<string, readonly string[]>> = {
  ContentBasedDeduplication: ["false", "true"],
  DeduplicationScope: ["queue", "messageGroup"],
  FifoThroughputLimit: ["perQueue", "perMessageGroupId"],
};
const fifoOnly = new Set(["FifoQueue", ...Object.keys(choices)]);
/** Given in any case of letters; kept and given back in small ones. */
const booleans = new Set(["ContentBasedDeduplication", "FifoQueue", "SqsManagedSseEnabled"]);
const readOnly = new Set([
  "ApproximateNumberOfMessages",
  "ApproximateNumberOfMessagesNotVisible",
  "ApproximateNumberOfMessagesDelayed",
  "CreatedTimestamp",
  "LastModifiedTimestamp",
  "QueueArn",
]);
const documents = new Set(["Policy", "RedrivePolicy", "RedriveAllowPolicy"]);
const others = new Set(["KmsMasterKeyId", "KmsDataKeyReusePeriodSeconds", "SqsManagedSseEnabled"]);

/** Every attribute a client may ask for. */
export const attributeNames: ReadonlySet<string> = new Set([
  ...Object.keys(ranges),
  ...fifoOnly,
  ...readOnly,
  ...documents,
  ...others,
]);
export const countNames: readonly string[] = [...readOnly].filter((name) => name.startsWith("Approximate"));

/**
 * What is stored beside the attributes that clients know: where dead letters go, by name, how duplicates were
 * recognised when the queue was made, and that SQS did not make the queue beneath.
 */
const ownNames = { deadLetterTarget: "deadLetterTarget", scope: "scope", adopted: "adopted" } as const;

/** A queue with what its attributes mean. */
export interface SqsQueue {
  readonly name: string;
  /** What it is called here. */
  readonly queue: string;
  readonly isFifo: boolean;
  readonly delaySeconds: number;
  readonly maxBytes: number;
  readonly waitSeconds: number;
  readonly visibilitySeconds: number;
  readonly hashesBodies: boolean;
  /** Whether two groups may use the same deduplication id. */
  readonly isScopedByGroup: boolean;
  readonly record: SqsQueueRecord;
}

export function readQueue(record: SqsQueueRecord): SqsQueue {
  const number = (name: string) => Number(record.attributes[name] ?? ranges[name]!.normal);
  return {
    name: record.name,
    queue: record.queue,
    isFifo: isFifoName(record.name),
    delaySeconds: number("DelaySeconds"),
    maxBytes: number("MaximumMessageSize"),
    waitSeconds: number("ReceiveMessageWaitTimeSeconds"),
    visibilitySeconds: number("VisibilityTimeout"),
    hashesBodies: record.attributes["ContentBasedDeduplication"] === "true",
    isScopedByGroup: record.attributes[ownNames.scope] === "messageGroup",
    record,
  };
}

/** Whether the queue beneath was there before, and keeps its own options. */
export const isAdopted = ({ attributes }: Pick<SqsQueueRecord, "attributes">): boolean =>
  attributes[ownNames.adopted] !== undefined;

export const isFifoName = (name: string): boolean => name.endsWith(".fifo");

/** The attributes a queue has, given or by default, except for those that are counted or computed. */
export function effectiveAttributes({
  name,
  attributes,
}: Pick<SqsQueueRecord, "name" | "attributes">): Record<string, string> {
  const effective: Record<string, string> = {};
  for (const [attribute, { normal }] of Object.entries(ranges))
    effective[attribute] = attributes[attribute] ?? String(normal);
  if (isFifoName(name)) {
    effective["FifoQueue"] = "true";
    for (const [attribute, [normal]] of Object.entries(choices))
      effective[attribute] = attributes[attribute] ?? normal!;
  }
  for (const attribute of [...documents, "KmsMasterKeyId", "KmsDataKeyReusePeriodSeconds"]) {
    if (attributes[attribute] !== undefined) effective[attribute] = attributes[attribute];
  }
  if (isAdopted({ attributes })) delete effective["MessageRetentionPeriod"];
  effective["SqsManagedSseEnabled"] = attributes["SqsManagedSseEnabled"] ?? "true";
  return effective;
}

/** Values as they are kept: clients write booleans and numbers in more than one way. */
export function plainValues(given: Readonly<Record<string, string>>): Record<string, string> {
  const plain = ([name, value]: [string, string]): [string, string] => {
    if (booleans.has(name)) return [name, value.toLowerCase()];
    return [
      name,
      (ranges[name] || name === "KmsDataKeyReusePeriodSeconds") && /^\d{1,9}$/.test(value)
        ? String(Number(value))
        : value,
    ];
  };
  return Object.fromEntries(Object.entries(given).map(plain));
}

/** The first attribute whose given value is not what the queue has. */
export function firstDifference(record: SqsQueueRecord, given: Readonly<Record<string, string>>): string | undefined {
  const effective = effectiveAttributes(record);
  return Object.entries(given).find(([name, value]) => {
    const is = effective[name] ?? (name === "KmsDataKeyReusePeriodSeconds" ? String(keyReuse.normal) : "");
    return documents.has(name) ? canonical(is) !== canonical(value) : is !== value;
  })?.[0];
}

function canonical(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), (_key, value: unknown) =>
      value !== null && typeof value === "object" && !Array.isArray(value)
        ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
        : value,
    );
  } catch {
    return text;
  }
}

const unknownAttribute = (name: string) => new SqsError("InvalidAttributeName", `Unknown Attribute ${name}.`);
const invalidValue = (name: string, reason?: string) =>
  new SqsError(
    "InvalidAttributeValue",
    `Invalid value for the parameter ${name}.${reason === undefined ? "" : ` Reason: ${reason}`}`,
  );

/** Which queue a RedrivePolicy names. */
export interface Redrive {
  readonly target: string;
  readonly region: string;
  readonly account: string;
  readonly most: number;
}

/**
 * Check the attributes of a new or an existing queue (`plainValues`), and say how they are stored. Whether the target
 * of a RedrivePolicy will do is for the caller to ask.
 */
export function checkAttributes(
  name: string,
  given: Readonly<Record<string, string>>,
  before: Readonly<Record<string, string>> | undefined,
): { readonly changes: AttributeChanges; readonly redrive: Redrive | null | undefined } {
  const isFifo = isFifoName(name);
  const changes: AttributeChanges = {};
  let redrive: Redrive | null | undefined;
  for (const [attribute, value] of Object.entries(given)) {
    const range = ranges[attribute] ?? (attribute === "KmsDataKeyReusePeriodSeconds" ? keyReuse : undefined);
    if (readOnly.has(attribute) || !attributeNames.has(attribute)) throw unknownAttribute(attribute);
    if (fifoOnly.has(attribute) && !isFifo) throw notFifo(attribute);
    if (attribute === "FifoQueue") {
      if (value !== "true")
        throw invalidValue(attribute, before ? "Modifying queue type is not supported." : undefined);
    } else if (range) {
      if (!/^\d{1,9}$/.test(value) || Number(value) < range.least || Number(value) > range.most)
        throw invalidValue(attribute);
      changes[attribute] = value;
    } else if (choices[attribute]) {
      if (!choices[attribute].includes(value)) throw invalidValue(attribute);
      changes[attribute] = value;
    } else if (attribute === "SqsManagedSseEnabled") {
      if (value !== "true" && value !== "false") throw invalidValue(attribute);
      changes[attribute] = value;
    } else if (value === "") {
      changes[attribute] = null;
      if (attribute === "RedrivePolicy") redrive = null;
    } else if (attribute === "RedrivePolicy") {
      redrive = readRedrivePolicy(value);
      changes[attribute] = value;
    } else {
      if (attribute === "Policy" && !isObject(value)) throw invalidValue(attribute);
      if (attribute === "RedriveAllowPolicy") readRedriveAllowPolicy(value);
      changes[attribute] = value;
    }
  }
  checkThroughput({ ...before, ...changes });
  settleEncryption(changes);
  if (redrive !== undefined) changes[ownNames.deadLetterTarget] = redrive?.target ?? null;
  if (!before && changes["DeduplicationScope"]) changes[ownNames.scope] = changes["DeduplicationScope"];
  return { changes, redrive };
}

function notFifo(attribute: string): SqsError {
  return attribute === "FifoQueue" || attribute === "ContentBasedDeduplication"
    ? unknownAttribute(attribute)
    : new SqsError("InvalidAttributeName", `You can specify the ${attribute} only when FifoQueue is set to true.`);
}

function checkThroughput(attributes: Readonly<Record<string, string | null>>): void {
  if (
    attributes["FifoThroughputLimit"] === "perMessageGroupId" &&
    attributes["DeduplicationScope"] !== "messageGroup"
  ) {
    throw invalidValue(
      "FifoThroughputLimit",
      "It may be perMessageGroupId only when DeduplicationScope is messageGroup.",
    );
  }
}

/** There is one kind of encryption at a time: naming a key turns the other off, for good. Defaults are not stored. */
function settleEncryption(changes: AttributeChanges): void {
  if (changes["KmsMasterKeyId"]) {
    if (changes["SqsManagedSseEnabled"] === "true") {
      throw new SqsError(
        "InvalidAttributeName",
        "You can use one type of server-side encryption (SSE) at one time. You can either enable KMS SSE or SQS SSE.",
      );
    }
    changes["SqsManagedSseEnabled"] = "false";
  } else if (changes["SqsManagedSseEnabled"] === "true") {
    changes["KmsMasterKeyId"] = null;
    changes["KmsDataKeyReusePeriodSeconds"] = null;
  }
  if (changes["KmsDataKeyReusePeriodSeconds"] === String(keyReuse.normal))
    changes["KmsDataKeyReusePeriodSeconds"] = null;
}

function isObject(text: string): boolean {
  return parseObject(text) !== undefined;
}

/** Documents are read again here and in the database: what either could not read is none. */
function parseObject(text: string): Record<string, unknown> | undefined {
  if (!isStorableJson(text.trim())) return undefined;
  const value: unknown = JSON.parse(text);
  return Array.isArray(value) ? undefined : (value as Record<string, unknown>);
}

export const invalidRedrive = (text: string, reason: string): SqsError =>
  invalidParameter(`Value ${text} for parameter RedrivePolicy is invalid. Reason: ${reason}`);

function readRedrivePolicy(text: string): Redrive {
  const policy = parseObject(text);
  if (!policy) throw invalidRedrive(text, "Redrive policy is not a valid JSON map.");
  for (const key of ["deadLetterTargetArn", "maxReceiveCount"]) {
    if (policy[key] === undefined || policy[key] === null)
      throw invalidRedrive(text, `Redrive policy does not contain mandatory attribute: ${key}.`);
  }
  for (const key of Object.keys(policy)) {
    if (key !== "deadLetterTargetArn" && key !== "maxReceiveCount")
      throw invalidRedrive(text, "Only following attributes are supported: [deadLetterTargetArn, maxReceiveCount].");
  }
  const given = policy["maxReceiveCount"];
  const most = typeof given === "number" || (typeof given === "string" && /^\d+$/.test(given)) ? Number(given) : NaN;
  if (!Number.isInteger(most) || most < 1 || most > 1000) {
    throw invalidRedrive(
      text,
      `Invalid value for maxReceiveCount: ${String(given)}, valid values are from 1 to 1000 both inclusive.`,
    );
  }
  const target = placeOfArn(policy["deadLetterTargetArn"]);
  if (target === undefined) throw invalidRedrive(text, "Dead letter target owner should be same as the source.");
  return { target: target.name, region: target.region, account: target.account, most };
}

/** What a RedriveAllowPolicy says; without one, everybody may. */
function readRedriveAllowPolicy(text: string): { readonly permission: string; readonly sources: readonly string[] } {
  const policy = parseObject(text);
  const { redrivePermission: permission, sourceQueueArns: sources } = policy ?? {};
  const isList =
    Array.isArray(sources) &&
    sources.length >= 1 &&
    sources.length <= 10 &&
    sources.every((arn) => nameOfArn(arn) !== undefined);
  const isRight =
    permission === "byQueue"
      ? isList
      : (permission === "allowAll" || permission === "denyAll") && sources === undefined;
  if (!isRight) throw invalidValue("RedriveAllowPolicy");
  return { permission: permission as string, sources: (sources ?? []) as string[] };
}

/** Whether a queue lets another one send its dead letters there. */
export function allowsRedrive(target: SqsQueueRecord, sourceArn: string): boolean {
  const text = target.attributes["RedriveAllowPolicy"];
  if (text === undefined) return true;
  const { permission, sources } = readRedriveAllowPolicy(text);
  return permission === "allowAll" || (permission === "byQueue" && sources.includes(sourceArn));
}

/** The options of a new queue beneath: what its attributes say, as far as it knows of such things. */
export function optionsOf(name: string, attributes: AttributeChanges): Defaults {
  return {
    // A message is tried until it is deleted, is too old, or goes to another queue.
    maxAttempts: Infinity,
    lostAlone: false,
    ordered: isFifoName(name) ? "batches" : null,
    ...changedOptions({ VisibilityTimeout: null, MessageRetentionPeriod: null, RedrivePolicy: null, ...attributes }),
  };
}

/** The options that follow from changed attributes, and no others: somebody else may be changing those. */
export function changedOptions(changes: AttributeChanges): Defaults {
  const { VisibilityTimeout: visibility, MessageRetentionPeriod: retention, RedrivePolicy: policy } = changes;
  const redrive = policy ? readRedrivePolicy(policy) : undefined;
  return {
    ...(visibility === undefined
      ? {}
      : { leaseSeconds: Math.max(Number(visibility ?? ranges["VisibilityTimeout"]!.normal), 1) }),
    ...(retention === undefined ? {} : { ttlSeconds: Number(retention ?? ranges["MessageRetentionPeriod"]!.normal) }),
    ...(policy === undefined
      ? {}
      : { deadLetterQueue: redrive ? internalName(redrive.target) : null, deadLetterAfter: redrive?.most ?? null }),
  };
}
