import {
  CreateQueueCommand,
  DeleteMessageCommand,
  DeleteQueueCommand,
  GetQueueUrlCommand,
  ListQueuesCommand,
  type Message,
  ReceiveMessageCommand,
  SQSClient,
  SendMessageCommand,
} from "@aws-sdk/client-sqs";
import { describe, expect, it, onTestFinished } from "vitest";
import { moveQueue } from "../../src/cells/move.js";
import { type RunningServer, startServer } from "../../src/server/server.js";
import { jobIdOf } from "../../src/server/sqs/receipt.js";
import { useCellMills } from "../support/cell-mills.js";
import { makeIdsEqual } from "../support/equal-ids.js";

const cells = useCellMills();
const names = ["a", "b", "c"] as const;

interface Serving {
  readonly server: RunningServer;
  readonly client: SQSClient;
  /** Makes a queue in this cell. Answers with its URL. */
  readonly queueIn: (cell: string) => Promise<string>;
}

/** A server over the cells, and a client of it, until the test ends. */
async function serve(): Promise<Serving> {
  const server = await startServer({ cells: cells.urls, port: 0, graceMs: 500, sqs: { anyKey: true } });
  const client = new SQSClient({
    endpoint: server.url,
    region: "us-east-1",
    credentials: { accessKeyId: "any", secretAccessKey: "any" },
    maxAttempts: 1,
  });
  onTestFinished(async () => {
    client.destroy();
    await server.stop();
  });
  return {
    server,
    client,
    async queueIn(cell) {
      const QueueName = await cells.nameIn(cell, server.mill);
      return (await client.send(new CreateQueueCommand({ QueueName }))).QueueUrl!;
    },
  };
}

async function receive({ client }: Serving, QueueUrl: string): Promise<Message> {
  const { Messages } = await client.send(new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 20 }));
  expect(Messages).toHaveLength(1);
  return Messages![0]!;
}

const send = async ({ client }: Serving, QueueUrl: string, MessageBody: string): Promise<string> =>
  (await client.send(new SendMessageCommand({ QueueUrl, MessageBody }))).MessageId!;

describe("SQS over three cells", () => {
  it("[#227] tells messages of two jobs with equal ids apart, and deletes the one that was received", async () => {
    const serving = await serve();
    const urls = { a: await serving.queueIn("a"), b: await serving.queueIn("b") };
    await makeIdsEqual(cells.dbs.a, cells.dbs.b);
    const sent = { a: await send(serving, urls.a, "of a"), b: await send(serving, urls.b, "of b") };
    expect(sent.a).not.toBe(sent.b);
    const jobs = [jobIdOf(sent.a, names), jobIdOf(sent.b, names)];
    const [, plain] = jobs[0]!.split(":");
    expect(jobs).toEqual([`a:${plain}`, `b:${plain}`]);

    const got = { a: await receive(serving, urls.a), b: await receive(serving, urls.b) };
    expect([got.a.Body, got.b.Body]).toEqual(["of a", "of b"]);
    expect([got.a.MessageId, got.b.MessageId]).toEqual([sent.a, sent.b]);
    // what names one cell is no receipt of another, though queue, job and claim were the same
    const forged = Buffer.from(got.b.ReceiptHandle!, "base64");
    forged[33] = "a".charCodeAt(0);
    const QueueUrl = urls.b;
    await expect(
      serving.client.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: forged.toString("base64") })),
    ).rejects.toMatchObject({ name: "ReceiptHandleIsInvalid" });
    await serving.client.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: got.b.ReceiptHandle! }));
    const { mill } = serving.server;
    expect((await mill.engine.get(jobs[1]!))!.job.state).toBe("succeeded");
    expect((await mill.engine.get(jobs[0]!))!.job.state).toBe("running");
  });

  it("a queue keeps its URL when it moves, and a receipt from before still deletes its message", async () => {
    const serving = await serve();
    const { client, server } = serving;
    const QueueUrl = await serving.queueIn("a");
    const QueueName = QueueUrl.split("/").at(-1)!;
    const first = await send(serving, QueueUrl, "before");
    const message = await receive(serving, QueueUrl);
    const engines = new Map(
      await Promise.all(names.map(async (cell) => [cell, await server.mill.cells!.engine(cell)] as const)),
    );
    await moveQueue(engines, QueueName, "c", { detach: true });

    expect((await client.send(new GetQueueUrlCommand({ QueueName }))).QueueUrl).toBe(QueueUrl);
    const second = await send(serving, QueueUrl, "after");
    expect([jobIdOf(first, names), jobIdOf(second, names)].map((id) => id!.split(":")[0])).toEqual(["a", "c"]);
    await client.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: message.ReceiptHandle! }));
    expect((await server.mill.engine.get(jobIdOf(first, names)!))!.job.state).toBe("succeeded");
    await moveQueue(engines, QueueName, "c", {});
    const next = await receive(serving, QueueUrl);
    expect(next).toMatchObject({ Body: "after", MessageId: second });
    await client.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: next.ReceiptHandle! }));

    const listed = await client.send(new ListQueuesCommand({ QueueNamePrefix: QueueName }));
    expect(listed.QueueUrls).toEqual([QueueUrl]);
    await client.send(new DeleteQueueCommand({ QueueUrl }));
    await expect(client.send(new GetQueueUrlCommand({ QueueName }))).rejects.toMatchObject({
      name: "QueueDoesNotExist",
    });
  });
});
