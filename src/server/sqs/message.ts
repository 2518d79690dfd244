import { createHash } from "node:crypto";
import { splitHandle } from "../../cells/handle.js";
import type { SqsMessageRecord } from "../../db/sqs-engine.js";
import { createdAt } from "../../db/decode.js";
import type { JobId, Json } from "../../db/types.js";
import type { SqsQueue } from "./attributes.js";
import { isStorableJson } from "./json-text.js";
import { messageIdOf } from "./receipt.js";
import { hasIllegalCharacters, replaceIllegalCharacters } from "./wire/characters.js";
import { SqsError, invalidParameter, missingParameter } from "./wire/errors.js";
import { md5OfAttributes, md5OfBody } from "./wire/md5.js";
import type { AttributeValue, Input, Message, SentEntry } from "./wire/model.js";

/** The type of the jobs that messages are. */
export const messageType = "message";
/** How long a duplicate is recognised, whatever became of the first. */
const duplicateSeconds = 300;
const maxAttributes = 10;
/** It counts towards no other limit. */
const maxTraceLength = 2048;

/** What SendMessage and an entry of its batch have in common. */
export type Outgoing = Omit<Input<"SendMessage">, "QueueUrl">;
type Attributes = Readonly<Record<string, AttributeValue>>;

/** A message that may be stored: its body as JSON, and the options of its job. */
export interface Prepared {
  readonly input: string;
  readonly options: Readonly<Record<string, Json>>;
  readonly bytes: number;
}

/** How many bytes of a message count. */
export function sizeOf({
  MessageBody,
  MessageAttributes,
}: Pick<Outgoing, "MessageBody" | "MessageAttributes">): number {
  let size = Buffer.byteLength(MessageBody);
  for (const [name, { DataType, StringValue, BinaryValue }] of Object.entries(MessageAttributes ?? {})) {
    size +=
      Buffer.byteLength(name) +
      Buffer.byteLength(DataType) +
      (BinaryValue?.length ?? 0) +
      Buffer.byteLength(StringValue ?? "");
  }
  return size;
}

/**
 * Refuse a message that SQS would refuse, and say what it is stored as. `isEntry`: of a batch, where one text and one
 * code differ.
 */
export function prepare(
  queue: SqsQueue,
  message: Outgoing,
  traceHeader: string | undefined,
  isEntry: boolean,
): Prepared {
  const { MessageBody: body, MessageAttributes: attributes, DelaySeconds: delay, MessageGroupId: group } = message;
  if (!body) throw missingParameter("MessageBody");
  const bytes = sizeOf(message);
  if (bytes > queue.maxBytes) {
    throw invalidParameter(
      `One or more parameters ${isEntry ? "cannot be validated" : "are invalid"}. Reason: Message must be shorter than ${queue.maxBytes} bytes.`,
    );
  }
  if (hasIllegalCharacters(body)) throw illegalContents(body);
  checkAttributes(attributes ?? {});
  const trace = message.MessageSystemAttributes?.["AWSTraceHeader"]?.StringValue ?? traceHeader;
  checkSystemAttributes(message.MessageSystemAttributes ?? {});
  const headers = {
    ...(attributes && Object.keys(attributes).length > 0 ? { attributes: storeAttributes(attributes) } : {}),
    ...(trace ? { trace } : {}),
  };
  return {
    // As the JSON it is, so that a handler finds an object or a list instead of a text.
    input: isStorableJson(body) ? body : JSON.stringify(body),
    options: {
      queue: queue.queue,
      type: messageType,
      ...delayOf(queue, delay),
      ...identityOf(queue, message, isEntry),
      ...(group === undefined ? {} : { group }),
      ...(Object.keys(headers).length > 0 ? { headers } : {}),
    },
    bytes,
  };
}

function illegalContents(text: string): SqsError {
  let first = "";
  for (const character of text) {
    first = character;
    if (hasIllegalCharacters(character)) break;
  }
  return new SqsError(
    "InvalidMessageContents",
    `Invalid binary character '#x${(first.codePointAt(0) ?? 0).toString(16).toUpperCase()}' was found in the message body, ` +
      "the set of allowed characters is #x9 | #xA | #xD | [#x20-#xD7FF] | [#xE000-#xFFFD] | [#x10000-#x10FFFF].",
  );
}

