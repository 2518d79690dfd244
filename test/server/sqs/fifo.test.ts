import {
  ChangeMessageVisibilityCommand,
  CreateQueueCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  type Message,
  ReceiveMessageCommand,
  type ReceiveMessageCommandInput,
  SendMessageBatchCommand,
  type SendMessageBatchRequestEntry,
  SendMessageCommand,
  type SendMessageCommandInput,
  SetQueueAttributesCommand,
} from "@aws-sdk/client-sqs";
import { describe, expect, it } from "vitest";
import { useDatabase } from "../../support/database.js";
import { newName, useSqs } from "../../support/sqs.js";

const db = useDatabase();
const sqs = useSqs(db);

const create = async (Attributes: Record<string, string> = {}): Promise<string> =>
  (
    await sqs.client.send(
      new CreateQueueCommand({ QueueName: newName(".fifo"), Attributes: { FifoQueue: "true", ...Attributes } }),
    )
  ).QueueUrl!;
let ids = 0;
const send = (
  QueueUrl: string,
  MessageBody: string,
  MessageGroupId: string | undefined,
  more: Partial<SendMessageCommandInput> = {},
) =>
  sqs.client.send(
    new SendMessageCommand({
      QueueUrl,
      MessageBody,
      MessageGroupId,
      MessageDeduplicationId: `id-${(ids += 1)}`,
      ...more,
    }),
  );
const receive = async (QueueUrl: string, more: Partial<ReceiveMessageCommandInput> = {}): Promise<Message[]> =>
  (await sqs.client.send(new ReceiveMessageCommand({ QueueUrl, ...more }))).Messages ?? [];
const remove = (QueueUrl: string, { ReceiptHandle }: Message) =>
  sqs.client.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
const hide = (QueueUrl: string, { ReceiptHandle }: Message, VisibilityTimeout: number) =>
  sqs.client.send(new ChangeMessageVisibilityCommand({ QueueUrl, ReceiptHandle, VisibilityTimeout }));
const bodies = (messages: readonly Message[]): string[] => messages.map(({ Body }) => Body!);

