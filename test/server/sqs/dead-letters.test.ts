import {
  CancelMessageMoveTaskCommand,
  ChangeMessageVisibilityCommand,
  CreateQueueCommand,
  DeleteMessageCommand,
  DeleteQueueCommand,
  ListMessageMoveTasksCommand,
  type Message,
  ReceiveMessageCommand,
  type ReceiveMessageCommandInput,
  SendMessageCommand,
  type SendMessageCommandInput,
  SetQueueAttributesCommand,
  StartMessageMoveTaskCommand,
} from "@aws-sdk/client-sqs";
import { describe, expect, it } from "vitest";
import { useDatabase } from "../../support/database.js";
import { newName, useSqs } from "../../support/sqs.js";
import { until } from "../../support/wait.js";

const db = useDatabase();
const sqs = useSqs(db);

const arn = (url: string) => `arn:aws:sqs:us-east-1:000000000000:${url.split("/").at(-1)!}`;
const create = async (Attributes: Record<string, string> = {}, suffix = ""): Promise<string> =>
  (await sqs.client.send(new CreateQueueCommand({ QueueName: newName(suffix), Attributes }))).QueueUrl!;
const withDead = async (dead: string, maxReceiveCount = 1, more: Record<string, string> = {}): Promise<string> =>
  create(
    { RedrivePolicy: JSON.stringify({ deadLetterTargetArn: arn(dead), maxReceiveCount }), ...more },
    more["FifoQueue"] ? ".fifo" : "",
  );
const send = (QueueUrl: string, MessageBody = "m", more: Partial<SendMessageCommandInput> = {}) =>
  sqs.client.send(new SendMessageCommand({ QueueUrl, MessageBody, ...more }));
const receive = async (QueueUrl: string, more: Partial<ReceiveMessageCommandInput> = {}): Promise<Message[]> =>
  (
    await sqs.client.send(
      new ReceiveMessageCommand({
        QueueUrl,
        MessageSystemAttributeNames: ["All"],
        MessageAttributeNames: ["All"],
        ...more,
      }),
    )
  ).Messages ?? [];
const remove = (QueueUrl: string, { ReceiptHandle }: Message) =>
  sqs.client.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
const show = (QueueUrl: string, { ReceiptHandle }: Message) =>
  sqs.client.send(new ChangeMessageVisibilityCommand({ QueueUrl, ReceiptHandle, VisibilityTimeout: 0 }));
/** Receive and give up until a message is a dead letter. */
const bury = async (source: string): Promise<void> => {
  const messages = await receive(source, { MaxNumberOfMessages: 10 });
  expect(messages.length).toBeGreaterThan(0);
  for (const message of messages) await show(source, message);
  expect(await receive(source)).toEqual([]);
};

