import {
  CreateQueueCommand,
  DeleteMessageCommand,
  DeleteQueueCommand,
  GetQueueAttributesCommand,
  type Message,
  PurgeQueueCommand,
  ReceiveMessageCommand,
  type SQSClient,
  SendMessageCommand,
  SetQueueAttributesCommand,
} from "@aws-sdk/client-sqs";
import { beforeAll, describe, expect, it } from "vitest";
import type { Defaults } from "../../../src/db/types.js";
import { useDatabase } from "../../support/database.js";
import { newName, useSqs } from "../../support/sqs.js";

const db = useDatabase();
const sqs = useSqs(db);
/** Of a server that gives names out again at once. */
let client: SQSClient;
beforeAll(async () => void ({ client } = await sqs.another({ refuseRecentNames: false })));

const create = async (QueueName: string, Attributes: Record<string, string> = {}): Promise<string> =>
  (await client.send(new CreateQueueCommand({ QueueName, Attributes }))).QueueUrl!;
const receive = async (QueueUrl: string): Promise<Message[]> =>
  (await client.send(new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10 }))).Messages ?? [];
const attributes = async (QueueUrl: string): Promise<Partial<Record<string, string>>> =>
  (await client.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ["All"] }))).Attributes!;
const counts = async (url: string): Promise<number[]> => {
  const all = await attributes(url);
  return ["", "NotVisible", "Delayed"].map((which) => Number(all[`ApproximateNumberOfMessages${which}`]));
};
const put = async (options: Defaults = {}, suffix = ""): Promise<string> => {
  const name = newName(suffix);
  await db.engine.queuePut(name, options);
  return name;
};
const optionsOf = async (name: string): Promise<unknown> =>
  (await db.sql("select options from queues where name = $1", [name]))[0]!["options"];
const states = async (queue: string, type: string): Promise<string[]> =>
  (await db.sql("select state from jobs where queue = $1 and type = $2 order by id", [queue, type])).map(
    ({ state }) => state as string,
  );

describe("a queue that SQS did not make", () => {
  it("keeps its options when a client creates it, and they hold for its messages [#19]", async () => {
    const dead = await put();
    const options = { deadLetterQueue: dead, maxAttempts: 1, leaseSeconds: 7, ttlSeconds: 99 } satisfies Defaults;
    const name = await put(options);
    const before = await optionsOf(name);
    const url = await create(name, { VisibilityTimeout: "0", DelaySeconds: "0" });
    expect(await create(name, { VisibilityTimeout: "0" })).toBe(url);
    expect(await optionsOf(name)).toEqual(before);
    await client.send(
      new SetQueueAttributesCommand({
        QueueUrl: url,
        Attributes: { VisibilityTimeout: "0", MaximumMessageSize: "2048" },
      }),
    );
    expect(await optionsOf(name)).toEqual(before);
    expect(await attributes(url)).toMatchObject({ MaximumMessageSize: "2048", VisibilityTimeout: "0" });
    expect((await attributes(url))["MessageRetentionPeriod"]).toBeUndefined();
    await client.send(new SendMessageCommand({ QueueUrl: url, MessageBody: "m" }));
    expect(await receive(url)).toMatchObject([{ Body: "m" }]);
    expect(await receive(url)).toEqual([]);
    expect(await states(dead, "message")).toEqual(["ready"]);
  });

  it("is not created with attributes that would change them, nor given such [#19]", async () => {
    const dead = await put();
    await create(dead);
    const name = await put({ deadLetterQueue: dead });
    const before = await optionsOf(name);
    const RedrivePolicy = JSON.stringify({
      deadLetterTargetArn: `arn:aws:sqs:us-east-1:000000000000:${dead}`,
      maxReceiveCount: 3,
    });
    const refused = (attribute: string, remedy: string) => ({
      name: "QueueNameExists",
      message: expect.stringMatching(
        `different value for attribute ${attribute}\\. Reason: SQS did not make the queue .* ${remedy}`,
      ),
    });
    await expect(create(name, { RedrivePolicy })).rejects.toMatchObject(
      refused("RedrivePolicy", "set deadLetterQueue of that queue"),
    );
    await expect(create(name, { MessageRetentionPeriod: "345600" })).rejects.toMatchObject(
      refused("MessageRetentionPeriod", "set ttlSeconds of that queue"),
    );
    const url = await create(name);
    await expect(create(name, { MessageRetentionPeriod: "345600" })).rejects.toMatchObject(
      refused("MessageRetentionPeriod", "set ttlSeconds of that queue"),
    );
    for (const Attributes of [{ RedrivePolicy }, { RedrivePolicy: "" }, { MessageRetentionPeriod: "60" }])
      await expect(client.send(new SetQueueAttributesCommand({ QueueUrl: url, Attributes }))).rejects.toMatchObject({
        name: "UnsupportedOperation",
        message: expect.stringContaining(`SQS did not make the queue "${name}"`),
      });
    expect(await optionsOf(name)).toEqual(before);
  });

  it("is FIFO when it hands out ordered batches, and only then [#19]", async () => {
    const plain = await put({ ordered: "batches" });
    await expect(create(plain)).rejects.toMatchObject({
      name: "QueueNameExists",
      message: expect.stringContaining("attribute FifoQueue"),
    });
    for (const ordered of [undefined, true] as const) {
      const name = await put(ordered === undefined ? {} : { ordered }, ".fifo");
      await expect(create(name, { FifoQueue: "true" })).rejects.toMatchObject({
        name: "QueueNameExists",
        message: expect.stringContaining('to "batches"'),
      });
    }
    const name = await put({ ordered: "batches" }, ".fifo");
    const url = await create(name, { FifoQueue: "true" });
    expect(await create(name, { FifoQueue: "true" })).toBe(url);
    for (const MessageBody of ["1", "2"]) {
      await client.send(
        new SendMessageCommand({
          QueueUrl: url,
          MessageBody,
          MessageGroupId: "g",
          MessageDeduplicationId: MessageBody,
        }),
      );
    }
    expect((await receive(url)).map(({ Body }) => Body)).toEqual(["1", "2"]);
  });

  it("is left alone when it is deleted, and can be created again [#19]", async () => {
    const name = await put({ ttlSeconds: 99 });
    const before = await optionsOf(name);
    const url = await create(name);
    await db.engine.enqueue({ type: "mail", input: 1, queue: name });
    await client.send(new SendMessageCommand({ QueueUrl: url, MessageBody: "m" }));
    await client.send(new DeleteQueueCommand({ QueueUrl: url }));
    expect(await optionsOf(name)).toEqual(before);
    expect([await states(name, "mail"), await states(name, "message")]).toEqual([["ready"], ["cancelled"]]);
    await db.engine.enqueue({ type: "message", input: "later", queue: name });
    expect(await create(name)).toBe(url);
    expect(await optionsOf(name)).toEqual(before);
    expect(await receive(url)).toMatchObject([{ Body: "later" }]);
  });
});

