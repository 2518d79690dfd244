import {
  ChangeMessageVisibilityBatchCommand,
  ChangeMessageVisibilityCommand,
  CreateQueueCommand,
  DeleteMessageBatchCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  type Message,
  type MessageAttributeValue,
  ReceiveMessageCommand,
  type ReceiveMessageCommandInput,
  SendMessageBatchCommand,
  type SendMessageBatchRequestEntry,
  SendMessageCommand,
  type SendMessageCommandInput,
} from "@aws-sdk/client-sqs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { jobIdOf } from "../../../src/server/sqs/receipt.js";
import { useDatabase } from "../../support/database.js";
import { newName, useSqs } from "../../support/sqs.js";
import { until } from "../../support/wait.js";

const db = useDatabase();
const sqs = useSqs(db);

const create = async (Attributes: Record<string, string> = {}): Promise<string> =>
  (await sqs.client.send(new CreateQueueCommand({ QueueName: newName(), Attributes }))).QueueUrl!;
const send = (QueueUrl: string, MessageBody = "m", more: Partial<SendMessageCommandInput> = {}) =>
  sqs.client.send(new SendMessageCommand({ QueueUrl, MessageBody, ...more }));
const receive = async (QueueUrl: string, more: Partial<ReceiveMessageCommandInput> = {}): Promise<Message[]> =>
  (await sqs.client.send(new ReceiveMessageCommand({ QueueUrl, ...more }))).Messages ?? [];
const remove = (QueueUrl: string, { ReceiptHandle }: Message) =>
  sqs.client.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
const hide = (QueueUrl: string, { ReceiptHandle }: Message, VisibilityTimeout: number) =>
  sqs.client.send(new ChangeMessageVisibilityCommand({ QueueUrl, ReceiptHandle, VisibilityTimeout }));
const counts = async (QueueUrl: string): Promise<number[]> => {
  const names = [
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
  ] as const;
  const { Attributes } = await sqs.client.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: [...names] }));
  return names.map((name) => Number(Attributes![name]));
};
const text = (StringValue: string, DataType = "String"): MessageAttributeValue => ({ DataType, StringValue });