function delayOf(queue: SqsQueue, delay: number | undefined): { readonly delaySeconds?: number } {
  if (delay !== undefined && (delay < 0 || delay > 900)) {
    throw invalidParameter(
      `Value ${delay} for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= 900.`,
    );
  }
  if (queue.isFifo && delay) {
    throw invalidParameter(
      `Value ${delay} for parameter DelaySeconds is invalid. Reason: The request include parameter that is not valid for this queue type.`,
    );
  }
  const seconds = queue.isFifo ? queue.delaySeconds : (delay ?? queue.delaySeconds);
  return seconds > 0 ? { delaySeconds: seconds } : {};
}

/** What a message of a FIFO queue must have; a batch in which one lacks it is refused as a whole. */
export function checkFifo(
  queue: SqsQueue,
  { MessageGroupId: group, MessageDeduplicationId: id }: Outgoing,
  isEntry: boolean,
): void {
  if (!queue.isFifo) return;
  if (group === undefined)
    throw isEntry
      ? invalidParameter("The request must contain the parameter MessageGroupId.")
      : missingParameter("MessageGroupId");
  if (id === undefined && !queue.hashesBodies)
    throw invalidParameter(
      "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly",
    );
}

/** Group and fingerprint: which messages follow each other, and which are the same. */
function identityOf(queue: SqsQueue, message: Outgoing, isEntry: boolean): Readonly<Record<string, Json>> {
  const { MessageGroupId: group, MessageDeduplicationId: given, MessageBody: body } = message;
  if (group !== undefined) checkIdentity("MessageGroupId", group);
  if (!queue.isFifo) {
    if (given === undefined) return {};
    throw invalidParameter(
      `Value ${given} for parameter MessageDeduplicationId is invalid. Reason: The request includes a parameter that is not valid for this queue type.`,
    );
  }
  checkFifo(queue, message, isEntry);
  if (given !== undefined) checkIdentity("MessageDeduplicationId", given);
  const id = given ?? createHash("sha256").update(body).digest("hex");
  // Neither has spaces.
  return {
    fingerprint: queue.isScopedByGroup ? `${group} ${id}` : id,
    fingerprintMode: "window",
    fingerprintSeconds: duplicateSeconds,
  };
}

function checkIdentity(parameter: string, value: string): void {
  if (!/^[\x21-\x7e]{1,128}$/.test(value)) {
    throw invalidParameter(
      `Value ${value} for parameter ${parameter} is invalid. Reason: ${parameter} can only include alphanumeric and punctuation characters. 1 to 128 in length.`,
    );
  }
}

function checkAttributes(attributes: Attributes): void {
  const count = Object.keys(attributes).length;
  if (count > maxAttributes)
    throw invalidParameter(`Number of message attributes [${count}] exceeds the allowed maximum [${maxAttributes}].`);
  for (const [name, value] of Object.entries(attributes)) {
    checkAttributeName(name);
    checkAttributeValue("user", name, value);
  }
}

function checkAttributeName(name: string): void {
  if (!/^[\p{L}\p{N}_.-]{1,256}$/u.test(name) || name.startsWith(".") || name.endsWith(".") || name.includes("..")) {
    throw invalidParameter(
      `Message (user) attribute name '${name}' is invalid. It can contain letters, digits, '_', '-' and '.', at most 256, and no period at either end or after another.`,
    );
  }
  if (/^(aws|amazon)\./i.test(name)) {
    throw invalidParameter(`Message (user) attribute name '${name}' is invalid. It cannot begin with AWS. or Amazon.`);
  }
}

