import {
  CreateQueueCommand,
  DeleteMessageCommand,
  type Message,
  ReceiveMessageCommand,
  SQSClient,
  SendMessageBatchCommand,
  SendMessageCommand,
} from "@aws-sdk/client-sqs";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { request } from "node:http";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { Consumer } from "sqs-consumer";
import { afterAll, describe, expect, it } from "vitest";
import { defineJob } from "../../../src/job/define-job.js";
import { Millrace } from "../../../src/client/with-workers.js";
import { useDatabase } from "../../support/database.js";
import { newName, useSqs } from "../../support/sqs.js";
import { until } from "../../support/wait.js";

const db = useDatabase();
const sqs = useSqs(db);
const processes: ChildProcess[] = [];
afterAll(async () => {
  for (const process of processes) process.kill("SIGKILL");
});

const create = async (Attributes: Record<string, string> = {}, suffix = ""): Promise<string> =>
  (await sqs.client.send(new CreateQueueCommand({ QueueName: newName(suffix), Attributes }))).QueueUrl!;
const nameOf = (url: string) => url.split("/").at(-1)!;
const clientOf = (endpoint: string) =>
  new SQSClient({
    endpoint,
    region: "us-east-1",
    credentials: { accessKeyId: "any", secretAccessKey: "any" },
    maxAttempts: 1,
  });

/** A server in a process of its own. */
async function serverProcess(): Promise<{ readonly client: SQSClient; readonly kill: () => Promise<void> }> {
  const script = new URL("../../support/sqs-process.mjs", import.meta.url).pathname;
  const child = spawn(process.execPath, [script, db.url], { stdio: ["ignore", "pipe", "inherit"] });
  processes.push(child);
  const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  return {
    client: clientOf(line),
    async kill() {
      const gone = once(child, "exit");
      child.kill("SIGKILL");
      await gone;
    },
  };
}

describe("messages and jobs are the same", () => {
  it("a worker gets what an SQS client sent: JSON as objects, attributes as headers", async () => {
    const url = await create();
    const queue = nameOf(url);
    const mill = new Millrace({ connection: db.url });
    const got: unknown[] = [];
    const worker = mill.worker({ queues: [queue] });
    worker.handle(defineJob("message"), async (job) => void got.push({ input: job.input, headers: job.headers }));
    await worker.start();
    await sqs.client.send(
      new SendMessageCommand({
        QueueUrl: url,
        MessageBody: '{"order": 7, "items": [1, 2]}',
        MessageAttributes: { from: { DataType: "String", StringValue: "python" } },
      }),
    );
    await sqs.client.send(new SendMessageCommand({ QueueUrl: url, MessageBody: "plain" }));
    await until("both have run", () => got.length === 2);
    await worker.stop();
    expect(got).toMatchObject([
      { input: { order: 7, items: [1, 2] }, headers: { attributes: { from: { type: "String", value: "python" } } } },
      { input: "plain" },
    ]);
    await mill.close();
  });

  it("an SQS client gets what was enqueued, and is woken up by it", async () => {
    const url = await create();
    const mill = new Millrace({ connection: db.url });
    const waiting = sqs.client.send(new ReceiveMessageCommand({ QueueUrl: url, WaitTimeSeconds: 10 }));
    await sleep(300);
    const began = performance.now();
    await mill.enqueue("message", { hello: "python", n: 1 }, { queue: nameOf(url) });
    expect((await waiting).Messages).toMatchObject([{ Body: '{"hello":"python","n":1}' }]);
    expect(performance.now() - began).toBeLessThan(900);
    await mill.enqueue("other", {}, { queue: nameOf(url) });
    expect((await sqs.client.send(new ReceiveMessageCommand({ QueueUrl: url }))).Messages).toBeUndefined();
    await mill.close();
  });
});

