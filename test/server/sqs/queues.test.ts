import {
  AddPermissionCommand,
  CreateQueueCommand,
  DeleteQueueCommand,
  GetQueueAttributesCommand,
  GetQueueUrlCommand,
  ListDeadLetterSourceQueuesCommand,
  ListQueueTagsCommand,
  ListQueuesCommand,
  PurgeQueueCommand,
  QueueDoesNotExist,
  type QueueAttributeName,
  ReceiveMessageCommand,
  RemovePermissionCommand,
  SendMessageCommand,
  SetQueueAttributesCommand,
  TagQueueCommand,
  UntagQueueCommand,
} from "@aws-sdk/client-sqs";
import { describe, expect, it } from "vitest";
import { useDatabase } from "../../support/database.js";
import { newName, useSqs } from "../../support/sqs.js";

const db = useDatabase();
const sqs = useSqs(db);
const account = "000000000000";

type Attributes = Partial<Record<string, string>>;
const create = async (name = newName(), Attributes?: Attributes, tags?: Record<string, string>): Promise<string> =>
  (await sqs.client.send(new CreateQueueCommand({ QueueName: name, Attributes, tags }))).QueueUrl!;
const attributes = async (QueueUrl: string, ...AttributeNames: string[]): Promise<Attributes | undefined> =>
  (
    await sqs.client.send(
      new GetQueueAttributesCommand({ QueueUrl, AttributeNames: AttributeNames as QueueAttributeName[] }),
    )
  ).Attributes;
const set = (QueueUrl: string, Attributes: Attributes) =>
  sqs.client.send(new SetQueueAttributesCommand({ QueueUrl, Attributes }));
const arn = (name: string) => `arn:aws:sqs:us-east-1:${account}:${name}`;
const nameOf = (url: string) => url.split("/").at(-1)!;

const fresh = {
  ApproximateNumberOfMessages: "0",
  ApproximateNumberOfMessagesDelayed: "0",
  ApproximateNumberOfMessagesNotVisible: "0",
  CreatedTimestamp: expect.stringMatching(/^\d{10}$/),
  DelaySeconds: "0",
  LastModifiedTimestamp: expect.stringMatching(/^\d{10}$/),
  MaximumMessageSize: "1048576",
  MessageRetentionPeriod: "345600",
  ReceiveMessageWaitTimeSeconds: "0",
  SqsManagedSseEnabled: "true",
  VisibilityTimeout: "30",
};

