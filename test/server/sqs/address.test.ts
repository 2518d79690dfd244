import {
  CreateQueueCommand,
  GetQueueUrlCommand,
  ListQueuesCommand,
  SQSClient,
  SendMessageCommand,
} from "@aws-sdk/client-sqs";
import { describe, expect, it, onTestFinished } from "vitest";
import { type RunningServer, type ServerOptions, startServer } from "../../../src/server/server.js";
import { useDatabase } from "../../support/database.js";
import { newName } from "../../support/sqs.js";

const db = useDatabase();
const account = "000000000000";

const start = async (
  options: Partial<ServerOptions>,
): Promise<{ readonly server: RunningServer; readonly client: SQSClient }> => {
  const server = await startServer({ connection: db.url, port: 0, graceMs: 1000, sqs: { anyKey: true }, ...options });
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
  return { server, client };
};
/** The URL that CreateQueue tells whoever asks with some headers. */
const urlFor = async ({ url }: RunningServer, headers: Record<string, string>): Promise<string | undefined> => {
  const body = new URLSearchParams({ Action: "CreateQueue", QueueName: newName() });
  const text = await (await fetch(url, { method: "POST", headers, body })).text();
  return /<QueueUrl>(.*)\/\d{12}\/[\w-]+<\/QueueUrl>/.exec(text)?.[1];
};

describe("queue URLs", () => {
  it("begin with the public URL, and every form of them is taken [#19]", async () => {
    const { server, client } = await start({
      publicUrl: "https://example.com/queues/",
      prefix: "/inside",
      trustProxy: ["127.0.0.1"],
    });
    const name = newName();
    const url = `https://example.com/queues/${account}/${name}`;
    expect((await client.send(new CreateQueueCommand({ QueueName: name }))).QueueUrl).toBe(url);
    expect((await client.send(new GetQueueUrlCommand({ QueueName: name }))).QueueUrl).toBe(url);
    expect((await client.send(new ListQueuesCommand({ QueueNamePrefix: name }))).QueueUrls).toEqual([url]);
    for (const QueueUrl of [
      url,
      url.replace("https:", "http:"),
      `${server.url}/${account}/${name}`,
      `http://other:81/${account}/${name}`,
      name,
    ]) {
      expect((await client.send(new SendMessageCommand({ QueueUrl, MessageBody: "m" }))).MessageId).toBeDefined();
    }
    expect(await urlFor(server, { "x-forwarded-proto": "http", "x-forwarded-host": "elsewhere" })).toBe(
      "https://example.com/queues",
    );
  });

  it("begin with what a trusted proxy says, and nobody else [#19]", async () => {
    const { server: trusting } = await start({ prefix: "/inside", trustProxy: ["10.0.0.0/8", "127.0.0.0/8"] });
    const { host } = new URL(trusting.url);
    for (const [headers, base] of [
      [{}, `http://${host}/inside`],
      [{ "x-forwarded-proto": "https" }, `https://${host}/inside`],
      [
        { "x-forwarded-proto": "HTTPS", "x-forwarded-host": "queue.example.com:8443" },
        "https://queue.example.com:8443/inside",
      ],
      // The nearest proxy appends: what stands before may be anybody's.
      [
        { "x-forwarded-proto": "http, https", "x-forwarded-host": "evil.example, queue.example.com" },
        "https://queue.example.com/inside",
      ],
      [{ "x-forwarded-proto": "javascript", "x-forwarded-host": "a/b" }, `http://${host}/inside`],
      [{ "x-forwarded-proto": "", "x-forwarded-host": "<script>" }, `http://${host}/inside`],
    ] as const)
      expect(await urlFor(trusting, headers), JSON.stringify(headers)).toBe(base);
    for (const trustProxy of [undefined, ["10.0.0.0/8", "::1"]]) {
      const { server } = await start(trustProxy ? { trustProxy } : {});
      expect(await urlFor(server, { "x-forwarded-proto": "https", "x-forwarded-host": "evil.example" })).toBe(
        server.url,
      );
    }
  });

  it("a public URL and proxies that cannot be are refused before anything starts [#19]", async () => {
    for (const publicUrl of [
      "",
      "queue.example.com",
      "ftp://a",
      "https://",
      "https:a",
      "https://user@a",
      "https://a/?b",
      "https://a/#b",
    ])
      await expect(startServer({ connection: db.url, port: 0, publicUrl }), publicUrl).rejects.toMatchObject({
        code: "MR001",
        message: expect.stringContaining("public URL"),
      });
    for (const entry of ["", "proxy.example.com", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/8/8", "::/129", "*"])
      await expect(startServer({ connection: db.url, port: 0, trustProxy: [entry] }), entry).rejects.toMatchObject({
        code: "MR001",
      });
  });
});