describe("sending", () => {
  it("tells the id and the hash; a number only in FIFO queues [sqs 27]", async () => {
    const url = await create();
    const sent = await send(url, "hello");
    expect(sent).toMatchObject({
      MD5OfMessageBody: "5d41402abc4b2a76b9719d911017c592",
      MessageId: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
    });
    expect(sent.SequenceNumber).toBeUndefined();
    expect(sent.MD5OfMessageAttributes).toBeUndefined();
    const job = await db.engine.get(jobIdOf(sent.MessageId!)!);
    expect(job!.job).toMatchObject({ type: "message", input: "hello" });
    expect(jobIdOf(sent.MessageId!.replace(/.$/, (digit) => (digit === "0" ? "1" : "0")))).toBeUndefined();
  });

  it("takes ten at once, and keeps their order [sqs 28]", async () => {
    const url = await create();
    const Entries = Array.from({ length: 10 }, (_, i) => ({ Id: `id-${i}`, MessageBody: `m${i}` }));
    const { Successful, Failed } = await sqs.client.send(new SendMessageBatchCommand({ QueueUrl: url, Entries }));
    expect(Successful!.map(({ Id }) => Id)).toEqual(Entries.map(({ Id }) => Id));
    expect(Failed).toBeUndefined();
    const got = await receive(url, { MaxNumberOfMessages: 10 });
    expect(got.map(({ Body }) => Body)).toEqual(Entries.map(({ MessageBody }) => MessageBody));
    expect(got.map(({ MessageId }) => MessageId)).toEqual(Successful!.map(({ MessageId }) => MessageId));
  });

  it("refuses a batch as a whole, and stores nothing [sqs 29]", async () => {
    const url = await create();
    const batch = (Entries: SendMessageBatchRequestEntry[]) =>
      sqs.client.send(new SendMessageBatchCommand({ QueueUrl: url, Entries }));
    const entry = (Id: string, MessageBody = "m") => ({ Id, MessageBody });
    for (const [entries, name, message] of [
      [[], "EmptyBatchRequest", "There should be at least one SendMessageBatchRequestEntry in the request."],
      [
        Array.from({ length: 20 }, (_, i) => entry(`a${i}`)),
        "TooManyEntriesInBatchRequest",
        "Maximum number of entries per request are 10. You have sent 20.",
      ],
      [
        [entry("a"), entry("b c")],
        "InvalidBatchEntryId",
        "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters long.",
      ],
      [[entry("a"), entry("id_2"), entry("id_2"), entry("a")], "BatchEntryIdsNotDistinct", "Id id_2 repeated."],
      [
        [entry("a", "x".repeat(1_048_576)), entry("b", "y")],
        "BatchRequestTooLong",
        "Batch requests cannot be longer than 1048576 bytes. You have sent 1048577 bytes.",
      ],
    ] as const) {
      await expect(batch([...entries]), name).rejects.toMatchObject({ name, message });
    }
    expect(await counts(url)).toEqual([0, 0, 0]);
  });

  it("refuses single entries of a batch, and stores the others [sqs 30]", async () => {
    const url = await create({ MaximumMessageSize: "1024" });
    const Entries = [
      { Id: "good", MessageBody: "m" },
      { Id: "large", MessageBody: "x".repeat(1025) },
      { Id: "odd", MessageBody: "a\u0001b" },
      { Id: "late", MessageBody: "m", DelaySeconds: 901 },
      { Id: "last", MessageBody: "n" },
    ];
    const { Successful, Failed } = await sqs.client.send(new SendMessageBatchCommand({ QueueUrl: url, Entries }));
    expect(Successful!.map(({ Id }) => Id)).toEqual(["good", "last"]);
    expect(Failed).toEqual([
      {
        Id: "large",
        SenderFault: true,
        Code: "InvalidParameterValue",
        Message: "One or more parameters cannot be validated. Reason: Message must be shorter than 1024 bytes.",
      },
      {
        Id: "odd",
        SenderFault: true,
        Code: "InvalidMessageContents",
        Message: expect.stringContaining("Invalid binary character '#x1'"),
      },
      {
        Id: "late",
        SenderFault: true,
        Code: "InvalidParameterValue",
        Message: expect.stringContaining("Value 901 for parameter DelaySeconds"),
      },
    ]);
    expect((await receive(url, { MaxNumberOfMessages: 10 })).map(({ Body }) => Body)).toEqual(["m", "n"]);
  });

  it("says of a full queue the same to one message and to an entry of a batch [sqs 30]", async () => {
    const url = await create();
    await db.engine.queuePut(url.split("/").at(-1)!, { maxDepth: 1 });
    await send(url);
    await expect(send(url)).rejects.toMatchObject({ Code: "RequestThrottled" });
    const { Failed } = await sqs.client.send(
      new SendMessageBatchCommand({ QueueUrl: url, Entries: [{ Id: "a", MessageBody: "m" }] }),
    );
    expect(Failed).toMatchObject([{ Id: "a", Code: "RequestThrottled" }]);
  });

  it("counts body and attributes, to the byte [sqs 31]", async () => {
    const url = await create({ MaximumMessageSize: "1024" });
    const MessageAttributes = { name: text("välue") }; // 4 + 6 + 6
    await send(url, "x".repeat(1024));
    await send(url, "x".repeat(1024 - 16), { MessageAttributes });
    const refusal = {
      Code: "InvalidParameterValue",
      message: "One or more parameters are invalid. Reason: Message must be shorter than 1024 bytes.",
    };
    await expect(send(url, "x".repeat(1025))).rejects.toMatchObject(refusal);
    await expect(send(url, "x".repeat(1024 - 15), { MessageAttributes })).rejects.toMatchObject(refusal);
    await expect(send(url, "ä".repeat(513))).rejects.toMatchObject(refusal);
    const large = await create();
    await send(large, "x".repeat(1_048_576));
    await expect(send(large, "x".repeat(1_048_577))).rejects.toMatchObject({
      message: "One or more parameters are invalid. Reason: Message must be shorter than 1048576 bytes.",
    });
    expect((await receive(large))[0]!.Body).toHaveLength(1_048_576);
  });

  it("refuses empty bodies and characters that XML cannot carry [sqs 32]", async () => {
    const url = await create();
    await expect(send(url, "")).rejects.toMatchObject({
      Code: "MissingParameter",
      message: "The request must contain the parameter MessageBody.",
    });
    for (const odd of ["\u0000", "\u0007", "\uFFFF", "\u000B"])
      await expect(send(url, `a${odd}b`)).rejects.toMatchObject({ name: "InvalidMessageContents" });
  });

  it("keeps every body as it was, whatever it looks like [sqs 10]", async () => {
    const url = await create();
    const bodies = [
      '{"a": 1,  "b": [1.0, 1e400, 12345678901234567890]}',
      '[1,\n 2,\t{"x":"\\u00e9"}]',
      ' {"a": 1} ',
      '{"a": 1',
      '{"a": "\\u0000"}',
      '{"a": "\\ud800"}',
      '{"a": "\\ud83d\\ude00"}',
      '"text"',
      "null",
      "12",
      "a\rb\r\nc\t",
      "\"&quot;<&>\u{1F600}\uFFFD'",
      `${"[".repeat(5000)}${"]".repeat(5000)}`,
      '{"a":1,"a":2}',
      "\\",
      "{}",
    ];
    for (const body of bodies) await send(url, body);
    const got = [
      ...(await receive(url, { MaxNumberOfMessages: 10 })),
      ...(await receive(url, { MaxNumberOfMessages: 10 })),
    ];
    expect(got.map(({ Body }) => Body)).toEqual(bodies);
  });

  it("checks attributes [sqs 33]", async () => {
    const url = await create();
    const refused = async (attributes: Record<string, MessageAttributeValue>, message?: string) =>
      expect(send(url, "m", { MessageAttributes: attributes }), JSON.stringify(attributes)).rejects.toMatchObject({
        Code: "InvalidParameterValue",
        ...(message === undefined ? {} : { message }),
      });
    for (const name of [".a", "a.", "AWS.a", "aws.a", "Amazon.a", "a b", "a/b", "a..b", "a".repeat(257)])
      await refused({ [name]: text("v") });
    await refused(
      { a: text("", "String") },
      "Message (user) attribute 'a' must contain a non-empty value of type 'String'.",
    );
    await refused({ a: text("v", "Text") });
    await refused({ a: text("v", "Strings") });
    await refused({ a: text("v", `String.${"x".repeat(250)}`) });
    await refused({ a: text("v\u0001") });
    await refused({ a: text("one", "Number") });
    await refused({ a: { DataType: "Binary" } });
    await refused({ a: { DataType: "Binary", BinaryValue: new Uint8Array([1]), StringValue: "" } });
    const trace = { AWSTraceHeader: text("x".repeat(2049)) };
    await expect(send(url, "m", { MessageSystemAttributes: trace })).rejects.toMatchObject({
      Code: "InvalidParameterValue",
    });
    await refused(
      Object.fromEntries(Array.from({ length: 11 }, (_, i) => [`a${i}`, text("v")])),
      "Number of message attributes [11] exceeds the allowed maximum [10].",
    );
    const good = {
      "attr.1øßä": text("v"),
      typed: text("v", "String.custom"),
      count: text("42", "Number.int"),
      bytes: { DataType: "Binary.png", BinaryValue: new Uint8Array([0, 255, 1]) },
    };
    await send(url, "m", { MessageAttributes: good });
    expect((await receive(url, { MessageAttributeNames: ["All"] }))[0]!.MessageAttributes).toEqual(good);
  });

  it("delays, a message before its queue [sqs 34]", async () => {
    const url = await create({ DelaySeconds: "60" });
    await send(url, "queue's");
    await send(url, "own", { DelaySeconds: 2 });
    await send(url, "none", { DelaySeconds: 0 });
    expect(await counts(url)).toEqual([1, 0, 2]);
    expect((await receive(url, { MaxNumberOfMessages: 10, VisibilityTimeout: 300 })).map(({ Body }) => Body)).toEqual([
      "none",
    ]);
    await db.moveClock(3);
    expect((await receive(url, { MaxNumberOfMessages: 10, VisibilityTimeout: 300 })).map(({ Body }) => Body)).toEqual([
      "own",
    ]);
    await db.moveClock(58);
    expect((await receive(url, { MaxNumberOfMessages: 10 })).map(({ Body }) => Body)).toEqual(["queue's"]);
    for (const DelaySeconds of [-1, 901])
      await expect(send(url, "m", { DelaySeconds })).rejects.toMatchObject({ Code: "InvalidParameterValue" });
  });

  it("passes trace headers on, and hashes system attributes apart [sqs 35]", async () => {
    const url = await create();
    const AWSTraceHeader = text("Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1");
    const sent = await send(url, "m", { MessageSystemAttributes: { AWSTraceHeader } });
    expect(sent.MD5OfMessageSystemAttributes).toBe("5ae4d5d7636402d80f4eb6d213245a88");
    expect(sent.MD5OfMessageAttributes).toBeUndefined();
    const [message] = await receive(url, { MessageSystemAttributeNames: ["AWSTraceHeader"] });
    expect(message!.Attributes).toEqual({ AWSTraceHeader: AWSTraceHeader.StringValue });
    const body = new URLSearchParams({ Action: "SendMessage", MessageBody: "traced" });
    const response = await fetch(url, {
      method: "POST",
      headers: { "x-amzn-trace-id": "Root=1-2-3", "content-type": "application/x-www-form-urlencoded" },
      body: body.toString(),
    });
    expect(response.status).toBe(200);
    expect((await receive(url, { MessageSystemAttributeNames: ["AWSTraceHeader"] }))[0]!.Attributes).toEqual({
      AWSTraceHeader: "Root=1-2-3",
    });
  });
});

