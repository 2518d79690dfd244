import { SQSClient, CreateQueueCommand, ListQueuesCommand, SendMessageCommand } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type RunningServer, startServer } from "../../../src/server/server.js";
import { useDatabase } from "../../support/database.js";
import { type RawClient, beginRequest } from "../../support/sockets.js";
import { newName } from "../../support/sqs.js";
import { until } from "../../support/wait.js";

const mebibyte = 1_048_576;
const db = useDatabase();
const keys = ["first-key", "second-key"].map((accessKeyId) => ({ accessKeyId, secretAccessKey: "a secret of theirs" }));
let server: RunningServer;
beforeAll(async () => {
  server = await startServer({
    connection: { connectionString: db.url, max: 8 },
    port: 0,
    graceMs: 1000,
    bodyMemoryBytes: 6 * mebibyte,
    sqs: { keys },
  });
});
afterAll(() => server.stop());

function clientOf(accessKeyId: string, secretAccessKey = "a secret of theirs"): SQSClient {
  const client = new SQSClient({
    endpoint: server.url,
    region: "us-east-1",
    credentials: { accessKeyId, secretAccessKey },
    maxAttempts: 1,
  });
  onTestFinished(() => client.destroy());
  return client;
}

/** Begin to send a message as whoever has this key, with a signature that is none. */
function begin(accessKeyId: string, date = new Date().toISOString().replace(/[-:]|\.\d+/g, "")): RawClient {
  const client = beginRequest(server.url, "POST /", {
    "content-type": "application/x-amz-json-1.0",
    "x-amz-target": "AmazonSQS.SendMessage",
    "x-amz-date": date,
    authorization: `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${date.slice(0, 8)}/us-east-1/sqs/aws4_request, SignedHeaders=host;x-amz-target, Signature=${"0".repeat(64)}`,
    "content-length": String(4 * mebibyte),
  });
  onTestFinished(() => void client.socket.destroy());
  return client;
}

describe("whoever has no key", () => {
  it("is refused before the body comes", async () => {
    const stranger = begin("nobody's-key");
    await stranger.got("UnrecognizedClientException");
    const late = begin("first-key", "20200101T000000Z");
    await late.got("RequestExpired");
  });

  it("hears of it, though it has a long message to send", async () => {
    const send = new SendMessageCommand({
      QueueUrl: `${server.url}/000000000000/any`,
      MessageBody: "x".repeat(1_000_000),
    });
    await expect(clientOf("nobody's-key").send(send)).rejects.toMatchObject({
      name: "UnrecognizedClientException",
      $metadata: { httpStatusCode: 403 },
    });
    await expect(clientOf("first-key", "another secret").send(send)).rejects.toMatchObject({
      name: "InvalidSignatureException",
    });
  });

  it("takes no more memory by the name of a key than that key has, and others have theirs", async () => {
    const senders = Array.from({ length: 3 }, () => begin("first-key"));
    for (const { socket } of senders) socket.write("x".repeat(3 * mebibyte));
    await until("one is refused", () => senders.some(({ received }) => received().includes("HTTP/1.1 503")));
    const other = clientOf("second-key");
    const { QueueUrl } = await other.send(new CreateQueueCommand({ QueueName: newName() }));
    await other.send(new SendMessageCommand({ QueueUrl, MessageBody: "x".repeat(200_000) }));
    for (const { socket } of senders) socket.destroy();
    await until("it is given back", () =>
      clientOf("first-key")
        .send(new SendMessageCommand({ QueueUrl, MessageBody: "x".repeat(1_000_000) }))
        .then(
          () => true,
          () => false,
        ),
    );
    expect((await clientOf("first-key").send(new ListQueuesCommand({}))).QueueUrls).toEqual([QueueUrl]);
  });
});
