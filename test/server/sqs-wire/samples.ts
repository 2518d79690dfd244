import type { Action, Input, Output } from "../../../src/server/sqs/wire/model.js";

/** Text that every layer between a client and us likes to break. */
export const hardText = `a\r\nb\tc "&quot;" <&> ' %41+ é ß ¥ 漢字 😀 \u{10FFFD} \\u0041 \uFFFD ]]> ${"\r".repeat(3)}`;
const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
const QueueUrl = "http://localhost:9324/123456789012/q";

const attributes = {
  text: { DataType: "String", StringValue: hardText },
  "Number.of-bytes_1": { DataType: "Number.int", StringValue: "-1e5" },
  __proto__x: { DataType: "Binary.png", BinaryValue: bytes },
  constructor: { DataType: "String", StringValue: "a name objects have already" },
};
const trace = {
  AWSTraceHeader: {
    DataType: "String",
    StringValue: "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1",
  },
};
const failed = [{ Code: "InvalidParameterValue", Id: "b", Message: hardText, SenderFault: true }];
const md5 = "0123456789abcdef0123456789abcdef";

/** An input with every member, and an output with every member, of every action. */
export const samples: { readonly [A in Action]: { readonly input: Input<A>; readonly output: Output<A> } } = {
  AddPermission: {
    input: { QueueUrl, Label: "label", AWSAccountIds: ["111111111111", "222222222222"], Actions: ["SendMessage", "*"] },
    output: undefined,
  },
  CancelMessageMoveTask: { input: { TaskHandle: "handle+/=" }, output: { ApproximateNumberOfMessagesMoved: 0 } },
  ChangeMessageVisibility: { input: { QueueUrl, ReceiptHandle: "AQEB+/=", VisibilityTimeout: 0 }, output: undefined },
  ChangeMessageVisibilityBatch: {
    input: {
      QueueUrl,
      Entries: [
        { Id: "a", ReceiptHandle: "A+/=", VisibilityTimeout: 0 },
        { Id: "b", ReceiptHandle: "B" },
      ],
    },
    output: { Successful: [{ Id: "a" }], Failed: failed },
  },
  CreateQueue: {
    input: {
      QueueName: "q.fifo",
      Attributes: { FifoQueue: "true", Policy: "" },
      tags: { "a key": "", [hardText]: hardText },
    },
    output: { QueueUrl },
  },
  DeleteMessage: { input: { QueueUrl, ReceiptHandle: "AQEB" }, output: undefined },
  DeleteMessageBatch: {
    input: {
      QueueUrl,
      Entries: [
        { Id: "a", ReceiptHandle: "A" },
        { Id: "b", ReceiptHandle: "B" },
      ],
    },
    output: { Successful: [{ Id: "a" }], Failed: failed },
  },
  DeleteQueue: { input: { QueueUrl }, output: undefined },
  GetQueueAttributes: {
    input: { QueueUrl, AttributeNames: ["All", "QueueArn"] },
    output: { Attributes: { QueueArn: "arn", Policy: hardText } },
  },
  GetQueueUrl: { input: { QueueName: "q", QueueOwnerAWSAccountId: "123456789012" }, output: { QueueUrl } },
  ListDeadLetterSourceQueues: {
    input: { QueueUrl, MaxResults: 1000, NextToken: "token" },
    output: { queueUrls: [QueueUrl, `${QueueUrl}2`], NextToken: "next" },
  },
  ListMessageMoveTasks: {
    input: { SourceArn: "arn", MaxResults: 10 },
    output: {
      Results: [
        {
          ApproximateNumberOfMessagesMoved: 0,
          ApproximateNumberOfMessagesToMove: 7,
          DestinationArn: "to",
          FailureReason: "AWS.SimpleQueueService.NonExistentQueue",
          MaxNumberOfMessagesPerSecond: 500,
          SourceArn: "from",
          StartedTimestamp: 1_749_559_763_123,
          Status: "RUNNING",
          TaskHandle: "handle",
        },
        { Status: "COMPLETED" },
      ],
    },
  },
  ListQueueTags: { input: { QueueUrl }, output: { Tags: { a: "", [hardText]: hardText } } },
  ListQueues: {
    input: { QueueNamePrefix: "", MaxResults: 2, NextToken: "token" },
    output: { QueueUrls: [QueueUrl, `${QueueUrl}2`], NextToken: "next" },
  },
  PurgeQueue: { input: { QueueUrl }, output: undefined },
  ReceiveMessage: {
    input: {
      QueueUrl,
      AttributeNames: ["All"],
      MessageAttributeNames: ["All", "foo.*"],
      MessageSystemAttributeNames: ["SentTimestamp"],
      MaxNumberOfMessages: 10,
      VisibilityTimeout: 43_200,
      WaitTimeSeconds: 0,
      ReceiveRequestAttemptId: "attempt",
    },
    output: {
      Messages: [
        {
          Attributes: { SenderId: "me", SentTimestamp: "1749559763123" },
          Body: hardText,
          MD5OfBody: md5,
          MD5OfMessageAttributes: md5,
          MessageAttributes: attributes,
          MessageId: "id",
          ReceiptHandle: "AQEB+/=",
        },
        { Body: "", MessageId: "id 2" },
      ],
    },
  },
  RemovePermission: { input: { QueueUrl, Label: "label" }, output: undefined },
  SendMessage: {
    input: {
      QueueUrl,
      MessageBody: hardText,
      DelaySeconds: 900,
      MessageAttributes: attributes,
      MessageSystemAttributes: trace,
      MessageDeduplicationId: "d",
      MessageGroupId: "g",
    },
    output: {
      MD5OfMessageAttributes: md5,
      MD5OfMessageBody: md5,
      MD5OfMessageSystemAttributes: md5,
      MessageId: "id",
      SequenceNumber: "18849496460467696128",
    },
  },
  SendMessageBatch: {
    input: {
      QueueUrl,
      Entries: Array.from({ length: 11 }, (_, at) => ({
        Id: `id_${at}`,
        MessageBody: `${at} ${hardText}`,
        DelaySeconds: at,
        MessageAttributes: attributes,
        MessageSystemAttributes: trace,
        MessageDeduplicationId: "d",
        MessageGroupId: "g",
      })),
    },
    output: {
      Successful: [
        {
          Id: "a",
          MD5OfMessageAttributes: md5,
          MD5OfMessageBody: md5,
          MD5OfMessageSystemAttributes: md5,
          MessageId: "id",
          SequenceNumber: "1",
        },
        { Id: "c", MD5OfMessageBody: md5, MessageId: "id c" },
      ],
      Failed: failed,
    },
  },
  SetQueueAttributes: {
    input: { QueueUrl, Attributes: { DelaySeconds: "1", RedrivePolicy: '{"maxReceiveCount":3}' } },
    output: undefined,
  },
  StartMessageMoveTask: {
    input: { SourceArn: "from", DestinationArn: "to", MaxNumberOfMessagesPerSecond: 500 },
    output: { TaskHandle: "handle" },
  },
  TagQueue: { input: { QueueUrl, Tags: { a: "", b: "c" } }, output: undefined },
  UntagQueue: { input: { QueueUrl, TagKeys: ["a", "b"] }, output: undefined },
};

/** A value as JSON has it, with bytes of whatever type as `{ base64 }`. */
export function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return { base64: Buffer.from(value).toString("base64") };
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => item !== undefined)
      .map(([name, item]) => [name, plain(item)]),
  );
}