describe("receiving", () => {
  it("hides a message for the queue's time; then it has another handle and a higher count [sqs 36]", async () => {
    const url = await create({ VisibilityTimeout: "5" });
    const { MessageId } = await send(url);
    const [first] = await receive(url, { MessageSystemAttributeNames: ["All"] });
    expect(first).toMatchObject({ MessageId, Attributes: { ApproximateReceiveCount: "1" } });
    expect(await receive(url)).toEqual([]);
    await db.moveClock(4);
    expect(await receive(url)).toEqual([]);
    await db.moveClock(2);
    const [second] = await receive(url, { MessageSystemAttributeNames: ["All"] });
    expect(second).toMatchObject({ MessageId, Attributes: { ApproximateReceiveCount: "2" } });
    expect(second!.ReceiptHandle).not.toBe(first!.ReceiptHandle);
    expect(second!.Attributes!["ApproximateFirstReceiveTimestamp"]).toBe(
      first!.Attributes!["ApproximateFirstReceiveTimestamp"],
    );
    expect(second!.Attributes!["SentTimestamp"]).toBe(first!.Attributes!["SentTimestamp"]);
  });

  it("gives several again at once after their time, the oldest first [sqs 36]", async () => {
    const url = await create();
    for (const body of ["a", "b", "c"]) await send(url, body);
    expect(await receive(url, { MaxNumberOfMessages: 2, VisibilityTimeout: 5 })).toHaveLength(2);
    await db.moveClock(6);
    expect((await receive(url, { MaxNumberOfMessages: 10 })).map(({ Body }) => Body)).toEqual(["a", "b", "c"]);
  });

  it("waits for a message, no longer than it must [sqs 37]", async () => {
    const url = await create({ ReceiveMessageWaitTimeSeconds: "5" });
    const began = performance.now();
    const waiting = receive(url);
    await sleep(400);
    const sentAt = performance.now();
    await send(url, "late");
    expect((await waiting)[0]!.Body).toBe("late");
    expect(performance.now() - sentAt).toBeLessThan(300);
    expect(performance.now() - began).toBeGreaterThan(390);
    await send(url, "there");
    const again = performance.now();
    expect((await receive(url, { WaitTimeSeconds: 20 }))[0]!.Body).toBe("there");
    expect(performance.now() - again).toBeLessThan(500);
    const empty = performance.now();
    expect(await receive(url, { WaitTimeSeconds: 1 })).toEqual([]);
    expect(performance.now() - empty).toBeGreaterThan(950);
    expect(performance.now() - empty).toBeLessThan(2500);
    const short = performance.now();
    expect(await receive(url, { WaitTimeSeconds: 0 })).toEqual([]);
    expect(performance.now() - short).toBeLessThan(500);
  });

  it("wakes up when a delay or a timeout ends, and when a message is shown again [sqs 38]", async () => {
    const url = await create();
    const timed = async (body: string, leastMs: number, maxMs: number): Promise<Message> => {
      const began = performance.now();
      const [message] = await receive(url, { WaitTimeSeconds: 10, VisibilityTimeout: 1 });
      expect(message?.Body).toBe(body);
      expect(performance.now() - began).toBeGreaterThan(leastMs);
      expect(performance.now() - began).toBeLessThan(maxMs);
      return message!;
    };
    await send(url, "delayed", { DelaySeconds: 1 });
    await timed("delayed", 700, 1800);
    const again = await timed("delayed", 700, 1800); // its timeout
    await hide(url, again, 60);
    setTimeout(() => void hide(url, again, 0), 500);
    await remove(url, await timed("delayed", 400, 1000));
  });

  it("refuses numbers out of range [sqs 39]", async () => {
    const url = await create();
    for (const [input, message] of [
      [
        { MaxNumberOfMessages: 0 },
        "Value 0 for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 10, if provided.",
      ],
      [
        { MaxNumberOfMessages: 11 },
        "Value 11 for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 10, if provided.",
      ],
      [
        { WaitTimeSeconds: -1 },
        "Value -1 for parameter WaitTimeSeconds is invalid. Reason: Must be >= 0 and <= 20, if provided.",
      ],
      [
        { WaitTimeSeconds: 21 },
        "Value 21 for parameter WaitTimeSeconds is invalid. Reason: Must be >= 0 and <= 20, if provided.",
      ],
      [{ VisibilityTimeout: 43_201 }, undefined],
      [{ VisibilityTimeout: -1 }, undefined],
      [{ ReceiveRequestAttemptId: "a" }, undefined],
    ] as const) {
      await expect(receive(url, input)).rejects.toMatchObject({
        Code: "InvalidParameterValue",
        ...(message === undefined ? {} : { message }),
      });
    }
  });

  it("leaves a message visible when asked for a timeout of 0 [sqs 40]", async () => {
    const url = await create();
    await send(url);
    const handles = new Set<string>();
    for (const count of ["1", "2", "3"]) {
      const [message] = await receive(url, {
        VisibilityTimeout: 0,
        MessageSystemAttributeNames: ["ApproximateReceiveCount"],
      });
      expect(message!.Attributes).toEqual({ ApproximateReceiveCount: count });
      handles.add(message!.ReceiptHandle!);
      await sleep(5);
    }
    expect(handles.size).toBe(3);
  });

  it("gives the attributes asked for, and their hash [sqs 41]", async () => {
    const url = await create({ VisibilityTimeout: "0" });
    await send(url, "m", {
      MessageAttributes: { foo: text("1"), "foo.bar": text("2"), "test-key": text("test-value") },
    });
    const names = async (...MessageAttributeNames: string[]) => {
      await sleep(5);
      const [message] = await receive(url, { MessageAttributeNames });
      return { names: Object.keys(message!.MessageAttributes ?? {}).sort(), hash: message!.MD5OfMessageAttributes };
    };
    for (const all of ["All", "*", ".*"]) expect((await names(all)).names).toEqual(["foo", "foo.bar", "test-key"]);
    expect((await names("foo.*")).names).toEqual(["foo", "foo.bar"]);
    expect(await names("test-key")).toEqual({ names: ["test-key"], hash: "befa18540a897f7d022bf07057754a03" });
    expect(await names("unknown", ".odd.")).toEqual({ names: [], hash: undefined });
    expect(await names()).toEqual({ names: [], hash: undefined });
    const system = async (input: object) => {
      await sleep(5);
      return Object.keys((await receive(url, input))[0]!.Attributes ?? {}).sort();
    };
    const standard = ["ApproximateFirstReceiveTimestamp", "ApproximateReceiveCount", "SenderId", "SentTimestamp"];
    expect(await system({ AttributeNames: ["All"] })).toEqual(standard);
    expect(await system({ MessageSystemAttributeNames: ["All"] })).toEqual(standard);
    expect(await system({ AttributeNames: ["All"], MessageSystemAttributeNames: [] })).toEqual(standard);
    expect(await system({ AttributeNames: ["SenderId", "Unknown"] })).toEqual(["SenderId"]);
    expect(await system({})).toEqual([]);
  });
});

