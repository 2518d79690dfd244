/**
 * The actions of SQS: what each takes and what it answers, as one table. Both protocols decode and encode by walking
 * it, and the TypeScript types are read off it, so none of the three can drift. Members stand in the order they are
 * written to the wire: the alphabet, as AWS does.
 */

const string = { kind: "string" } as const;
const integer = { kind: "integer" } as const;
const boolean = { kind: "boolean" } as const;
/** Bytes: base64 on the wire, a Buffer here. */
const blob = { kind: "blob" } as const;

/** A list. `wireName` is the Query name of one item: `TagKey.1`, `<QueueUrl>`. */
const listOf = <const M extends Kind>(wireName: string, of: M) => ({ kind: "list", wireName, of }) as const;
/**
 * A map from strings. `wireName` and `keyName` are the Query names of one entry and its key: `Tag.1.Key`,
 * `Tag.1.Value`.
 */
const mapOf = <const M extends Kind>(wireName: string, keyName: "Name" | "Key", of: M) =>
  ({ kind: "map", wireName, keyName, of }) as const;
const structure = <const M extends Members>(members: M) => ({ kind: "structure", members }) as const;
/**
 * Wire refuses a request without this member, except for lists and maps: Query cannot tell an empty one from an absent
 * one, so both arrive empty and the action says what is wrong. In an answer such a member is written even when it is
 * empty.
 */
const required = <const M extends Kind>(kind: M) => ({ ...kind, isRequired: true }) as const;

/** What a member may be. */
export type Kind =
  | { readonly kind: "string" | "integer" | "boolean" | "blob"; readonly isRequired?: true }
  | { readonly kind: "list"; readonly wireName: string; readonly of: Kind; readonly isRequired?: true }
  | {
      readonly kind: "map";
      readonly wireName: string;
      readonly keyName: "Name" | "Key";
      readonly of: Kind;
      readonly isRequired?: true;
    }
  | { readonly kind: "structure"; readonly members: Members; readonly isRequired?: true };
/** The members of a structure by name. */
export interface Members {
  readonly [name: string]: Kind;
}

const attributeValue = structure({
  BinaryListValues: listOf("BinaryListValue", blob),
  BinaryValue: blob,
  DataType: required(string),
  StringListValues: listOf("StringListValue", string),
  StringValue: string,
});
const queueAttributes = mapOf("Attribute", "Name", string);
const tags = mapOf("Tag", "Key", string);
const messageAttributes = mapOf("MessageAttribute", "Name", attributeValue);
const messageSystemAttributes = mapOf("MessageSystemAttribute", "Name", attributeValue);

/** What SendMessage and an entry of its batch have in common. */
const outgoing = {
  DelaySeconds: integer,
  MessageAttributes: messageAttributes,
  MessageBody: required(string),
  MessageDeduplicationId: string,
  MessageGroupId: string,
  MessageSystemAttributes: messageSystemAttributes,
} as const;
const sendEntry = structure({ Id: required(string), ...outgoing });
const deleteEntry = structure({ Id: required(string), ReceiptHandle: required(string) });
const visibilityEntry = structure({
  Id: required(string),
  ReceiptHandle: required(string),
  VisibilityTimeout: integer,
});

const failedEntry = structure({
  Code: required(string),
  Id: required(string),
  Message: string,
  SenderFault: required(boolean),
});
const failed = listOf("BatchResultErrorEntry", failedEntry);
const sentEntry = structure({
  Id: required(string),
  MD5OfMessageAttributes: string,
  MD5OfMessageBody: required(string),
  MD5OfMessageSystemAttributes: string,
  MessageId: required(string),
  SequenceNumber: string,
});
const doneEntry = structure({ Id: required(string) });

const message = structure({
  Attributes: queueAttributes,
  Body: string,
  MD5OfBody: string,
  MD5OfMessageAttributes: string,
  MessageAttributes: messageAttributes,
  MessageId: string,
  ReceiptHandle: string,
});
const moveTask = structure({
  ApproximateNumberOfMessagesMoved: integer,
  ApproximateNumberOfMessagesToMove: integer,
  DestinationArn: string,
  FailureReason: string,
  MaxNumberOfMessagesPerSecond: integer,
  SourceArn: string,
  StartedTimestamp: integer,
  Status: string,
  TaskHandle: string,
});

/** Members of an action's input and output; an action without output answers an empty body. */
export interface ActionModel {
  readonly input: Members;
  readonly output?: Members;
}