describe("clients", () => {
  it("sqs-consumer works off a queue, in batches, with failures retried [sqs 66]", async () => {
    const url = await create({ VisibilityTimeout: "30" });
    const got: string[] = [];
    let failures = 0;
    const consumer = Consumer.create({
      queueUrl: url,
      sqs: sqs.client,
      batchSize: 10,
      waitTimeSeconds: 1,
      terminateVisibilityTimeout: true,
      messageSystemAttributeNames: ["All"],
      handleMessage: async (message: Message) => {
        if (message.Body === "m3" && (failures += 1) < 3) throw new Error("not yet");
        got.push(message.Body!);
        return message;
      },
    });
    consumer.on("error", () => {});
    consumer.on("processing_error", () => {});
    consumer.start();
    const Entries = Array.from({ length: 10 }, (_, i) => ({ Id: `${i}`, MessageBody: `m${i}` }));
    await sqs.client.send(new SendMessageBatchCommand({ QueueUrl: url, Entries }));
    await until("all have come", () => got.length === 10);
    consumer.stop({ abort: true });
    expect(new Set(got).size).toBe(10);
    expect(failures).toBe(3);
  });

  it.skipIf(spawnSync("python3", ["-c", "import boto3"]).status !== 0)("boto3 does all of it [sqs 67]", async () => {
    const name = newName();
    const script = new URL("../../support/sqs-boto3.py", import.meta.url).pathname;
    const child = spawn("python3", [script, sqs.server.url, name], { stdio: ["ignore", "pipe", "inherit"] });
    processes.push(child);
    let said = "";
    for await (const chunk of child.stdout) said += String(chunk);
    expect(JSON.parse(said)).toEqual({
      url: `${sqs.server.url}/000000000000/${name}`,
      tags: { made: "by python" },
      sent: 5,
      bodies: ['{"order": 7, "emoji": "\\ud83d\\ude00"}', ...Array.from({ length: 5 }, (_, i) => `m${i}\r\n<&>`)],
      isSame: true,
      count: "2",
      deleted: 5,
      empty: true,
      code: "AWS.SimpleQueueService.NonExistentQueue",
      message: "The specified queue does not exist.",
    });
  });

  it("the Query protocol does it too, on a queue's own address [sqs 67]", async () => {
    const url = await create();
    const call = async (form: Record<string, string>) => {
      const response = await fetch(url, {
        method: "POST",
        headers: { "content-type": "application/x-www-form-urlencoded" },
        body: new URLSearchParams(form).toString(),
      });
      return { status: response.status, text: await response.text() };
    };
    const sent = await call({
      "SendMessageBatchRequestEntry.1.Id": "a",
      "SendMessageBatchRequestEntry.1.MessageBody": "x\ry",
      Action: "SendMessageBatch",
    });
    expect(sent).toMatchObject({ status: 200, text: expect.stringContaining("<SendMessageBatchResultEntry>") });
    const got = await call({ Action: "ReceiveMessage", "AttributeName.1": "All", MaxNumberOfMessages: "10" });
    expect(got.text).toContain("<Body>x&#xD;y</Body>");
    const handle = /<ReceiptHandle>(.*)<\/ReceiptHandle>/.exec(got.text)![1]!;
    expect((await call({ Action: "DeleteMessage", ReceiptHandle: handle })).status).toBe(200);
    expect(await call({ Action: "DeleteMessage", ReceiptHandle: "garbage" })).toMatchObject({
      status: 404,
      text: expect.stringContaining("<Code>ReceiptHandleIsInvalid</Code>"),
    });
    expect((await call({ Action: "ReceiveMessage" })).text).toContain("<ReceiveMessageResult/>");
  });

  it("without keys, web pages and other hosts are refused", async () => {
    const url = await create();
    const purge = `${url}?Action=PurgeQueue`;
    for (const headers of [
      { origin: "https://example.com" },
      { origin: "null" },
      { "sec-fetch-site": "cross-site" },
    ] as const) {
      expect((await fetch(purge, { method: "POST", headers })).status).toBe(403);
    }
    const { port } = new URL(url);
    const rebound = await new Promise<number>((resolve) =>
      request(
        {
          method: "POST",
          port,
          path: new URL(purge).pathname + new URL(purge).search,
          headers: { host: `evil.example:${port}` },
        },
        ({ statusCode }) => resolve(statusCode!),
      ).end(),
    );
    expect(rebound).toBe(403);
    expect((await fetch(purge, { method: "POST" })).status).toBe(200);
  });

  it("without keys, a GET changes nothing unless it is signed: the address of an image would be enough [#19]", async () => {
    const url = await create();
    await sqs.client.send(new SendMessageCommand({ QueueUrl: url, MessageBody: "m" }));
    const ask = (query: string, headers = {}) => fetch(`${url}?${query}`, { headers });
    for (const query of [
      "Action=PurgeQueue",
      "Action=DeleteQueue",
      "Action=ReceiveMessage",
      "Action=SendMessage&MessageBody=x",
      "Action=TagQueue&Tag.1.Key=a&Tag.1.Value=b",
    ]) {
      for (const more of ["", "&X-Amz-Credential=a/20250603/us-east-1/sqs/aws4_request&X-Amz-Signature=0"]) {
        const answer = await ask(query + more);
        expect([answer.status, await answer.text()], query).toEqual([
          403,
          expect.stringMatching(/<Code>AccessDenied<\/Code>.* needs a POST or a signature/),
        ]);
      }
    }
    for (const query of [
      "Action=GetQueueAttributes&AttributeName.1=All",
      "Action=ListQueueTags",
      "Action=ListDeadLetterSourceQueues",
    ]) {
      expect((await ask(query)).status, query).toBe(200);
    }
    const authorization =
      "AWS4-HMAC-SHA256 Credential=any/20250603/us-east-1/sqs/aws4_request, SignedHeaders=host, Signature=0";
    expect(await (await ask("Action=ReceiveMessage", { authorization })).text()).toContain("<Body>m</Body>");
  });

  it("with keys, signatures count [sqs 8]", async () => {
    const { server } = await sqs.another({
      anyKey: false,
      keys: [{ accessKeyId: "AKIDEXAMPLE", secretAccessKey: "right", account: "123456789012" }],
    });
    const client = (secretAccessKey: string, accessKeyId = "AKIDEXAMPLE") =>
      new SQSClient({
        endpoint: server.url,
        region: "eu-central-1",
        credentials: { accessKeyId, secretAccessKey },
        maxAttempts: 1,
      });
    const { QueueUrl } = await client("right").send(new CreateQueueCommand({ QueueName: newName() }));
    expect(QueueUrl).toContain("/123456789012/");
    await expect(client("wrong").send(new CreateQueueCommand({ QueueName: newName() }))).rejects.toMatchObject({
      name: "InvalidSignatureException",
    });
    await expect(client("right", "OTHER").send(new CreateQueueCommand({ QueueName: newName() }))).rejects.toMatchObject(
      {
        name: "UnrecognizedClientException",
      },
    );
  });

  it("a client that has hung up gets nothing, and the next one gets it at once [sqs 48]", async () => {
    const url = await create({ VisibilityTimeout: "3600" });
    for (let i = 0; i < 10; i += 1) {
      const controllers = Array.from({ length: 3 }, () => new AbortController());
      const waiting = controllers.map(({ signal }) =>
        sqs.client.send(new ReceiveMessageCommand({ QueueUrl: url, WaitTimeSeconds: 20 }), { abortSignal: signal }),
      );
      await sleep(30);
      for (const controller of controllers) controller.abort();
      await Promise.allSettled(waiting);
      await sleep(20); // the server hears of it
      const sent = await sqs.client.send(new SendMessageCommand({ QueueUrl: url, MessageBody: `m${i}` }));
      const { Messages = [] } = await sqs.client.send(
        new ReceiveMessageCommand({ QueueUrl: url, MessageSystemAttributeNames: ["All"] }),
      );
      expect(Messages, `message ${i}`).toMatchObject([
        { MessageId: sent.MessageId, Attributes: { ApproximateReceiveCount: "1" } },
      ]);
    }
  });

  it("several servers share a queue: each message goes to one of many consumers, and wakes them everywhere [sqs 48]", async () => {
    const url = await create();
    const other = await sqs.another();
    const waiting = other.client.send(new ReceiveMessageCommand({ QueueUrl: url, WaitTimeSeconds: 10 }));
    await sleep(300);
    const began = performance.now();
    await sqs.client.send(new SendMessageCommand({ QueueUrl: url, MessageBody: "there" }));
    expect((await waiting).Messages).toMatchObject([{ Body: "there" }]);
    expect(performance.now() - began).toBeLessThan(900);
    const bodies = Array.from({ length: 200 }, (_, i) => `m${i}`);
    const got: string[] = [];
    const consume = async (client: SQSClient): Promise<void> => {
      for (;;) {
        const { Messages = [] } = await client.send(
          new ReceiveMessageCommand({ QueueUrl: url, MaxNumberOfMessages: 7, WaitTimeSeconds: 2 }),
        );
        if (Messages.length === 0) return;
        for (const message of Messages) {
          got.push(message.Body!);
          await client.send(new DeleteMessageCommand({ QueueUrl: url, ReceiptHandle: message.ReceiptHandle }));
        }
      }
    };
    const consumers = Array.from({ length: 8 }, (_, i) => consume(i % 2 ? sqs.client : other.client));
    await Promise.all(
      bodies.map((MessageBody, i) =>
        (i % 2 ? sqs.client : other.client).send(new SendMessageCommand({ QueueUrl: url, MessageBody })),
      ),
    );
    await Promise.all(consumers);
    expect(got.sort()).toEqual(bodies.sort());
  });

  it("a server that is killed loses nothing: what it had taken comes back, what it had confirmed is there [sqs 48]", async () => {
    const url = await create({ VisibilityTimeout: "2" });
    const { client, kill } = await serverProcess();
    const confirmed: string[] = [];
    let isKilled = false;
    const producers = Array.from({ length: 4 }, async (_, n) => {
      for (let i = 0; !isKilled; i += 1) {
        const MessageBody = `${n}-${i}`;
        await client.send(new SendMessageCommand({ QueueUrl: url, MessageBody })).then(
          () => confirmed.push(MessageBody),
          () => {},
        );
      }
    });
    const taken: string[] = [];
    const deleted = new Set<string>();
    const consumers = Array.from({ length: 4 }, async () => {
      while (!isKilled) {
        const { Messages = [] } = await client
          .send(new ReceiveMessageCommand({ QueueUrl: url, MaxNumberOfMessages: 5, WaitTimeSeconds: 1 }))
          .catch(() => ({ Messages: [] as Message[] }));
        for (const [i, message] of Messages.entries()) {
          taken.push(message.Body!);
          if (i % 2 === 0)
            await client.send(new DeleteMessageCommand({ QueueUrl: url, ReceiptHandle: message.ReceiptHandle })).then(
              () => deleted.add(message.Body!),
              () => {},
            );
        }
      }
    });
    await until("there is traffic", () => confirmed.length > 200 && deleted.size > 50);
    await kill();
    isKilled = true;
    await Promise.all([...producers, ...consumers]);
    const left = new Set<string>();
    const again: string[] = [];
    for (let quiet = 0; quiet < 2;) {
      const { Messages = [] } = await sqs.client.send(
        new ReceiveMessageCommand({ QueueUrl: url, MaxNumberOfMessages: 10, WaitTimeSeconds: 2 }),
      );
      quiet = Messages.length === 0 ? quiet + 1 : 0;
      for (const message of Messages) {
        if (deleted.has(message.Body!)) again.push(message.Body!);
        left.add(message.Body!);
        await sqs.client.send(new DeleteMessageCommand({ QueueUrl: url, ReceiptHandle: message.ReceiptHandle }));
      }
    }
    expect(again).toEqual([]);
    expect(confirmed.filter((body) => !deleted.has(body) && !left.has(body) && !taken.includes(body))).toEqual([]);
    // deleted, and the answer did not arrive
    expect(taken.filter((body) => !deleted.has(body) && !left.has(body)).length).toBeLessThanOrEqual(4);
  });

  it("a server that stops answers those who wait [sqs 37]", async () => {
    const url = await create();
    const { server, client } = await sqs.another();
    const waiting = client.send(new ReceiveMessageCommand({ QueueUrl: url, WaitTimeSeconds: 20 }));
    await sleep(300);
    const began = performance.now();
    await server.stop();
    expect((await waiting).Messages).toBeUndefined();
    expect(performance.now() - began).toBeLessThan(900);
  });
});