describe("deleting and hiding", () => {
  it("deletes with any handle that was given out, also late and twice, and with no other [sqs 42]", async () => {
    const url = await create({ VisibilityTimeout: "5" });
    await send(url);
    const [first] = await receive(url);
    await remove(url, first!);
    await remove(url, first!);
    await send(url, "late");
    const [late] = await receive(url);
    await db.moveClock(6);
    await remove(url, late!);
    expect(await receive(url)).toEqual([]);
    await send(url, "twice");
    const [old] = await receive(url);
    await db.moveClock(6);
    const [newer] = await receive(url);
    await remove(url, old!);
    await db.moveClock(6);
    expect(await receive(url)).toEqual([]);
    await remove(url, newer!);
    expect(await counts(url)).toEqual([0, 0, 0]);
    const other = await create();
    for (const [queue, handle] of [
      [url, "garbage"],
      [url, `${newer!.ReceiptHandle!.slice(0, -1)}${newer!.ReceiptHandle!.endsWith("A") ? "B" : "A"}`],
      [other, newer!.ReceiptHandle!],
      [url, "AQEBAAAA"],
    ] as const) {
      await expect(remove(queue, { ReceiptHandle: handle })).rejects.toMatchObject({
        name: "ReceiptHandleIsInvalid",
        message: `The input receipt handle "${handle}" is not a valid receipt handle.`,
      });
    }
  });

  it("hides for longer, for less, and not at all [sqs 43]", async () => {
    const url = await create({ VisibilityTimeout: "10" });
    await send(url);
    const [first] = await receive(url);
    await hide(url, first!, 60);
    await db.moveClock(30);
    expect(await receive(url)).toEqual([]);
    await hide(url, first!, 2);
    await db.moveClock(3);
    const [second] = await receive(url); // ten seconds again
    await db.moveClock(11);
    await hide(url, second!, 30); // after its time
    expect(await receive(url)).toEqual([]);
    await db.moveClock(31);
    const [third] = await receive(url);
    await hide(url, first!, 0); // an older handle
    const [fourth] = await receive(url);
    expect(fourth!.MessageId).toBe(third!.MessageId);
    await remove(url, fourth!);
    for (const handle of [first!, fourth!]) {
      await expect(hide(url, handle, 10)).rejects.toMatchObject({
        Code: "InvalidParameterValue",
        message: `Value ${handle.ReceiptHandle} for parameter ReceiptHandle is invalid. Reason: Message does not exist or is not available for visibility timeout change.`,
      });
    }
  });

  it("hides a message that has been taken back already, without counting [sqs 43]", async () => {
    const url = await create({ VisibilityTimeout: "2" });
    await send(url);
    const [first] = await receive(url);
    await db.moveClock(3);
    await db.engine.maintain();
    expect(await counts(url)).toEqual([1, 0, 0]);
    await hide(url, first!, 30);
    expect(await receive(url)).toEqual([]);
    await db.moveClock(31);
    expect(await receive(url, { MessageSystemAttributeNames: ["ApproximateReceiveCount"] })).toMatchObject([
      { Attributes: { ApproximateReceiveCount: "2" } },
    ]);
  });

  it("hides for twelve hours at most [sqs 44]", async () => {
    const url = await create();
    await send(url);
    const [message] = await receive(url);
    await db.moveClock(10);
    await expect(hide(url, message!, 43_200)).rejects.toMatchObject({
      Code: "InvalidParameterValue",
      message:
        "Value 43200 for parameter VisibilityTimeout is invalid. Reason: Total VisibilityTimeout for the message is beyond the limit [43200 seconds].",
    });
    await hide(url, message!, 43_180);
    await expect(hide(url, message!, 43_201)).rejects.toMatchObject({ Code: "InvalidParameterValue" });
  });

  it("does so in batches, each entry for itself [sqs 45]", async () => {
    const url = await create();
    for (const body of ["a", "b", "c"]) await send(url, body);
    const [a, b, c] = await receive(url, { MaxNumberOfMessages: 3 });
    const hidden = await sqs.client.send(
      new ChangeMessageVisibilityBatchCommand({
        QueueUrl: url,
        Entries: [
          { Id: "a", ReceiptHandle: a!.ReceiptHandle, VisibilityTimeout: 0 },
          { Id: "b", ReceiptHandle: "garbage", VisibilityTimeout: 0 },
          { Id: "c", ReceiptHandle: c!.ReceiptHandle, VisibilityTimeout: 50_000 },
        ],
      }),
    );
    expect(hidden.Successful).toEqual([{ Id: "a" }]);
    expect(hidden.Failed!.map(({ Id, Code }) => [Id, Code])).toEqual([
      ["b", "ReceiptHandleIsInvalid"],
      ["c", "InvalidParameterValue"],
    ]);
    const removed = await sqs.client.send(
      new DeleteMessageBatchCommand({
        QueueUrl: url,
        Entries: [
          { Id: "a", ReceiptHandle: a!.ReceiptHandle },
          { Id: "b", ReceiptHandle: b!.ReceiptHandle },
          { Id: "x", ReceiptHandle: "garbage" },
          { Id: "c", ReceiptHandle: c!.ReceiptHandle },
        ],
      }),
    );
    expect(removed.Successful!.map(({ Id }) => Id)).toEqual(["a", "b", "c"]);
    expect(removed.Failed).toMatchObject([{ Id: "x", Code: "ReceiptHandleIsInvalid", SenderFault: true }]);
    expect(await counts(url)).toEqual([0, 0, 0]);
    const deleteBatch = (Entries: { Id: string; ReceiptHandle: string }[]) =>
      sqs.client.send(new DeleteMessageBatchCommand({ QueueUrl: url, Entries }));
    await expect(deleteBatch([])).rejects.toMatchObject({
      name: "EmptyBatchRequest",
      message: "There should be at least one DeleteMessageBatchRequestEntry in the request.",
    });
    await expect(
      deleteBatch(Array.from({ length: 11 }, (_, i) => ({ Id: `${i}`, ReceiptHandle: "x" }))),
    ).rejects.toMatchObject({
      name: "TooManyEntriesInBatchRequest",
    });
  });

  it("drops messages that are too old, in flight or not; deleting one then succeeds [sqs 46]", async () => {
    const url = await create({ MessageRetentionPeriod: "60" });
    await send(url, "visible");
    await send(url, "in flight");
    const got = await receive(url, { MaxNumberOfMessages: 10, VisibilityTimeout: 30 });
    await hide(url, got[0]!, 0);
    await db.moveClock(61);
    expect(await receive(url, { MaxNumberOfMessages: 10 })).toEqual([]);
    for (const message of got) await remove(url, message);
    await until("the counts know", async () => (await counts(url)).join() === "0,0,0");
  });

  it("counts what is visible, hidden and delayed [sqs 47]", async () => {
    const url = await create();
    for (let i = 0; i < 5; i += 1) await send(url, `m${i}`);
    await send(url, "later", { DelaySeconds: 900 });
    const got = await receive(url, { MaxNumberOfMessages: 3, VisibilityTimeout: 20 });
    expect(await counts(url)).toEqual([2, 3, 1]);
    await remove(url, got[0]!);
    expect(await counts(url)).toEqual([2, 2, 1]);
    await db.moveClock(21);
    expect(await counts(url)).toEqual([4, 0, 1]);
  });
});