describe("a queue that SQS made", () => {
  it("is made anew when it is created after its deletion, unless somebody changed its options meanwhile [#19]", async () => {
    const name = newName();
    const url = await create(name, { MessageRetentionPeriod: "60" });
    await client.send(new DeleteQueueCommand({ QueueUrl: url }));
    await create(name, { MessageRetentionPeriod: "120" });
    expect(await optionsOf(name)).toMatchObject({ ttlSeconds: 120 });
    await client.send(new DeleteQueueCommand({ QueueUrl: url }));
    await db.engine.queuePut(name, { ttlSeconds: 99, maxDepth: 5 });
    await expect(create(name, { MessageRetentionPeriod: "120" })).rejects.toMatchObject({ name: "QueueNameExists" });
    await create(name);
    expect(await optionsOf(name)).toMatchObject({ ttlSeconds: 99, maxDepth: 5 });
  });
});

describe.each([
  ["that SQS made", ""],
  ["that SQS made, FIFO,", ".fifo"],
  ["of ours", undefined],
])("in a queue %s with jobs of other types", (_, suffix) => {
  const fifo = suffix === ".fifo";
  const make = async (): Promise<{ readonly name: string; readonly url: string }> => {
    const name = suffix === undefined ? await put() : newName(suffix);
    return { name, url: await create(name, fifo ? { FifoQueue: "true", ContentBasedDeduplication: "true" } : {}) };
  };
  const send = (QueueUrl: string, MessageBody: string, DelaySeconds?: number) =>
    client.send(
      new SendMessageCommand({ QueueUrl, MessageBody, ...(fifo ? { MessageGroupId: MessageBody } : { DelaySeconds }) }),
    );
  const fill = async (name: string, url: string): Promise<void> => {
    await db.engine.enqueueMany("mail", [1, 2, 3], { queue: name });
    await db.engine.enqueue({ type: "mail", input: 4, queue: name, delaySeconds: 60 });
    await db.engine.enqueue({
      type: "mail",
      input: 5,
      queue: name,
      fingerprint: "mail",
      fingerprintMode: "window",
      fingerprintSeconds: 300,
    });
    await db.engine.claim({ queues: [name], types: ["mail"], limit: 1, worker: "w" });
    for (const body of ["a", "b", "c"]) await send(url, body);
    if (!fifo) await send(url, "d", 60);
    expect(await receive(url).then((messages) => messages.length)).toBe(3);
    await send(url, "e");
  };
  const mail = ["running", "ready", "ready", "delayed", "ready"];

  it("only messages are counted and received [#19]", async () => {
    const { name, url } = await make();
    await fill(name, url);
    expect(await counts(url)).toEqual([1, 3, fifo ? 0 : 1]);
    expect(await receive(url)).toMatchObject([{ Body: "e" }]);
    expect(await counts(url)).toEqual([0, 4, fifo ? 0 : 1]);
  });

  it("a purge drops messages, and their fingerprints, and nothing else [#19]", async () => {
    const { name, url } = await make();
    await fill(name, url);
    await client.send(new PurgeQueueCommand({ QueueUrl: url }));
    expect(await counts(url)).toEqual([0, 0, 0]);
    expect(await states(name, "mail")).toEqual(mail);
    expect(new Set(await states(name, "message"))).toEqual(new Set(["cancelled"]));
    const again = { queue: name, fingerprint: "mail", fingerprintMode: "window", fingerprintSeconds: 300 } as const;
    expect(await db.engine.enqueue({ type: "mail", input: 5, ...again })).toMatchObject({ duplicate: true });
    await send(url, "a");
    const [message] = await receive(url);
    expect(message).toMatchObject({ Body: "a" });
    await client.send(new DeleteMessageCommand({ QueueUrl: url, ReceiptHandle: message!.ReceiptHandle }));
  });

  it("a deletion drops messages, and nothing else; so does making it anew [#19]", async () => {
    const { name, url } = await make();
    await fill(name, url);
    await client.send(new DeleteQueueCommand({ QueueUrl: url }));
    expect(await states(name, "mail")).toEqual(mail);
    expect(new Set(await states(name, "message"))).toEqual(new Set(["cancelled"]));
    await create(name, fifo ? { FifoQueue: "true" } : {});
    expect(await states(name, "mail")).toEqual(mail);
    expect(await counts(url)).toEqual([0, 0, 0]);
    expect(await db.sql("select * from counts_audit($1)", [name])).toEqual([]);
  });
});
