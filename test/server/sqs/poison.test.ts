import { CreateQueueCommand, type Message, ReceiveMessageCommand, SendMessageCommand } from "@aws-sdk/client-sqs";
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { SqsMessageRecord } from "../../../src/db/sqs-engine.js";
import { showEach } from "../../../src/server/sqs/message.js";
import { useDatabase } from "../../support/database.js";
import { newName, useSqs } from "../../support/sqs.js";

const db = useDatabase();
const sqs = useSqs(db);

const create = async (
  Attributes: Record<string, string> = {},
): Promise<{ readonly name: string; readonly url: string }> => {
  const name = newName(Attributes["FifoQueue"] ? ".fifo" : "");
  return { name, url: (await sqs.client.send(new CreateQueueCommand({ QueueName: name, Attributes }))).QueueUrl! };
};
const receive = async (QueueUrl: string): Promise<Message[]> =>
  (
    await sqs.client.send(
      new ReceiveMessageCommand({
        QueueUrl,
        MaxNumberOfMessages: 10,
        MessageAttributeNames: ["All"],
        MessageSystemAttributeNames: ["All"],
      }),
    )
  ).Messages ?? [];
/** Enqueue as anybody may who reaches the database: the JSON as it is written here. */
const enqueue = (queue: string, input: string, more = "") =>
  db.sql("select job_enqueue('message', $1::json, $2::json)", [input, `{"queue":"${queue}"${more}}`]);
const bodies = (messages: readonly Message[]) => messages.map(({ Body }) => Body);

describe("a message that no SQS client could have sent", () => {
  it.each([
    `5`,
    `[1]`,
    `"text"`,
    `{"attributes":5}`,
    `{"attributes":[1]}`,
    `{"attributes":null}`,
    `{"attributes":{"a":1}}`,
    `{"attributes":{"a":null}}`,
    `{"attributes":{"a":"plain"}}`,
    `{"attributes":{"a":{"type":1,"value":"x"}}}`,
    `{"attributes":{"a":{"type":"String"}}}`,
    `{"attributes":{"a":{"type":"String","value":""}}}`,
    `{"attributes":{"a":{"type":"String","value":"\\u0001"}}}`,
    `{"attributes":{"a":{"type":"Number","value":"one"}}}`,
    `{"attributes":{"a":{"type":"Binary","value":"*"}}}`,
    `{"attributes":{"a":{"type":"Odd","value":"x"}}}`,
    `{"attributes":{"a b":{"type":"String","value":"x"},"AWS.a":{"type":"String","value":"x"},"\\u0001":{"type":"String","value":"x"}}}`,
    `{"trace":5}`,
    `{"trace":{"a":1}}`,
    `{"trace":"\\u0001"}`,
  ])("has its body delivered, and its neighbours, when its headers are %s [#19]", async (headers) => {
    const { name, url } = await create();
    await enqueue(name, `"before"`);
    await enqueue(name, `"odd"`);
    // written past enqueue, which refuses headers that are no object
    await db.sql(`update job set headers = $2::json where queue_id = queue_id($1) and input::text = '"odd"'`, [
      name,
      headers,
    ]);
    await enqueue(name, `"after"`, `,"headers":{"attributes":{"good":{"type":"String","value":"x"}}}`);
    const [before, odd, after] = await receive(url);
    expect(bodies([before!, odd!, after!])).toEqual(["before", "odd", "after"]);
    expect(odd!.MessageAttributes).toBeUndefined();
    expect(odd!.Attributes!["AWSTraceHeader"]).toBeUndefined();
    expect(after!.MessageAttributes).toEqual({ good: { DataType: "String", StringValue: "x" } });
  });

  it("keeps those of its attributes that are some [#19]", async () => {
    const { name, url } = await create();
    await enqueue(
      name,
      `"m"`,
      `,"headers":{"attributes":{"bad":1,"__proto__":{"type":"String","value":"p"},"n":{"type":"Number.int","value":"7"},"b":{"type":"Binary","value":"aGk="}},"trace":"Root=1"}`,
    );
    const [message] = await receive(url);
    expect(Object.keys(message!.MessageAttributes!).sort()).toEqual(["__proto__", "b", "n"]);
    expect(message!.MessageAttributes!["b"]!.BinaryValue).toEqual(new Uint8Array(Buffer.from("hi")));
    expect(message!.Attributes!["AWSTraceHeader"]).toBe("Root=1");
  });

  it.each([
    [`5`, "5"],
    [`null`, "null"],
    [`true`, "true"],
    [`""`, ""],
    [`{ "a" : [1,  2] }`, `{ "a" : [1,  2] }`],
    [`"\\u0001x"`, "\uFFFDx"],
    [`"\\\\ud800"`, "\\ud800"],
  ])("has a body whatever its input is: %s [#19]", async (input, body) => {
    for (const Attributes of [{}, { FifoQueue: "true" }]) {
      const { name, url } = await create(Attributes);
      const group = name.endsWith(".fifo") ? `,"group":"g"` : "";
      await enqueue(name, `"before"`, group);
      await enqueue(name, input, group);
      await enqueue(name, `"after"`, group);
      const messages = await receive(url);
      expect(bodies(messages)).toEqual(["before", body, "after"]);
      for (const { Body, MD5OfBody } of messages) expect(MD5OfBody).toBe(createHash("md5").update(Body!).digest("hex"));
      const xml = await (
        await fetch(url, {
          method: "POST",
          body: new URLSearchParams({ Action: "ReceiveMessage", VisibilityTimeout: "0" }),
        })
      ).text();
      expect(xml).toContain("<ReceiveMessageResult/>");
    }
  });

  it("does not change what a client sends: escapes in a body arrive as they were [#19]", async () => {
    const { url } = await create();
    const sent = [
      `{"a":"\\ud800"}`,
      `{"a":"\\u0000"}`,
      `{"a":"\\ud83d\\ude00\\\\ud800"}`,
      `\\ud800`,
      `\\\\ud83d`,
      `{"a":"\\\\ud83d\\ude00"}`,
    ];
    for (const MessageBody of sent) await sqs.client.send(new SendMessageCommand({ QueueUrl: url, MessageBody }));
    expect(bodies(await receive(url))).toEqual(sent);
  });
});