function checkAttributeValue(
  kind: "user" | "system",
  name: string,
  { DataType, StringValue, BinaryValue, StringListValues, BinaryListValues }: AttributeValue,
): void {
  if (!DataType)
    throw invalidParameter(`The message attribute '${name}' must contain a non-empty message attribute type.`);
  const [type] = /^(String|Number|Binary)(?=$|\.)/.exec(DataType) ?? [];
  if (type === undefined || DataType.length > 256) {
    throw invalidParameter(
      `The type of message (${kind}) attribute '${name}' is invalid. You must use only the following supported type prefixes: Binary, Number, String.`,
    );
  }
  if (StringListValues?.length || BinaryListValues?.length) {
    throw new SqsError(
      "UnsupportedOperation",
      "Message attribute list values in SendMessage operation are not supported.",
    );
  }
  if (type === "Binary" ? !BinaryValue?.length : !StringValue) {
    throw invalidParameter(
      `Message (${kind}) attribute '${name}' must contain a non-empty value of type '${type === "Binary" ? "Binary" : "String"}'.`,
    );
  }
  if ((type === "Binary" ? StringValue : BinaryValue) !== undefined) {
    throw invalidParameter(`Message (${kind}) attribute '${name}' has a value of another type than '${DataType}'.`);
  }
  if (StringValue !== undefined && hasIllegalCharacters(StringValue)) {
    throw invalidParameter(`Message (${kind}) attribute '${name}' contains characters outside of the allowed set.`);
  }
  if (type === "Number" && !isNumber(StringValue!)) {
    throw invalidParameter(`Can't cast the value of message (${kind}) attribute '${name}' to a number.`);
  }
}

/** 38 digits, from 10^-128 to 10^126. */
function isNumber(text: string): boolean {
  const [, mantissa = "", exponent = "0"] = /^[+-]?(\d+\.?\d*|\.\d+)(?:[eE]([+-]?\d{1,4}))?$/.exec(text) ?? [];
  if (mantissa === "") return false;
  const digits = mantissa.replace(".", "").replace(/^0+|0+$/g, "");
  const [whole = "", fraction = ""] = mantissa.split(".");
  const leading = whole.replace(/^0+/, "");
  const magnitude = Number(exponent) + (leading === "" ? -(/^0*/.exec(fraction)![0].length + 1) : leading.length - 1);
  return digits.length <= 38 && (digits === "" || (magnitude >= -128 && magnitude <= 126));
}

function checkSystemAttributes(attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (name !== "AWSTraceHeader")
      throw invalidParameter(
        `Message (system) attribute '${name}' is invalid. You must use only the following supported attributes: AWSTraceHeader.`,
      );
    checkAttributeValue("system", name, value);
    if ((value.StringValue?.length ?? 0) > maxTraceLength)
      throw invalidParameter(
        `Message (system) attribute '${name}' is invalid. Reason: It must be at most ${maxTraceLength} characters.`,
      );
    if (!value.DataType.startsWith("String"))
      throw invalidParameter(
        `The type of message (system) attribute '${name}' is invalid. You must use only the following supported type prefixes: String.`,
      );
  }
}

/** Attributes as a job carries them: plain, so that a handler can read them too. */
function storeAttributes(attributes: Attributes): Json {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, { DataType: type, StringValue, BinaryValue }]) => [
      name,
      { type, value: StringValue ?? BinaryValue!.toString("base64") },
    ]),
  );
}

/**
 * The attributes of a job that SQS can carry. Anybody may enqueue a job with any headers: what is no attribute is left
 * out, and hinders nobody.
 */
function loadAttributes(stored: unknown): Record<string, AttributeValue> {
  const loaded = Object.entries(isObject(stored) ? stored : {}).map(
    ([name, value]) => [name, loadAttribute(name, value)] as const,
  );
  return Object.fromEntries(loaded.filter((entry): entry is [string, AttributeValue] => entry[1] !== undefined));
}

function loadAttribute(name: string, stored: unknown): AttributeValue | undefined {
  if (!isObject(stored)) return undefined;
  const { type, value } = stored;
  if (typeof type !== "string" || typeof value !== "string") return undefined;
  const loaded: AttributeValue = type.startsWith("Binary")
    ? { DataType: type, BinaryValue: Buffer.from(value, "base64") }
    : { DataType: type, StringValue: value };
  try {
    checkAttributeName(name);
    checkAttributeValue("user", name, loaded);
    return loaded;
  } catch (error) {
    if (error instanceof SqsError) return undefined;
    throw error;
  }
}