describe("groups of a standard queue", () => {
  it("are told, and have no numbers [sqs 63]", async () => {
    const url = await create();
    const sent = await sqs.client.send(
      new SendMessageCommand({ QueueUrl: url, MessageBody: "m", MessageGroupId: "tenant" }),
    );
    expect(sent.SequenceNumber).toBeUndefined();
    const { Messages } = await sqs.client.send(
      new ReceiveMessageCommand({ QueueUrl: url, MessageSystemAttributeNames: ["All"] }),
    );
    expect(Messages![0]!.Attributes).toMatchObject({ MessageGroupId: "tenant" });
    expect(Messages![0]!.Attributes!["SequenceNumber"]).toBeUndefined();
    for (const MessageGroupId of ["", "a b"]) {
      await expect(
        sqs.client.send(new SendMessageCommand({ QueueUrl: url, MessageBody: "m", MessageGroupId })),
      ).rejects.toMatchObject({
        Code: "InvalidParameterValue",
      });
    }
    await expect(
      sqs.client.send(new SendMessageCommand({ QueueUrl: url, MessageBody: "m", MessageDeduplicationId: "d" })),
    ).rejects.toMatchObject({
      Code: "InvalidParameterValue",
    });
  });

  it("take turns: a quiet tenant overtakes one with a backlog [sqs 64]", async () => {
    const url = await create();
    const batch = (group: string, n: number) =>
      sqs.client.send(
        new SendMessageBatchCommand({
          QueueUrl: url,
          Entries: Array.from({ length: n }, (_, i) => ({
            Id: `${i}`,
            MessageBody: `${group}${i}`,
            MessageGroupId: group,
          })),
        }),
      );
    for (let i = 0; i < 10; i += 1) await batch("noisy", 10);
    for (let i = 0; i < 4; i += 1)
      await sqs.client.send(new ReceiveMessageCommand({ QueueUrl: url, MaxNumberOfMessages: 10 }));
    await batch("quiet", 2);
    const { Messages } = await sqs.client.send(new ReceiveMessageCommand({ QueueUrl: url, MaxNumberOfMessages: 10 }));
    expect(Messages!.filter(({ Body }) => Body!.startsWith("quiet"))).toHaveLength(2);
  });
});