describe("dead letters", () => {
  it("find their queue again when it was deleted and made anew, however their policy writes its number [sqs 59]", async () => {
    const { client } = await sqs.another({ refuseRecentNames: false });
    const dead = await create();
    const source = await create({ RedrivePolicy: `{"deadLetterTargetArn":"${arn(dead)}","maxReceiveCount":1.0}` });
    await client.send(new DeleteQueueCommand({ QueueUrl: dead }));
    await client.send(new CreateQueueCommand({ QueueName: dead.split("/").at(-1)! }));
    await send(source);
    await bury(source);
    expect(await receive(dead)).toHaveLength(1);
  });

  it("are messages that were received so often, with all they had [sqs 59]", async () => {
    const dead = await create();
    const source = await withDead(dead, 2);
    const { MessageId } = await send(source, '{"a": 1}', {
      MessageAttributes: { k: { DataType: "String", StringValue: "v" } },
      MessageSystemAttributes: { AWSTraceHeader: { DataType: "String", StringValue: "Root=1" } },
    });
    const [first] = await receive(source);
    await show(source, first!);
    const [second] = await receive(source);
    expect(second!.Attributes!["ApproximateReceiveCount"]).toBe("2");
    await show(source, second!);
    expect(await receive(source)).toEqual([]);
    const [letter] = await receive(dead);
    expect(letter).toMatchObject({
      MessageId,
      Body: '{"a": 1}',
      MessageAttributes: { k: { DataType: "String", StringValue: "v" } },
      Attributes: {
        ApproximateReceiveCount: "3",
        DeadLetterQueueSourceArn: arn(source),
        AWSTraceHeader: "Root=1",
        SentTimestamp: first!.Attributes!["SentTimestamp"],
        ApproximateFirstReceiveTimestamp: first!.Attributes!["ApproximateFirstReceiveTimestamp"],
      },
    });
    await remove(dead, letter!);
    await db.moveClock(31);
    expect(await receive(dead)).toEqual([]);
    expect(await receive(source)).toEqual([]);
  });

  it("follow the policy that holds when a message comes back, not when it was sent [sqs 59]", async () => {
    const dead = await create();
    const source = await create();
    const set = (RedrivePolicy: string) =>
      sqs.client.send(new SetQueueAttributesCommand({ QueueUrl: source, Attributes: { RedrivePolicy } }));
    const policy = (maxReceiveCount: number) => JSON.stringify({ deadLetterTargetArn: arn(dead), maxReceiveCount });
    const { MessageId } = await send(source);
    await set(policy(1));
    await bury(source);
    const [letter] = await receive(dead);
    expect(letter!.MessageId).toBe(MessageId);
    await remove(dead, letter!);
    await send(source, "kept");
    await set("");
    for (const count of ["1", "2", "3", "4"]) {
      const [message] = await receive(source);
      expect(message!.Attributes!["ApproximateReceiveCount"]).toBe(count);
      await show(source, message!);
    }
    await set(policy(5));
    await bury(source);
    expect(await receive(dead)).toMatchObject([{ Body: "kept", Attributes: { ApproximateReceiveCount: "6" } }]);
  });

  it("may become dead letters again, and keep their id and count [sqs 59]", async () => {
    const last = await create();
    const middle = await withDead(last);
    const source = await withDead(middle);
    const { MessageId } = await send(source);
    await bury(source);
    await bury(middle);
    expect(await receive(last)).toMatchObject([
      { MessageId, Attributes: { ApproximateReceiveCount: "3", DeadLetterQueueSourceArn: arn(middle) } },
    ]);
  });

  it("are never dropped when their queue is gone [sqs 60]", async () => {
    const dead = await create();
    const source = await withDead(dead);
    await send(source, "kept");
    await sqs.client.send(new DeleteQueueCommand({ QueueUrl: dead }));
    for (let i = 0; i < 3; i += 1) {
      const [message] = await receive(source);
      expect(message?.Body).toBe("kept");
      await show(source, message!);
    }
    await db.moveClock(61);
    // and go there again when it is back
    await sqs.client.send(new CreateQueueCommand({ QueueName: dead.split("/").at(-1)! }));
    await until("it has gone there", async () => {
      for (const message of await receive(source)) await show(source, message);
      return (await receive(dead)).length === 1;
    });
    expect(await receive(source)).toEqual([]);
  });

  it("free their group in a FIFO queue, and have a new deduplication id [sqs 60]", async () => {
    const dead = await create({ FifoQueue: "true" }, ".fifo");
    const source = await withDead(dead, 1, { FifoQueue: "true" });
    for (const MessageDeduplicationId of ["a", "b"])
      await send(source, MessageDeduplicationId, { MessageGroupId: "g", MessageDeduplicationId });
    const [a] = await receive(source);
    await show(source, a!);
    const [b] = await receive(source, { WaitTimeSeconds: 2 });
    expect(b!.Body).toBe("b");
    expect(await receive(dead)).toMatchObject([
      { Body: "a", MessageId: a!.MessageId, Attributes: { MessageGroupId: "g", MessageDeduplicationId: a!.MessageId } },
    ]);
  });

  it("expire as their queue says", async () => {
    const dead = await create({ MessageRetentionPeriod: "60" });
    const source = await withDead(dead);
    await send(source);
    await bury(source);
    await db.moveClock(61);
    expect(await receive(dead)).toEqual([]);
  });
});