describe("what throws while messages are shown", () => {
  const record = (id: string) => ({ id, token: "t" }) as SqsMessageRecord;

  it("concerns one message, and not those beside it [#19]", () => {
    const fault = new Error("odd");
    const show = ({ id }: SqsMessageRecord) => {
      if (id === "2") throw fault;
      return { MessageId: id } as never;
    };
    expect(showEach([record("1"), record("2"), record("3")], show)).toEqual({
      messages: [{ MessageId: "1" }, { MessageId: "3" }],
      records: [record("1"), record("3")],
      broken: [{ record: record("2"), error: fault }],
    });
  });

  it("puts that one aside, failed on record with the reason, and nobody gets it again [#19]", async () => {
    const { name, url } = await create({ VisibilityTimeout: "0" });
    for (const input of [`"one"`, `"broken"`, `"three"`]) await enqueue(name, input);
    // Nothing that is stored through the engine makes a message that cannot be shown: the note of a source is bent by
    // hand.
    await db.sql(`update job set source = '{"id":"1","queue":5,"attempts":1}' where input::text = '"broken"'`);
    expect(bodies(await receive(url))).toEqual(["one", "three"]);
    const [job] = await db.sql<{ state: string; error: { message: string } }>(
      `select j.state, a.error from jobs j join attempts a on a.job_id = j.id where j.queue = $1 and j.input::text = '"broken"'`,
      [name],
    );
    expect(job).toMatchObject({
      state: "failed",
      error: { message: expect.stringMatching(/^it cannot be shown as a message: /) },
    });
  });
});
