import {
  CreateQueueCommand,
  DeleteQueueCommand,
  GetQueueAttributesCommand,
  GetQueueUrlCommand,
  ListQueueTagsCommand,
  SetQueueAttributesCommand,
  TagQueueCommand,
  UntagQueueCommand,
} from "@aws-sdk/client-sqs";
import { describe, expect, it } from "vitest";
import { useDatabase } from "../../support/database.js";
import { newName, useSqs } from "../../support/sqs.js";

const db = useDatabase();
const sqs = useSqs(db);

/** A queue as somebody wrote it down. */
interface Wanted {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly tags?: Readonly<Record<string, string>>;
}

/** What AWS says of a queue for which nothing was said: a plan that finds these missing is empty all the same. */
const defaults: Readonly<Record<string, string>> = {
  DelaySeconds: "0",
  MaximumMessageSize: "1048576",
  MessageRetentionPeriod: "345600",
  ReceiveMessageWaitTimeSeconds: "0",
  SqsManagedSseEnabled: "true",
  VisibilityTimeout: "30",
};
/** What is so because of when, where and what it is. */
const computed = [
  "ApproximateNumberOfMessages",
  "ApproximateNumberOfMessagesDelayed",
  "ApproximateNumberOfMessagesNotVisible",
  "CreatedTimestamp",
  "LastModifiedTimestamp",
  "QueueArn",
];

/** Create, then wait until what is read is what was written: in the first try, here. */
async function create({ name, attributes, tags = {} }: Wanted): Promise<string> {
  const { QueueUrl } = await sqs.client.send(
    new CreateQueueCommand({ QueueName: name, Attributes: { ...attributes }, tags: { ...tags } }),
  );
  expect(await plan({ name, attributes, tags })).toEqual({});
  return QueueUrl!;
}

async function update(wanted: Wanted): Promise<void> {
  const QueueUrl = await urlOf(wanted.name);
  const changes = await plan(wanted);
  const { [tagKey]: _, ...attributes } = changes;
  const ought = withDefaults(wanted);
  const Attributes = Object.fromEntries(Object.keys(attributes).map((key) => [key, ought[key] ?? ""]));
  if (Object.keys(Attributes).length > 0)
    await sqs.client.send(new SetQueueAttributesCommand({ QueueUrl, Attributes }));
  const { Tags = {} } = await sqs.client.send(new ListQueueTagsCommand({ QueueUrl }));
  const gone = Object.keys(Tags).filter((key) => wanted.tags?.[key] === undefined);
  if (gone.length > 0) await sqs.client.send(new UntagQueueCommand({ QueueUrl, TagKeys: gone }));
  if (wanted.tags && Object.keys(wanted.tags).length > 0)
    await sqs.client.send(new TagQueueCommand({ QueueUrl, Tags: { ...wanted.tags } }));
  expect(await plan(wanted)).toEqual({});
}

async function destroy(name: string): Promise<void> {
  const QueueUrl = await urlOf(name);
  await sqs.client.send(new DeleteQueueCommand({ QueueUrl }));
  await expect(
    sqs.client.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ["All"] })),
  ).rejects.toMatchObject({ name: "QueueDoesNotExist" });
  await expect(urlOf(name)).rejects.toMatchObject({ name: "QueueDoesNotExist" });
}

const tagKey = "tags";
const urlOf = async (QueueName: string): Promise<string> =>
  (await sqs.client.send(new GetQueueUrlCommand({ QueueName }))).QueueUrl!;
const arnOf = async (name: string): Promise<string> => (await read(name))["QueueArn"]!;

async function read(name: string): Promise<Record<string, string>> {
  return (
    (await sqs.client.send(new GetQueueAttributesCommand({ QueueUrl: await urlOf(name), AttributeNames: ["All"] })))
      .Attributes ?? {}
  );
}

const withDefaults = ({ name, attributes }: Wanted): Record<string, string> => ({
  ...defaults,
  ...(name.endsWith(".fifo")
    ? { ContentBasedDeduplication: "false", DeduplicationScope: "queue", FifoThroughputLimit: "perQueue" }
    : {}),
  ...attributes,
});

/** What differs between a queue and how it was written down: documents as what they say, not as they are spelled. */
async function plan({ name, attributes, tags = {} }: Wanted): Promise<Record<string, unknown>> {
  const found = await read(name);
  const wanted = withDefaults({ name, attributes });
  const changes: Record<string, unknown> = {};
  for (const key of new Set([...Object.keys(found), ...Object.keys(wanted)])) {
    if (computed.includes(key)) continue;
    const [is, ought] = [meaning(found[key]), meaning(wanted[key])];
    if (JSON.stringify(is) !== JSON.stringify(ought)) changes[key] = { is, ought };
  }
  const { Tags = {} } = await sqs.client.send(new ListQueueTagsCommand({ QueueUrl: await urlOf(name) }));
  if (JSON.stringify(sorted(Tags)) !== JSON.stringify(sorted(tags))) changes[tagKey] = { is: Tags, ought: tags };
  return changes;
}

const sorted = (object: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));

function meaning(text: string | undefined): unknown {
  if (text === undefined || text === "") return undefined;
  return text.startsWith("{") ? sorted(JSON.parse(text) as Record<string, unknown>) : text;
}

describe("apply, plan, change, plan, destroy [sqs 69]", () => {
  it("a standard queue with a policy and tags", async () => {
    const name = newName();
    const first: Wanted = {
      name,
      attributes: { VisibilityTimeout: "60", DelaySeconds: "5" },
      tags: { Team: "mill", "empty ": "" },
    };
    await create(first);
    const Policy = JSON.stringify({
      Version: "2012-10-17",
      Statement: [{ Effect: "Allow", Principal: "*", Action: "sqs:SendMessage", Resource: await arnOf(name) }],
    });
    await update({
      name,
      attributes: { VisibilityTimeout: "61", MessageRetentionPeriod: "86400", Policy },
      tags: { Team: "race" },
    });
    await update({ name, attributes: {} });
    expect((await read(name))["Policy"]).toBeUndefined();
    await destroy(name);
  });

  it("a FIFO queue", async () => {
    const name = newName(".fifo");
    await create({ name, attributes: { FifoQueue: "true", ContentBasedDeduplication: "true" } });
    await update({
      name,
      attributes: { FifoQueue: "true", DeduplicationScope: "messageGroup", FifoThroughputLimit: "perMessageGroupId" },
    });
    await update({ name, attributes: { FifoQueue: "true" } });
    await destroy(name);
  });

  it("a queue with dead letters, and who may send them", async () => {
    const [name, dead] = [newName(), newName("-dead")];
    await create({ name: dead, attributes: {} });
    const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: await arnOf(dead), maxReceiveCount: 4 });
    await create({ name, attributes: { RedrivePolicy } });
    const RedriveAllowPolicy = JSON.stringify({ redrivePermission: "byQueue", sourceQueueArns: [await arnOf(name)] });
    await update({ name: dead, attributes: { RedriveAllowPolicy } });
    await update({
      name,
      attributes: { RedrivePolicy: JSON.stringify({ maxReceiveCount: 7, deadLetterTargetArn: await arnOf(dead) }) },
    });
    await update({ name, attributes: {} });
    await update({ name: dead, attributes: {} });
    await destroy(name);
    await destroy(dead);
  });

  it("encryption is kept as it was written", async () => {
    const name = newName();
    await create({
      name,
      attributes: {
        KmsMasterKeyId: "alias/aws/sqs",
        KmsDataKeyReusePeriodSeconds: "600",
        SqsManagedSseEnabled: "false",
      },
    });
    await destroy(name);
  });
});
