import fc from "fast-check";
import { type Attack, Fault, type Run } from "./run.js";
import { json, marks, mostly, name, number, some, text } from "./values.js";

const QueueUrl = marks.queue.map((mark) => `/000000000000/${mark}`);
const arn = marks.queue.map((mark) => `arn:aws:sqs:us-east-1:000000000000:${mark}`);
const digits = fc.oneof(fc.integer({ min: 0, max: 1000 }).map(String), number.map(String), text);
const policy = fc.oneof(
  fc
    .tuple(arn, fc.integer({ min: 1, max: 3 }))
    .map(([deadLetterTargetArn, maxReceiveCount]) => JSON.stringify({ deadLetterTargetArn, maxReceiveCount })),
  json.map((value) => JSON.stringify(value)),
);
const Attributes = some({
  DelaySeconds: digits,
  MaximumMessageSize: digits,
  MessageRetentionPeriod: digits,
  VisibilityTimeout: digits,
  RedrivePolicy: policy,
  RedriveAllowPolicy: policy,
  Policy: policy,
  KmsMasterKeyId: text,
  FifoQueue: fc.constantFrom("true", "false"),
  ContentBasedDeduplication: fc.constantFrom("true", "false"),
});
const body = fc.oneof(
  text,
  json.map((value) => JSON.stringify(value)),
  json,
);
const attribute = some(
  {
    DataType: fc.constantFrom("String", "Number", "Binary", "Number.x"),
    StringValue: text,
    BinaryValue: fc.constantFrom("YWJj", "="),
  },
  3,
);
const message = {
  MessageBody: body,
  DelaySeconds: number,
  MessageAttributes: fc.dictionary(name, attribute, { maxKeys: 3, noNullPrototype: true }),
  MessageGroupId: name,
  MessageDeduplicationId: name,
  MessageSystemAttributes: some({ AWSTraceHeader: attribute }, 1),
};
const Entries = fc.array(some({ Id: name, ...message }, 6), { maxLength: 4 });
const receipt = fc.oneof(fc.constant("@token"), text);

/** What each action may be given. Receives never wait: that would be a slow test, not a harm. */
const actions: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  CreateQueue: some(
    {
      QueueName: fc.oneof(marks.queue, name),
      Attributes,
      tags: fc.dictionary(text, text, { maxKeys: 3, noNullPrototype: true }),
    },
    3,
  ),
  SetQueueAttributes: some({ QueueUrl, Attributes }, 2),
  GetQueueAttributes: some(
    { QueueUrl, AttributeNames: fc.array(fc.constantFrom("All", "QueueArn", "x"), { maxLength: 2 }) },
    2,
  ),
  SendMessage: some({ QueueUrl, ...message }, 7),
  SendMessageBatch: some({ QueueUrl, Entries }, 2),
  ReceiveMessage: fc.record(
    {
      QueueUrl,
      WaitTimeSeconds: fc.constantFrom(0, -1, 21),
      MaxNumberOfMessages: mostly(fc.integer({ min: 1, max: 10 })),
      VisibilityTimeout: mostly(fc.constantFrom(0, 1, 30, 43_200)),
    },
    { noNullPrototype: true },
  ),
  ChangeMessageVisibility: some({ QueueUrl, ReceiptHandle: receipt, VisibilityTimeout: number }, 3),
  DeleteMessage: some({ QueueUrl, ReceiptHandle: receipt }, 2),
  DeleteMessageBatch: some(
    { QueueUrl, Entries: fc.array(some({ Id: name, ReceiptHandle: receipt }, 2), { maxLength: 3 }) },
    2,
  ),
  ListQueues: some({ QueueNamePrefix: text, MaxResults: number, NextToken: text }, 3),
  ListDeadLetterSourceQueues: some({ QueueUrl, MaxResults: number, NextToken: text }, 3),
  TagQueue: some({ QueueUrl, Tags: fc.dictionary(text, text, { maxKeys: 3, noNullPrototype: true }) }, 2),
  AddPermission: some(
    {
      QueueUrl,
      Label: name,
      AWSAccountIds: fc.array(text, { maxLength: 2 }),
      Actions: fc.array(text, { maxLength: 2 }),
    },
    4,
  ),
  StartMessageMoveTask: some({ SourceArn: arn, DestinationArn: arn, MaxNumberOfMessagesPerSecond: number }, 3),
  ListMessageMoveTasks: some({ SourceArn: arn, MaxResults: number }, 2),
  PurgeQueue: some({ QueueUrl }, 1),
  DeleteQueue: some({ QueueUrl }, 1),
};

/** A request of an SQS client. */
export const sqsAttack: fc.Arbitrary<Attack> = fc
  .oneof(
    { weight: 3, arbitrary: fc.constantFrom("SendMessage", "SendMessageBatch", "ReceiveMessage", "CreateQueue") },
    { weight: 2, arbitrary: fc.constantFrom(...Object.keys(actions)) },
  )
  .chain((verb) => actions[verb]!.map((values) => ({ door: "sqs" as const, verb, values })));

/** Ask it. Its answer is never one that blames the server. */
export async function callSqs(run: Run, { verb, values }: Pick<Attack, "verb" | "values">): Promise<unknown> {
  const response = await fetch(run.target.sqsUrl, {
    method: "POST",
    headers: { "content-type": "application/x-amz-json-1.0", "x-amz-target": `AmazonSQS.${verb}` },
    body: run.json(values),
  });
  const answer = await response.text();
  if (response.status >= 500 || /InternalFailure/.test(answer))
    throw new Fault(`SQS ${verb} was answered ${response.status} ${answer.slice(0, 300)}`);
  run.count("sqs", response.ok ? "accepted" : "refused");
  return response.ok && answer !== "" ? JSON.parse(answer) : undefined;
}