function loadTrace(stored: unknown): string | undefined {
  return typeof stored === "string" && stored !== "" && !hasIllegalCharacters(stored) ? stored : undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What a sender is told of a message that was stored. A duplicate has the id of the first. */
export function sentAs(queue: SqsQueue, message: Outgoing, id: JobId): Omit<SentEntry, "Id"> {
  return {
    MD5OfMessageBody: md5OfBody(message.MessageBody),
    MD5OfMessageAttributes: md5OfAttributes(message.MessageAttributes),
    MD5OfMessageSystemAttributes: md5OfAttributes(message.MessageSystemAttributes),
    MessageId: messageIdOf(id),
    SequenceNumber: queue.isFifo ? sequenceOf(id) : undefined,
  };
}

/** Twenty digits that rise with the job's id, which rises with time. */
const sequenceOf = (id: JobId): string => `1${splitHandle(id).id.padStart(19, "0")}`;

/** Which attributes a receiver wants. */
export interface Wanted {
  readonly system: (name: string) => boolean;
  readonly user: (name: string) => boolean;
}

export function wantedBy(input: Input<"ReceiveMessage">): Wanted {
  const system = new Set([...(input.AttributeNames ?? []), ...(input.MessageSystemAttributeNames ?? [])]);
  const names = input.MessageAttributeNames ?? [];
  const isAll = names.some((name) => name === "All" || name === "*" || name === ".*");
  const prefixes = names.filter((name) => name.endsWith(".*")).map((name) => name.slice(0, -2));
  return {
    system: (name) => system.has("All") || system.has(name),
    user: (name) => isAll || names.includes(name) || prefixes.some((prefix) => name.startsWith(prefix)),
  };
}

/**
 * A message as its receiver gets it. Characters that SQS has no place for are replaced in its body, so that every
 * client reads it and finds its hash right.
 */
export function receivedAs(
  queue: SqsQueue,
  record: SqsMessageRecord,
  handle: string,
  account: string,
  arnOfQueue: (queue: string) => string,
  wanted: Wanted,
): Message {
  const { source } = record;
  const headers = isObject(record.headers) ? record.headers : {};
  const body = replaceIllegalCharacters(record.body);
  const first = source ? (source.firstId ?? source.id) : record.id;
  const before = source ? source.attempts + (source.attemptsBefore ?? 0) : 0;
  const system: Record<string, string | undefined> = {
    AWSTraceHeader: loadTrace(headers["trace"]),
    ApproximateFirstReceiveTimestamp: String(record.firstReceivedAt),
    ApproximateReceiveCount: String(record.attempt + before),
    DeadLetterQueueSourceArn: source ? arnOfQueue(source.queue) : undefined,
    MessageDeduplicationId: queue.isFifo ? (record.fingerprint?.split(" ").at(-1) ?? messageIdOf(first)) : undefined,
    MessageGroupId: record.group ?? undefined,
    SenderId: account,
    SentTimestamp: String(createdAt(splitHandle(first).id).getTime()),
    SequenceNumber: queue.isFifo ? sequenceOf(record.id) : undefined,
  };
  const attributes = Object.fromEntries(
    Object.entries(loadAttributes(headers["attributes"])).filter(([name]) => wanted.user(name)),
  );
  return {
    Attributes: Object.fromEntries(
      Object.entries(system).filter(
        (entry): entry is [string, string] => entry[1] !== undefined && wanted.system(entry[0]),
      ),
    ),
    Body: body,
    MD5OfBody: md5OfBody(body),
    MD5OfMessageAttributes: md5OfAttributes(attributes),
    MessageAttributes: attributes,
    MessageId: messageIdOf(first),
    ReceiptHandle: handle,
  };
}

/** Messages that can be shown, and records that cannot, with the reason: one of them is in nobody's way. */
export interface Shown {
  readonly messages: readonly Message[];
  readonly records: readonly SqsMessageRecord[];
  readonly broken: readonly { readonly record: SqsMessageRecord; readonly error: unknown }[];
}

/** Show each message by itself: whatever is wrong with one, those beside it are delivered. */
export function showEach(records: readonly SqsMessageRecord[], show: (record: SqsMessageRecord) => Message): Shown {
  const messages: Message[] = [];
  const good: SqsMessageRecord[] = [];
  const broken: { record: SqsMessageRecord; error: unknown }[] = [];
  for (const record of records) {
    try {
      messages.push(show(record));
      good.push(record);
    } catch (error) {
      broken.push({ record, error });
    }
  }
  return { messages, records: good, broken };
}