/** Every action. */
export const actions = {
  AddPermission: {
    input: {
      AWSAccountIds: required(listOf("AWSAccountId", string)),
      Actions: required(listOf("ActionName", string)),
      Label: required(string),
      QueueUrl: required(string),
    },
  },
  CancelMessageMoveTask: {
    input: { TaskHandle: required(string) },
    output: { ApproximateNumberOfMessagesMoved: integer },
  },
  ChangeMessageVisibility: {
    input: { QueueUrl: required(string), ReceiptHandle: required(string), VisibilityTimeout: required(integer) },
  },
  ChangeMessageVisibilityBatch: {
    input: {
      Entries: required(listOf("ChangeMessageVisibilityBatchRequestEntry", visibilityEntry)),
      QueueUrl: required(string),
    },
    output: { Failed: failed, Successful: listOf("ChangeMessageVisibilityBatchResultEntry", doneEntry) },
  },
  CreateQueue: {
    input: { Attributes: queueAttributes, QueueName: required(string), tags },
    output: { QueueUrl: string },
  },
  DeleteMessage: { input: { QueueUrl: required(string), ReceiptHandle: required(string) } },
  DeleteMessageBatch: {
    input: { Entries: required(listOf("DeleteMessageBatchRequestEntry", deleteEntry)), QueueUrl: required(string) },
    output: { Failed: failed, Successful: listOf("DeleteMessageBatchResultEntry", doneEntry) },
  },
  DeleteQueue: { input: { QueueUrl: required(string) } },
  GetQueueAttributes: {
    input: { AttributeNames: listOf("AttributeName", string), QueueUrl: required(string) },
    output: { Attributes: queueAttributes },
  },
  GetQueueUrl: { input: { QueueName: required(string), QueueOwnerAWSAccountId: string }, output: { QueueUrl: string } },
  ListDeadLetterSourceQueues: {
    input: { MaxResults: integer, NextToken: string, QueueUrl: required(string) },
    output: { NextToken: string, queueUrls: required(listOf("QueueUrl", string)) },
  },
  ListMessageMoveTasks: {
    input: { MaxResults: integer, SourceArn: required(string) },
    output: { Results: listOf("ListMessageMoveTasksResultEntry", moveTask) },
  },
  ListQueueTags: { input: { QueueUrl: required(string) }, output: { Tags: tags } },
  ListQueues: {
    input: { MaxResults: integer, NextToken: string, QueueNamePrefix: string },
    output: { NextToken: string, QueueUrls: listOf("QueueUrl", string) },
  },
  PurgeQueue: { input: { QueueUrl: required(string) } },
  ReceiveMessage: {
    input: {
      AttributeNames: listOf("AttributeName", string),
      MaxNumberOfMessages: integer,
      MessageAttributeNames: listOf("MessageAttributeName", string),
      MessageSystemAttributeNames: listOf("MessageSystemAttributeName", string),
      QueueUrl: required(string),
      ReceiveRequestAttemptId: string,
      VisibilityTimeout: integer,
      WaitTimeSeconds: integer,
    },
    output: { Messages: listOf("Message", message) },
  },
  RemovePermission: { input: { Label: required(string), QueueUrl: required(string) } },
  SendMessage: {
    input: { ...outgoing, QueueUrl: required(string) },
    output: {
      MD5OfMessageAttributes: string,
      MD5OfMessageBody: string,
      MD5OfMessageSystemAttributes: string,
      MessageId: string,
      SequenceNumber: string,
    },
  },
  SendMessageBatch: {
    input: { Entries: required(listOf("SendMessageBatchRequestEntry", sendEntry)), QueueUrl: required(string) },
    output: { Failed: failed, Successful: listOf("SendMessageBatchResultEntry", sentEntry) },
  },
  SetQueueAttributes: { input: { Attributes: required(queueAttributes), QueueUrl: required(string) } },
  StartMessageMoveTask: {
    input: { DestinationArn: string, MaxNumberOfMessagesPerSecond: integer, SourceArn: required(string) },
    output: { TaskHandle: string },
  },
  TagQueue: { input: { QueueUrl: required(string), Tags: required(tags) } },
  UntagQueue: { input: { QueueUrl: required(string), TagKeys: required(listOf("TagKey", string)) } },
} as const satisfies Readonly<Record<string, ActionModel>>;

/** The TypeScript type of a kind. */
type ValueOf<K> = K extends { kind: "string" }
  ? string
  : K extends { kind: "integer" }
    ? number
    : K extends { kind: "boolean" }
      ? boolean
      : K extends { kind: "blob" }
        ? Buffer
        : K extends { kind: "list"; of: infer M }
          ? readonly ValueOf<M>[]
          : K extends { kind: "map"; of: infer M }
            ? Readonly<Record<string, ValueOf<M>>>
            : K extends { kind: "structure"; members: infer M }
              ? StructureOf<M>
              : never;
/** The TypeScript type of a structure: members that are not required may be absent or undefined, which is the same. */
type StructureOf<M> = { readonly [N in keyof M as M[N] extends { isRequired: true } ? N : never]: ValueOf<M[N]> } & {
  readonly [N in keyof M as M[N] extends { isRequired: true } ? never : N]?: ValueOf<M[N]> | undefined;
};

/** The name of an action. */
export type Action = keyof typeof actions;
/** What an action is given. Maps and structures have no prototype: any name, `__proto__` too, is data. */
export type Input<A extends Action> = StructureOf<(typeof actions)[A]["input"]>;
/** What an action answers. Empty lists and maps are left out on the way, so an action need not. */
export type Output<A extends Action> = A extends Action ? OutputOf<(typeof actions)[A]> : never;
type OutputOf<M> = M extends { readonly output: infer O } ? StructureOf<O> : void;

/** One message as ReceiveMessage gives it. */
export type Message = ValueOf<typeof message>;
/** The value of a message attribute, the user's or the system's. */
export type AttributeValue = ValueOf<typeof attributeValue>;
/** What became of it. */
export type SentEntry = ValueOf<typeof sentEntry>;
/** One entry of a batch that failed. */
export type FailedEntry = ValueOf<typeof failedEntry>;

/** Whether there is such an action; own names only, so that `constructor` is none. */
export function isAction(name: string): name is Action {
  return Object.hasOwn(actions, name);
}