describe("queues", () => {
  it("are created, found, listed and deleted; FIFO names are kept [sqs 12]", async () => {
    for (const [name, given] of [
      [newName(), {}],
      [newName(".fifo"), { FifoQueue: "true" }],
      [`-${newName()}_`, {}],
      [`_${newName()}.fifo`, { FifoQueue: "True" }],
    ] as const) {
      const url = await create(name, given);
      expect(url).toBe(`${sqs.server.url}/${account}/${name}`);
      expect((await sqs.client.send(new GetQueueUrlCommand({ QueueName: name }))).QueueUrl).toBe(url);
      expect((await sqs.client.send(new ListQueuesCommand({ QueueNamePrefix: name }))).QueueUrls).toEqual([url]);
      await sqs.client.send(new DeleteQueueCommand({ QueueUrl: url }));
      await expect(sqs.client.send(new GetQueueUrlCommand({ QueueName: name }))).rejects.toBeInstanceOf(
        QueueDoesNotExist,
      );
      await expect(sqs.client.send(new DeleteQueueCommand({ QueueUrl: url }))).rejects.toBeInstanceOf(
        QueueDoesNotExist,
      );
      expect((await sqs.client.send(new ListQueuesCommand({ QueueNamePrefix: name }))).QueueUrls).toBeUndefined();
    }
  });

  it("are created once: what is given must be what they have [sqs 13]", async () => {
    const name = newName();
    const url = await create(name, { DelaySeconds: "1", VisibilityTimeout: "10" });
    expect(await create(name, { DelaySeconds: "1", VisibilityTimeout: "10" })).toBe(url);
    expect(await create(name, { DelaySeconds: "1" })).toBe(url);
    expect(await create(name)).toBe(url);
    expect(await create(name, { MessageRetentionPeriod: "345600" })).toBe(url);
    await expect(create(name, { DelaySeconds: "2" })).rejects.toMatchObject({
      name: "QueueNameExists",
      message: "A queue already exists with the same name and a different value for attribute DelaySeconds",
    });
    const both = await Promise.all(Array.from({ length: 8 }, () => create(`${name}-race`, { DelaySeconds: "3" })));
    expect(new Set(both).size).toBe(1);
  });

  it("take booleans in any case of letters, and numbers with zeros before them, and give them back as AWS does [#19]", async () => {
    const name = newName(".fifo");
    const given = {
      FifoQueue: "TRUE",
      ContentBasedDeduplication: "True",
      SqsManagedSseEnabled: "fAlse",
      DelaySeconds: "005",
    };
    const kept = {
      FifoQueue: "true",
      ContentBasedDeduplication: "true",
      SqsManagedSseEnabled: "false",
      DelaySeconds: "5",
    };
    const url = await create(name, given);
    expect(await attributes(url, "All")).toMatchObject(kept);
    for (const same of [given, kept]) expect(await create(name, same)).toBe(url);
    const sent = await sqs.client.send(
      new SendMessageCommand({ QueueUrl: url, MessageBody: "m", MessageGroupId: "g" }),
    );
    expect(sent.SequenceNumber).toBeDefined();
    await set(url, { ContentBasedDeduplication: "FALSE", SqsManagedSseEnabled: "TRUE" });
    expect(await attributes(url, "All")).toMatchObject({
      ContentBasedDeduplication: "false",
      SqsManagedSseEnabled: "true",
    });
    for (const value of ["yes", "", "1"])
      await expect(set(url, { ContentBasedDeduplication: value })).rejects.toMatchObject({
        name: "InvalidAttributeValue",
      });
  });

  it("have names that SQS allows [sqs 14]", async () => {
    for (const [name, given] of [
      ["a/b", {}],
      ["a b", {}],
      ["a".repeat(81), {}],
      ["a.fifo", {}],
      ["a", { FifoQueue: "true" }],
      [`${"a".repeat(76)}.fifo`, { FifoQueue: "true" }],
      [".fifo", { FifoQueue: "true" }],
      ["a\0", {}],
    ] as const) {
      await expect(create(name, given), name).rejects.toMatchObject({ Code: "InvalidParameterValue" });
    }
    await create(`${"b".repeat(75)}.fifo`, { FifoQueue: "true" });
    await create("c".repeat(80));
  });

  it("refuse attributes of FIFO queues, and changes of their kind [sqs 15]", async () => {
    for (const [attribute, message] of [
      ["FifoQueue", "Unknown Attribute FifoQueue."],
      ["ContentBasedDeduplication", "Unknown Attribute ContentBasedDeduplication."],
      ["DeduplicationScope", "You can specify the DeduplicationScope only when FifoQueue is set to true."],
      ["FifoThroughputLimit", "You can specify the FifoThroughputLimit only when FifoQueue is set to true."],
    ] as const) {
      await expect(create(newName(), { [attribute]: "false" })).rejects.toMatchObject({
        name: "InvalidAttributeName",
        message,
      });
    }
    const url = await create(newName(".fifo"), { FifoQueue: "true" });
    await set(url, { FifoQueue: "true" });
    await expect(set(url, { FifoQueue: "false" })).rejects.toMatchObject({
      name: "InvalidAttributeValue",
      message: "Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported.",
    });
  });

  it("tell exactly the recorded attributes when asked for all [sqs 16]", async () => {
    const url = await create();
    expect(await attributes(url, "All")).toEqual({ ...fresh, QueueArn: arn(nameOf(url)) });
    const fifo = await create(newName(".fifo"), { FifoQueue: "true", ContentBasedDeduplication: "true" });
    expect(await attributes(fifo, "All")).toEqual({
      ...fresh,
      QueueArn: arn(nameOf(fifo)),
      FifoQueue: "true",
      ContentBasedDeduplication: "true",
      DeduplicationScope: "queue",
      FifoThroughputLimit: "perQueue",
    });
  });

  it("tell the attributes asked for, and none when none is [sqs 17]", async () => {
    const url = await create();
    expect(await attributes(url, "DelaySeconds", "QueueArn")).toEqual({
      DelaySeconds: "0",
      QueueArn: arn(nameOf(url)),
    });
    expect(await attributes(url)).toBeUndefined();
    expect(await attributes(url, "Policy")).toBeUndefined();
    await expect(attributes(url, "Foobar")).rejects.toMatchObject({
      name: "InvalidAttributeName",
      message: "Unknown Attribute Foobar.",
    });
    await expect(set(url, { Foobar: "1" })).rejects.toMatchObject({
      name: "InvalidAttributeName",
      message: "Unknown Attribute Foobar.",
    });
    await expect(set(url, { QueueArn: "1" })).rejects.toMatchObject({
      name: "InvalidAttributeName",
      message: "Unknown Attribute QueueArn.",
    });
  });

  it("keep attributes within their ranges, at creation and later [sqs 18]", async () => {
    const url = await create();
    for (const [attribute, least, most] of [
      ["DelaySeconds", 0, 900],
      ["MaximumMessageSize", 1024, 1_048_576],
      ["MessageRetentionPeriod", 60, 1_209_600],
      ["ReceiveMessageWaitTimeSeconds", 0, 20],
      ["VisibilityTimeout", 0, 43_200],
      ["KmsDataKeyReusePeriodSeconds", 60, 86_400],
    ] as const) {
      for (const value of [least, most]) {
        await set(url, { [attribute]: String(value) });
        expect(await attributes(url, attribute)).toEqual({ [attribute]: String(value) });
      }
      for (const value of [least - 1, most + 1, "x", "", "1.5"]) {
        const refusal = { name: "InvalidAttributeValue", message: `Invalid value for the parameter ${attribute}.` };
        await expect(set(url, { [attribute]: String(value) })).rejects.toMatchObject(refusal);
        await expect(create(newName(), { [attribute]: String(value) })).rejects.toMatchObject(refusal);
      }
    }
  });

  it("may be changed by several at once, each its own attribute", async () => {
    const dead = await create();
    const url = await create();
    const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: arn(nameOf(dead)), maxReceiveCount: 3 });
    await Promise.all([
      set(url, { RedrivePolicy }),
      set(url, { VisibilityTimeout: "7" }),
      set(url, { MessageRetentionPeriod: "100" }),
      set(url, { DelaySeconds: "0" }),
    ]);
    expect(await attributes(url, "RedrivePolicy", "VisibilityTimeout", "MessageRetentionPeriod")).toEqual({
      RedrivePolicy,
      VisibilityTimeout: "7",
      MessageRetentionPeriod: "100",
    });
    const [row] = await db.sql("select options from millrace.queue where name = $1", [nameOf(url)]);
    expect(row!["options"]).toMatchObject({
      deadLetterQueue: nameOf(dead),
      deadLetterAfter: 3,
      leaseSeconds: 7,
      ttlSeconds: 100,
      lostAlone: false,
    });
  });

  it("lose policies that are set to nothing [sqs 19]", async () => {
    const dead = await create();
    const url = await create();
    const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: arn(nameOf(dead)), maxReceiveCount: "3" });
    const Policy = JSON.stringify({ Version: "2012-10-17", Statement: [] });
    await set(url, { Policy, RedrivePolicy });
    expect(await attributes(url, "Policy", "RedrivePolicy")).toEqual({ Policy, RedrivePolicy });
    await set(url, { Policy: "", RedrivePolicy: "" });
    expect(await attributes(url, "Policy", "RedrivePolicy")).toBeUndefined();
    await expect(set(url, { Policy: "nonsense" })).rejects.toMatchObject({ name: "InvalidAttributeValue" });
  });

  it("have one kind of encryption at a time [sqs 20]", async () => {
    const url = await create();
    await set(url, { KmsMasterKeyId: "alias/a", KmsDataKeyReusePeriodSeconds: "600" });
    const names = ["KmsMasterKeyId", "KmsDataKeyReusePeriodSeconds", "SqsManagedSseEnabled"];
    expect(await attributes(url, ...names)).toEqual({
      KmsMasterKeyId: "alias/a",
      KmsDataKeyReusePeriodSeconds: "600",
      SqsManagedSseEnabled: "false",
    });
    await set(url, { KmsMasterKeyId: "", KmsDataKeyReusePeriodSeconds: "300" });
    expect(await attributes(url, ...names)).toEqual({ SqsManagedSseEnabled: "false" });
    await expect(set(url, { KmsMasterKeyId: "a", SqsManagedSseEnabled: "true" })).rejects.toMatchObject({
      name: "InvalidAttributeName",
      message:
        "You can use one type of server-side encryption (SSE) at one time. You can either enable KMS SSE or SQS SSE.",
    });
  });

  it("are listed by prefix and in pages [sqs 21]", async () => {
    const prefix = newName("-page");
    const urls = await Promise.all(Array.from({ length: 10 }, (_, i) => create(`${prefix}-${i}`)));
    const list = (MaxResults?: number, NextToken?: string) =>
      sqs.client.send(new ListQueuesCommand({ QueueNamePrefix: prefix, MaxResults, NextToken }));
    expect((await list()).QueueUrls).toEqual(urls);
    expect((await list()).NextToken).toBeUndefined();
    const first = await list(2);
    expect(first.QueueUrls).toEqual(urls.slice(0, 2));
    const rest = await list(8, first.NextToken);
    expect(rest.QueueUrls).toEqual(urls.slice(2));
    expect(rest.NextToken).toBeUndefined();
    for (const wrong of [0, 1001]) await expect(list(wrong)).rejects.toMatchObject({ Code: "InvalidParameterValue" });
    await expect(list(2, "nonsense")).rejects.toMatchObject({ Code: "InvalidParameterValue" });
    expect(
      (await sqs.client.send(new ListQueuesCommand({ QueueNamePrefix: prefix.toUpperCase() }))).QueueUrls,
    ).toBeUndefined();
  });

  it("are not created again within a minute, and come back empty [sqs 22]", async () => {
    const name = newName();
    const url = await create(name, { DelaySeconds: "5" }, { a: "b" });
    await sqs.client.send(new SendMessageCommand({ QueueUrl: url, MessageBody: "old", DelaySeconds: 0 }));
    await sqs.client.send(new DeleteQueueCommand({ QueueUrl: url }));
    await expect(create(name)).rejects.toMatchObject({
      name: "QueueDeletedRecently",
      message: "You must wait 60 seconds after deleting a queue before you can create another with the same name.",
    });
    await db.moveClock(61);
    await create(name);
    expect(await attributes(url, "All")).toEqual({ ...fresh, QueueArn: arn(name) });
    expect((await sqs.client.send(new ListQueueTagsCommand({ QueueUrl: url }))).Tags).toBeUndefined();
    expect((await sqs.client.send(new ReceiveMessageCommand({ QueueUrl: url }))).Messages).toBeUndefined();
    const { client } = await sqs.another({ refuseRecentNames: false });
    await client.send(new DeleteQueueCommand({ QueueUrl: url }));
    await client.send(new CreateQueueCommand({ QueueName: name }));
  });

  it("come back without a memory of what was sent before [sqs 22]", async () => {
    const { client } = await sqs.another({ refuseRecentNames: false });
    const make = () => client.send(new CreateQueueCommand({ QueueName: name, Attributes: { FifoQueue: "true" } }));
    const name = newName(".fifo");
    const { QueueUrl } = await make();
    const send = (MessageBody: string) =>
      client.send(
        new SendMessageCommand({ QueueUrl, MessageBody, MessageGroupId: "g", MessageDeduplicationId: "same" }),
      );
    await send("before");
    await client.send(new DeleteQueueCommand({ QueueUrl }));
    await make();
    await send("after");
    const { Messages } = await client.send(new ReceiveMessageCommand({ QueueUrl }));
    expect(Messages).toMatchObject([{ Body: "after" }]);
  });

  it("can be purged and deleted again after a purge or a deletion that failed half-way [sqs 23]", async () => {
    const url = await create(newName());
    await sqs.client.send(new SendMessageCommand({ QueueUrl: url, MessageBody: "m" }));
    await db.sql("alter function millrace.lanes_purge(bigint[], bigint) rename to lanes_purge_away");
    await expect(sqs.client.send(new PurgeQueueCommand({ QueueUrl: url }))).rejects.toMatchObject({
      Code: "InternalFailure",
    });
    await expect(sqs.client.send(new DeleteQueueCommand({ QueueUrl: url }))).rejects.toMatchObject({
      Code: "InternalFailure",
    });
    await db.sql("alter function millrace.lanes_purge_away(bigint[], bigint) rename to lanes_purge");
    expect(await attributes(url, "ApproximateNumberOfMessages")).toEqual({ ApproximateNumberOfMessages: "1" });
    await sqs.client.send(new PurgeQueueCommand({ QueueUrl: url }));
    expect(await attributes(url, "ApproximateNumberOfMessages")).toEqual({ ApproximateNumberOfMessages: "0" });
    await sqs.client.send(new DeleteQueueCommand({ QueueUrl: url }));
    await expect(attributes(url, "All")).rejects.toMatchObject({ name: "QueueDoesNotExist" });
  });

  it("are purged of what waits, is in flight and is delayed, and of what they have seen, once a minute [sqs 23]", async () => {
    const url = await create(newName(".fifo"), { FifoQueue: "true" });
    const send = (group: string) =>
      sqs.client.send(
        new SendMessageCommand({
          QueueUrl: url,
          MessageBody: "m",
          MessageGroupId: group,
          MessageDeduplicationId: group,
        }),
      );
    for (const group of ["a", "b", "c"]) await send(group);
    const { Messages } = await sqs.client.send(
      new ReceiveMessageCommand({ QueueUrl: url, MaxNumberOfMessages: 2, VisibilityTimeout: 1 }),
    );
    expect(Messages).toHaveLength(2);
    await sqs.client.send(new PurgeQueueCommand({ QueueUrl: url }));
    const counts = [
      "ApproximateNumberOfMessages",
      "ApproximateNumberOfMessagesNotVisible",
      "ApproximateNumberOfMessagesDelayed",
    ];
    expect(Object.values((await attributes(url, ...counts))!)).toEqual(["0", "0", "0"]);
    await db.moveClock(2);
    expect((await sqs.client.send(new ReceiveMessageCommand({ QueueUrl: url }))).Messages).toBeUndefined();
    await expect(sqs.client.send(new PurgeQueueCommand({ QueueUrl: url }))).rejects.toMatchObject({
      name: "PurgeQueueInProgress",
      message: `Only one PurgeQueue operation on ${nameOf(url)} is allowed every 60 seconds.`,
    });
    const again = await send("a");
    expect((await sqs.client.send(new ReceiveMessageCommand({ QueueUrl: url }))).Messages?.[0]?.MessageId).toBe(
      again.MessageId,
    );
    await db.moveClock(61);
    await sqs.client.send(new PurgeQueueCommand({ QueueUrl: url }));
  });

  it("drop delayed messages when they are purged [sqs 23]", async () => {
    const url = await create(newName(), { DelaySeconds: "2" });
    await sqs.client.send(new SendMessageCommand({ QueueUrl: url, MessageBody: "m" }));
    expect(await attributes(url, "ApproximateNumberOfMessagesDelayed")).toEqual({
      ApproximateNumberOfMessagesDelayed: "1",
    });
    await sqs.client.send(new PurgeQueueCommand({ QueueUrl: url }));
    await db.moveClock(3);
    expect((await sqs.client.send(new ReceiveMessageCommand({ QueueUrl: url }))).Messages).toBeUndefined();
  });

  it("have tags [sqs 24]", async () => {
    const url = await create(newName(), {}, { made: "here", Made: "There" });
    const tags = async () => (await sqs.client.send(new ListQueueTagsCommand({ QueueUrl: url }))).Tags;
    expect(await tags()).toEqual({ made: "here", Made: "There" });
    await sqs.client.send(new TagQueueCommand({ QueueUrl: url, Tags: { made: "", more: "x" } }));
    expect(await tags()).toEqual({ made: "", Made: "There", more: "x" });
    await sqs.client.send(new UntagQueueCommand({ QueueUrl: url, TagKeys: ["unknown", "made"] }));
    await sqs.client.send(new UntagQueueCommand({ QueueUrl: url, TagKeys: ["Made", "more"] }));
    expect(await tags()).toBeUndefined();
    const many = Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`t${i}`, ""]));
    await expect(sqs.client.send(new TagQueueCommand({ QueueUrl: url, Tags: many }))).rejects.toMatchObject({
      Code: "InvalidParameterValue",
      message: `Too many tags added for queue ${nameOf(url)}.`,
    });
  });

  it("have permissions, kept as a policy [sqs 25]", async () => {
    const url = await create();
    const name = nameOf(url);
    const add = (Label: string, AWSAccountIds: string[], Actions: string[]) =>
      sqs.client.send(new AddPermissionCommand({ QueueUrl: url, Label, AWSAccountIds, Actions }));
    const policy = async () => JSON.parse((await attributes(url, "Policy"))?.["Policy"] ?? "null");
    await add("one", ["111122223333"], ["ReceiveMessage"]);
    const one = {
      Sid: "one",
      Effect: "Allow",
      Principal: { AWS: "arn:aws:iam::111122223333:root" },
      Action: "SQS:ReceiveMessage",
      Resource: arn(name),
    };
    expect(await policy()).toEqual({ Version: "2008-10-17", Id: `${arn(name)}/SQSDefaultPolicy`, Statement: [one] });
    await add("two", ["111122223333", "444455556666"], ["SendMessage", "DeleteMessage"]);
    const two = {
      Sid: "two",
      Effect: "Allow",
      Principal: { AWS: ["arn:aws:iam::111122223333:root", "arn:aws:iam::444455556666:root"] },
      Action: ["SQS:SendMessage", "SQS:DeleteMessage"],
      Resource: arn(name),
    };
    expect((await policy()).Statement).toEqual([one, two]);
    await expect(add("two", ["111122223333"], ["SendMessage"])).rejects.toMatchObject({
      message: "Value two for parameter Label is invalid. Reason: Already exists.",
    });
    await expect(
      add(
        "many",
        ["111122223333"],
        Array.from({ length: 8 }, () => "SendMessage"),
      ),
    ).rejects.toMatchObject({
      name: "OverLimit",
      message: "8 Actions were found, maximum allowed is 7.",
    });
    const remove = (Label: string) => sqs.client.send(new RemovePermissionCommand({ QueueUrl: url, Label }));
    await expect(remove("none")).rejects.toMatchObject({
      message: "Value none for parameter Label is invalid. Reason: can't find label.",
    });
    await remove("one");
    expect((await policy()).Statement).toEqual([two]);
    await remove("two");
    expect(await policy()).toBeNull();
  });

  it("say who may send them dead letters [sqs 26]", async () => {
    const dead = await create();
    const [friend, stranger] = [newName(), newName()];
    const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: arn(nameOf(dead)), maxReceiveCount: 3 });
    const allow = (policy: object) => set(dead, { RedriveAllowPolicy: JSON.stringify(policy) });
    await allow({ redrivePermission: "denyAll" });
    await expect(create(friend, { RedrivePolicy })).rejects.toMatchObject({ Code: "InvalidParameterValue" });
    const byQueue = { redrivePermission: "byQueue", sourceQueueArns: [arn(friend)] };
    await allow(byQueue);
    expect(JSON.parse((await attributes(dead, "RedriveAllowPolicy"))!["RedriveAllowPolicy"]!)).toEqual(byQueue);
    await create(friend, { RedrivePolicy });
    await expect(create(stranger, { RedrivePolicy })).rejects.toMatchObject({ Code: "InvalidParameterValue" });
    await allow({ redrivePermission: "allowAll" });
    await create(stranger, { RedrivePolicy });
    for (const wrong of [
      { redrivePermission: "some" },
      { redrivePermission: "byQueue" },
      { redrivePermission: "byQueue", sourceQueueArns: Array.from({ length: 11 }, () => arn("a")) },
    ]) {
      await expect(allow(wrong)).rejects.toMatchObject({ name: "InvalidAttributeValue" });
    }
  });

  it("refuse a RedrivePolicy that cannot work, and list whose dead letters they get [sqs 60] [sqs 61]", async () => {
    const dead = await create();
    const fifo = await create(newName(".fifo"), { FifoQueue: "true" });
    const url = await create();
    for (const [policy, reason] of [
      [{ maxReceiveCount: 1 }, "Redrive policy does not contain mandatory attribute: deadLetterTargetArn."],
      [
        { deadLetterTargetArn: arn(nameOf(dead)) },
        "Redrive policy does not contain mandatory attribute: maxReceiveCount.",
      ],
      [
        { deadLetterTargetArn: arn(nameOf(dead)), maxReceiveCount: 0 },
        "Invalid value for maxReceiveCount: 0, valid values are from 1 to 1000 both inclusive.",
      ],
      [
        { deadLetterTargetArn: arn(nameOf(dead)), maxReceiveCount: 1001 },
        "Invalid value for maxReceiveCount: 1001, valid values are from 1 to 1000 both inclusive.",
      ],
      [{ deadLetterTargetArn: arn("nowhere"), maxReceiveCount: 1 }, "Dead letter target does not exist."],
      [
        { deadLetterTargetArn: arn(nameOf(fifo)), maxReceiveCount: 1 },
        "Dead-letter queue must be same type of queue as the source..",
      ],
      [{ deadLetterTargetArn: arn(nameOf(url)), maxReceiveCount: 1 }, "A queue cannot be its own dead-letter queue."],
      [
        { deadLetterTargetArn: arn(nameOf(dead)).replace(account, "123456789012"), maxReceiveCount: 1 },
        "Dead letter target owner should be same as the source.",
      ],
      [
        { deadLetterTargetArn: arn(nameOf(dead)).replace("us-east-1", "eu-west-1"), maxReceiveCount: 1 },
        "Dead letter target should be in the same region as the source.",
      ],
      [
        { deadLetterTargetArn: nameOf(dead), maxReceiveCount: 1 },
        "Dead letter target owner should be same as the source.",
      ],
    ] as const) {
      const text = JSON.stringify(policy);
      await expect(set(url, { RedrivePolicy: text })).rejects.toMatchObject({
        Code: "InvalidParameterValue",
        message: `Value ${text} for parameter RedrivePolicy is invalid. Reason: ${reason}`,
      });
    }
    const sources = async (MaxResults?: number, NextToken?: string) =>
      sqs.client.send(new ListDeadLetterSourceQueuesCommand({ QueueUrl: dead, MaxResults, NextToken }));
    expect((await sources()).queueUrls).toEqual([]);
    const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: arn(nameOf(dead)), maxReceiveCount: 1 });
    const other = await create(newName(), { RedrivePolicy });
    await set(url, { RedrivePolicy });
    const all = [url, other].sort();
    expect((await sources()).queueUrls).toEqual(all);
    const first = await sources(1);
    expect(first.queueUrls).toEqual([all[0]]);
    expect((await sources(1, first.NextToken)).queueUrls).toEqual([all[1]]);
    await set(url, { RedrivePolicy: "" });
    expect((await sources()).queueUrls).toEqual([other]);
  });
});