describe("FIFO queues", () => {
  it("need a group, and an id or hashes of bodies [sqs 49]", async () => {
    const url = await create();
    await expect(send(url, "m", undefined)).rejects.toMatchObject({
      Code: "MissingParameter",
      message: "The request must contain the parameter MessageGroupId.",
    });
    const noId =
      "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly";
    await expect(send(url, "m", "g", { MessageDeduplicationId: undefined })).rejects.toMatchObject({
      Code: "InvalidParameterValue",
      message: noId,
    });
    const good = { Id: "a", MessageBody: "m", MessageGroupId: "g", MessageDeduplicationId: "y" };
    const batch = (...Entries: SendMessageBatchRequestEntry[]) =>
      sqs.client.send(new SendMessageBatchCommand({ QueueUrl: url, Entries }));
    // One entry without them, and all of the batch is refused.
    await expect(batch(good, { Id: "b", MessageBody: "m", MessageDeduplicationId: "x" })).rejects.toMatchObject({
      Code: "InvalidParameterValue",
      message: "The request must contain the parameter MessageGroupId.",
    });
    await expect(batch(good, { Id: "b", MessageBody: "m", MessageGroupId: "g" })).rejects.toMatchObject({
      Code: "InvalidParameterValue",
      message: noId,
    });
    const { Attributes } = await sqs.client.send(
      new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ["ApproximateNumberOfMessages"] }),
    );
    expect(Attributes).toEqual({ ApproximateNumberOfMessages: "0" });
    expect((await batch(good)).Successful).toMatchObject([
      { Id: "a", SequenceNumber: expect.stringMatching(/^\d{20}$/) },
    ]);
  });

  it("recognise duplicates for five minutes, whatever became of the first [sqs 50]", async () => {
    const url = await create({ VisibilityTimeout: "3600" });
    const first = await send(url, "one", "g", { MessageDeduplicationId: "same" });
    const second = await send(url, "two", "h", { MessageDeduplicationId: "same" });
    expect(second.MessageId).toBe(first.MessageId);
    expect(second.SequenceNumber).toBe(first.SequenceNumber);
    const [message, ...others] = await receive(url, { MaxNumberOfMessages: 10 });
    expect(others).toEqual([]);
    await send(url, "three", "g", { MessageDeduplicationId: "same" });
    await remove(url, message!);
    await send(url, "four", "g", { MessageDeduplicationId: "same" });
    expect(await receive(url)).toEqual([]);
    await db.moveClock(301);
    const later = await send(url, "five", "g", { MessageDeduplicationId: "same" });
    expect(later.MessageId).not.toBe(first.MessageId);
    await db.moveClock(301); // and while the first still waits
    await send(url, "six", "h", { MessageDeduplicationId: "same" });
    await send(url, "seven", "h", { MessageDeduplicationId: "same" });
    expect(bodies(await receive(url, { MaxNumberOfMessages: 10 })).sort()).toEqual(["five", "six"]);
  });

  it("recognise duplicates by their bodies, or within a group [sqs 50]", async () => {
    const url = await create({ ContentBasedDeduplication: "true" });
    const none = { MessageDeduplicationId: undefined };
    const first = await send(url, "same", "g", none);
    expect(
      (await send(url, "same", "h", { ...none, MessageAttributes: { a: { DataType: "String", StringValue: "b" } } }))
        .MessageId,
    ).toBe(first.MessageId);
    expect((await send(url, "other", "g", none)).MessageId).not.toBe(first.MessageId);
    expect((await send(url, "same", "h", { MessageDeduplicationId: "own" })).MessageId).not.toBe(first.MessageId);
    const [message] = await receive(url, { MessageSystemAttributeNames: ["All"] });
    expect(message!.Attributes).toMatchObject({
      MessageGroupId: "g",
      MessageDeduplicationId: "0967115f2813a3541eaef77de9d9d5773f1c0c04314b0bbfe4ff3b3b1c55b5d5",
    });
    const scoped = await create({ DeduplicationScope: "messageGroup", FifoThroughputLimit: "perMessageGroupId" });
    const a = await send(scoped, "m", "a", { MessageDeduplicationId: "x" });
    expect((await send(scoped, "m", "b", { MessageDeduplicationId: "x" })).MessageId).not.toBe(a.MessageId);
    expect((await send(scoped, "m", "a", { MessageDeduplicationId: "x" })).MessageId).toBe(a.MessageId);
    const [got] = await receive(scoped, { MessageSystemAttributeNames: ["MessageDeduplicationId"] });
    expect(got!.Attributes).toEqual({ MessageDeduplicationId: "x" });
  });

  it("keep the scope they were created with [sqs 51]", async () => {
    const url = await create();
    await sqs.client.send(
      new SetQueueAttributesCommand({
        QueueUrl: url,
        Attributes: { DeduplicationScope: "messageGroup", FifoThroughputLimit: "perMessageGroupId" },
      }),
    );
    const { Attributes } = await sqs.client.send(
      new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ["DeduplicationScope"] }),
    );
    expect(Attributes).toEqual({ DeduplicationScope: "messageGroup" });
    const a = await send(url, "m", "a", { MessageDeduplicationId: "x" });
    expect((await send(url, "m", "b", { MessageDeduplicationId: "x" })).MessageId).toBe(a.MessageId);
    const wrong = new CreateQueueCommand({
      QueueName: newName(".fifo"),
      Attributes: { FifoQueue: "true", FifoThroughputLimit: "perMessageGroupId" },
    });
    await expect(sqs.client.send(wrong)).rejects.toMatchObject({ name: "InvalidAttributeValue" });
  });

  it("keep the order of a group over receives and timeouts [sqs 52]", async () => {
    const url = await create({ VisibilityTimeout: "5" });
    for (let i = 0; i < 6; i += 1) await send(url, `m${i}`, "g");
    const order: string[] = [];
    for (let round = 0; order.length < 6; round += 1) {
      const messages = await receive(url, { MaxNumberOfMessages: 3 });
      expect(messages.length).toBeGreaterThan(0);
      if (round % 2 === 0) {
        await db.moveClock(6); // lost, and first again
        continue;
      }
      for (const message of messages) {
        order.push(message.Body!);
        await remove(url, message);
      }
    }
    expect(order).toEqual(["m0", "m1", "m2", "m3", "m4", "m5"]);
  });

  it("hand out nothing of a group while a message of it is in flight; deleting it goes on at once [sqs 53]", async () => {
    const url = await create();
    await send(url, "a1", "a");
    const [a1] = await receive(url, { MaxNumberOfMessages: 10 });
    await send(url, "a2", "a");
    await send(url, "b1", "b");
    expect(bodies(await receive(url, { MaxNumberOfMessages: 10 }))).toEqual(["b1"]);
    expect(await receive(url, { MaxNumberOfMessages: 10 })).toEqual([]);
    const waiting = receive(url, { WaitTimeSeconds: 5 });
    const began = performance.now();
    await remove(url, a1!);
    expect(bodies(await waiting)).toEqual(["a2"]);
    expect(performance.now() - began).toBeLessThan(800);
  });

  it("give as many of one group as a receive takes, then others, and nothing of them to anybody else [sqs 53]", async () => {
    const url = await create({ VisibilityTimeout: "30" });
    for (const group of ["a", "b"]) for (let i = 1; i <= 4; i += 1) await send(url, `${group}${i}`, group);
    const first = await receive(url, { MaxNumberOfMessages: 6 });
    expect(bodies(first)).toEqual(["a1", "a2", "a3", "a4", "b1", "b2"]);
    expect(await receive(url, { MaxNumberOfMessages: 10 })).toEqual([]);
    for (const message of first.slice(0, 5)) await remove(url, message);
    expect(await receive(url, { MaxNumberOfMessages: 10 })).toEqual([]);
    await remove(url, first[5]!);
    expect(bodies(await receive(url, { MaxNumberOfMessages: 10 }))).toEqual(["b3", "b4"]);
  });

  it("give again what came back, in order, up to the first that is still invisible [sqs 53]", async () => {
    const url = await create({ VisibilityTimeout: "30" });
    for (let i = 1; i <= 5; i += 1) await send(url, `m${i}`, "g");
    const all = { MaxNumberOfMessages: 10 };
    const first = await receive(url, { MaxNumberOfMessages: 4 });
    await remove(url, first[0]!);
    await hide(url, first[2]!, 120);
    await db.moveClock(31);
    const second = await receive(url, all);
    expect(bodies(second)).toEqual(["m2"]);
    await hide(url, second[0]!, 0);
    expect(bodies(await receive(url, { ...all, VisibilityTimeout: 1 }))).toEqual(["m2"]);
    await db.moveClock(100);
    const third = await receive(url, all);
    expect(bodies(third)).toEqual(["m2", "m3", "m4", "m5"]);
    for (const message of third.toReversed()) await hide(url, message, 0);
    expect(bodies(await receive(url))).toEqual(["m2"]);
    expect(await receive(url, all)).toEqual([]);
  });

  it("never have a group in two hands [sqs 54]", async () => {
    const url = await create();
    const other = await sqs.another();
    for (let i = 0; i < 30; i += 1) await send(url, `${i}`, `g${i % 3}`);
    const open = new Set<string>();
    const seen: Record<string, number[]> = {};
    await Promise.all(
      Array.from({ length: 6 }, async (_, n) => {
        const client = n % 2 ? sqs.client : other.client;
        for (;;) {
          const { Messages = [] } = await client.send(
            new ReceiveMessageCommand({
              QueueUrl: url,
              MaxNumberOfMessages: 2,
              WaitTimeSeconds: 1,
              MessageSystemAttributeNames: ["MessageGroupId"],
            }),
          );
          if (Messages.length === 0) return;
          const groups = new Set(Messages.map(({ Attributes }) => Attributes!["MessageGroupId"]!));
          for (const group of groups) {
            expect(open.has(group)).toBe(false);
            open.add(group);
          }
          for (const message of Messages)
            (seen[message.Attributes!["MessageGroupId"]!] ??= []).push(Number(message.Body));
          await new Promise((resolve) => setTimeout(resolve, 5));
          for (const group of groups) open.delete(group);
          for (const message of Messages)
            await client.send(new DeleteMessageCommand({ QueueUrl: url, ReceiptHandle: message.ReceiptHandle }));
        }
      }),
    );
    for (const [group, order] of Object.entries(seen)) expect(order, group).toEqual([...order].sort((a, b) => a - b));
    expect(Object.values(seen).flat()).toHaveLength(30);
  });

  it("refuse handles whose time is over, unless it was prolonged [sqs 55]", async () => {
    const url = await create({ VisibilityTimeout: "5" });
    await send(url, "a", "g");
    const [first] = await receive(url);
    await db.moveClock(6);
    await expect(remove(url, first!)).rejects.toMatchObject({
      Code: "InvalidParameterValue",
      message: `Value ${first!.ReceiptHandle} for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired.`,
    });
    const [second] = await receive(url);
    await hide(url, second!, 30);
    await db.moveClock(10);
    await remove(url, second!);
    await remove(url, second!);
    expect(await receive(url)).toEqual([]);
  });

  it("delay as a whole, never single messages [sqs 56]", async () => {
    const url = await create({ DelaySeconds: "2" });
    await expect(send(url, "m", "g", { DelaySeconds: 2 })).rejects.toMatchObject({
      Code: "InvalidParameterValue",
      message:
        "Value 2 for parameter DelaySeconds is invalid. Reason: The request include parameter that is not valid for this queue type.",
    });
    await send(url, "a", "g", { DelaySeconds: 0 });
    await send(url, "b", "g");
    expect(await receive(url)).toEqual([]);
    await db.moveClock(3);
    const [a] = await receive(url);
    expect(a!.Body).toBe("a");
    await remove(url, a!);
    expect(bodies(await receive(url))).toEqual(["b"]);
  });

  it("number their messages, and check ids [sqs 57]", async () => {
    const url = await create();
    const numbers: bigint[] = [];
    for (let i = 0; i < 20; i += 1) numbers.push(BigInt((await send(url, `m${i}`, "g")).SequenceNumber!));
    for (let i = 1; i < 20; i += 1) expect(numbers[i]! > numbers[i - 1]!).toBe(true);
    const [message] = await receive(url, { MessageSystemAttributeNames: ["SequenceNumber"] });
    expect(message!.Attributes!["SequenceNumber"]).toBe(String(numbers[0]));
    for (const wrong of ["a b", "", "x".repeat(129), "ä"]) {
      await expect(send(url, "m", "g", { MessageDeduplicationId: wrong })).rejects.toMatchObject({
        Code: "InvalidParameterValue",
        message: `Value ${wrong} for parameter MessageDeduplicationId is invalid. Reason: MessageDeduplicationId can only include alphanumeric and punctuation characters. 1 to 128 in length.`,
      });
      await expect(send(url, "m", wrong)).rejects.toMatchObject({ Code: "InvalidParameterValue" });
    }
    await send(url, "m", "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", {
      MessageDeduplicationId: "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~",
    });
  });

  it("give the same to an attempt that is repeated, with the same handles and a new timeout [sqs 58]", async () => {
    const url = await create({ VisibilityTimeout: "10" });
    for (const group of ["a", "b", "c"]) await send(url, group, group);
    const attempt = { MaxNumberOfMessages: 2, ReceiveRequestAttemptId: "first" };
    const first = await receive(url, attempt);
    expect(first).toHaveLength(2);
    await db.moveClock(8);
    expect(await receive(url, attempt)).toEqual(first);
    await db.moveClock(8);
    expect(bodies(await receive(url, { MaxNumberOfMessages: 10 }))).toEqual(["c"]);
    await remove(url, first[0]!);
    expect(await receive(url, attempt)).toEqual([]); // something has changed: whatever is there now
    await db.moveClock(11);
    expect(bodies(await receive(url, { ...attempt, ReceiveRequestAttemptId: "other" })).sort()).toEqual(["b", "c"]);
  });

  it("count messages behind others as visible [sqs 47]", async () => {
    const url = await create();
    for (let i = 0; i < 3; i += 1) await send(url, `m${i}`, "g");
    await receive(url);
    const { Attributes } = await sqs.client.send(
      new GetQueueAttributesCommand({
        QueueUrl: url,
        AttributeNames: ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"],
      }),
    );
    expect(Attributes).toEqual({ ApproximateNumberOfMessages: "2", ApproximateNumberOfMessagesNotVisible: "1" });
  });
});