describe("move tasks", () => {
  const start = (SourceArn: string, more: { DestinationArn?: string; MaxNumberOfMessagesPerSecond?: number } = {}) =>
    sqs.client.send(new StartMessageMoveTaskCommand({ SourceArn, ...more }));
  const tasks = async (SourceArn: string, MaxResults?: number) =>
    (await sqs.client.send(new ListMessageMoveTasksCommand({ SourceArn, MaxResults }))).Results ?? [];
  const ended = async (SourceArn: string, status: string) =>
    until(`the task is ${status}`, async () => (await tasks(SourceArn))[0]?.Status === status);

  it("do not move letters to where they are [sqs 62]", async () => {
    const dead = await create();
    await withDead(dead);
    await expect(start(arn(dead), { DestinationArn: arn(dead) })).rejects.toMatchObject({
      Code: "InvalidParameterValue",
    });
  });

  it("bring letters back to where each came from, as new messages [sqs 62]", async () => {
    const dead = await create();
    const sources = [await withDead(dead), await withDead(dead)];
    const sent = [];
    for (const source of sources) {
      sent.push((await send(source, source)).MessageId);
      await bury(source);
    }
    const { TaskHandle } = await start(arn(dead));
    expect(JSON.parse(Buffer.from(TaskHandle!, "base64").toString())).toEqual({
      taskId: expect.any(String),
      sourceArn: arn(dead),
    });
    for (const source of sources) {
      const [message] = await receive(source, { WaitTimeSeconds: 5 });
      expect(message).toMatchObject({ Body: source, Attributes: { ApproximateReceiveCount: "1" } });
      expect(sent).not.toContain(message!.MessageId);
      expect(message!.Attributes!["DeadLetterQueueSourceArn"]).toBeUndefined();
    }
    await ended(arn(dead), "COMPLETED");
    expect(await tasks(arn(dead))).toEqual([
      {
        ApproximateNumberOfMessagesMoved: 2,
        ApproximateNumberOfMessagesToMove: 2,
        SourceArn: arn(dead),
        StartedTimestamp: expect.any(Number),
        Status: "COMPLETED",
      },
    ]);
  });

  it("go where they are told, at the rate they are told, one at a time, until cancelled [sqs 62]", async () => {
    const dead = await create();
    await withDead(dead);
    const target = await create();
    for (let i = 0; i < 10; i += 1) await send(dead, `m${i}`);
    const { TaskHandle } = await start(arn(dead), { DestinationArn: arn(target), MaxNumberOfMessagesPerSecond: 2 });
    await expect(start(arn(dead))).rejects.toMatchObject({
      Code: "InvalidParameterValue",
      message:
        "There is already a task running. Only one active task is allowed for a source queue arn at a given time.",
    });
    await until(
      "some were moved",
      async () => ((await tasks(arn(dead)))[0]?.ApproximateNumberOfMessagesMoved ?? 0) >= 4,
    );
    expect((await tasks(arn(dead)))[0]).toMatchObject({
      Status: "RUNNING",
      TaskHandle,
      DestinationArn: arn(target),
      MaxNumberOfMessagesPerSecond: 2,
    });
    const { ApproximateNumberOfMessagesMoved: moved } = await sqs.client.send(
      new CancelMessageMoveTaskCommand({ TaskHandle }),
    );
    expect(moved).toBeLessThan(10);
    await ended(arn(dead), "CANCELLED");
    const got = [
      ...(await receive(target, { MaxNumberOfMessages: 10 })),
      ...(await receive(dead, { MaxNumberOfMessages: 10 })),
    ];
    expect(got.map(({ Body }) => Body!).sort()).toEqual(Array.from({ length: 10 }, (_, i) => `m${i}`));
    await expect(sqs.client.send(new CancelMessageMoveTaskCommand({ TaskHandle }))).rejects.toMatchObject({
      Code: "InvalidParameterValue",
    });
  });

  it("fail when there is nowhere to go, and lose nothing [sqs 62]", async () => {
    const dead = await create();
    await withDead(dead);
    await send(dead, "of nobody");
    await start(arn(dead));
    await ended(arn(dead), "FAILED");
    expect((await tasks(arn(dead)))[0]).toMatchObject({
      FailureReason: "CouldNotDetermineMessageSource",
      ApproximateNumberOfMessagesMoved: 0,
    });
    const target = await create();
    await send(dead, "second");
    await start(arn(dead), { DestinationArn: arn(target), MaxNumberOfMessagesPerSecond: 1 });
    await sqs.client.send(new DeleteQueueCommand({ QueueUrl: target }));
    await ended(arn(dead), "FAILED");
    expect(await tasks(arn(dead), 10)).toMatchObject([
      { FailureReason: "AWS.SimpleQueueService.NonExistentQueue" },
      { FailureReason: "CouldNotDetermineMessageSource" },
    ]);
  });

  it("let servers sleep when there is none", async () => {
    await until("none runs", async () => (await db.engine.sqs.moveStep()).waitSeconds === null);
  });

  it("refuse what cannot be [sqs 62]", async () => {
    const plain = await create();
    const dead = await create();
    await withDead(dead);
    await expect(start(arn(plain))).rejects.toMatchObject({
      Code: "InvalidParameterValue",
      message: "Source queue must be configured as a Dead Letter Queue.",
    });
    const missing = "arn:aws:sqs:us-east-1:000000000000:nowhere";
    await expect(start(missing)).rejects.toMatchObject({
      name: "ResourceNotFoundException",
      message: "The resource that you specified for the SourceArn parameter doesn't exist.",
    });
    await expect(start(arn(dead), { DestinationArn: missing })).rejects.toMatchObject({
      name: "ResourceNotFoundException",
      message: "The resource that you specified for the DestinationArn parameter doesn't exist.",
    });
    for (const MaxNumberOfMessagesPerSecond of [0, 501])
      await expect(start(arn(dead), { MaxNumberOfMessagesPerSecond })).rejects.toMatchObject({
        Code: "InvalidParameterValue",
      });
    for (const wrong of [0, 11])
      await expect(tasks(arn(dead), wrong)).rejects.toMatchObject({ Code: "InvalidParameterValue" });
    const cancel = (handle: object | string) =>
      sqs.client.send(
        new CancelMessageMoveTaskCommand({
          TaskHandle: typeof handle === "string" ? handle : Buffer.from(JSON.stringify(handle)).toString("base64"),
        }),
      );
    await expect(cancel("nonsense")).rejects.toMatchObject({
      Code: "InvalidParameterValue",
      message: "Value for parameter TaskHandle is invalid.",
    });
    await expect(
      cancel({ taskId: "00000000-0000-4000-8000-000000000000", sourceArn: arn(dead) }),
    ).rejects.toMatchObject({
      name: "ResourceNotFoundException",
      message: "Task does not exist.",
    });
  });
});
