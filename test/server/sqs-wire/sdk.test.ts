import { AwsQueryProtocol } from "@aws-sdk/core/protocols";
import * as sdk from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { SqsError, type SqsErrorType } from "../../../src/server/sqs/wire/errors.js";
import { type Action, actions } from "../../../src/server/sqs/wire/model.js";
import { CannedServer, keys } from "./canned-server.js";
import { hardText, plain, samples } from "./samples.js";

const server = new CannedServer({ keys });
beforeAll(() => server.start());
afterAll(() => server.stop());
beforeEach(() => {
  server.reply = {};
});

const [{ accessKeyId, secretAccessKey }] = keys as [(typeof keys)[0]];
const credentials = { accessKeyId, secretAccessKey };
/** The model of the SDK has the Query names still, so that it can speak both protocols. */
const query = new AwsQueryProtocol({
  defaultNamespace: "com.amazonaws.sqs",
  xmlNamespace: "http://queue.amazonaws.com/doc/2012-11-05/",
  version: "2012-11-05",
  errorTypeRegistries: (sdk as unknown as { errorTypeRegistries: never }).errorTypeRegistries,
});

/** Hashes are canned, so nobody may compare them. */
function clientOf(protocol: string, more: Partial<sdk.SQSClientConfig> = {}): sdk.SQSClient {
  const common = {
    endpoint: server.url,
    region: "eu-central-1",
    credentials,
    md5: false as const,
    maxAttempts: 1,
    useQueueUrlAsEndpoint: false,
  };
  return new sdk.SQSClient({ ...common, ...(protocol === "query" ? { protocol: query } : {}), ...more });
}

async function send(client: sdk.SQSClient, action: Action, input: object): Promise<Record<string, unknown>> {
  const Command = (sdk as unknown as Record<string, new (input: object) => never>)[`${action}Command`]!;
  const { $metadata: _, ...output } = (await client.send(new Command(input))) as { $metadata: unknown };
  return output;
}

describe.each(["json", "query"])("the JavaScript SDK over %s", (protocol) => {
  const client = (): sdk.SQSClient => clientOf(protocol);

  it.each(Object.keys(actions) as Action[])("%s: signed, input and output arrive whole", async (action) => {
    const { input, output } = samples[action];
    server.reply = output;
    const received = await send(client(), action, input);
    expect(server.lastCall).toMatchObject({ action, protocol, account: "123456789012", region: "eu-central-1" });
    // The published Query name of MessageSystemAttributeNames is that of AttributeNames.
    const expected =
      action === "ReceiveMessage" && protocol === "query"
        ? { ...input, AttributeNames: expect.any(Array), MessageSystemAttributeNames: undefined }
        : plain(input);
    expect(plain(server.lastCall.input)).toEqual(expected);
    expect(plain(received)).toEqual(plain(output ?? {}));
  });

  it("leaves out what is empty", async () => {
    server.reply = {
      Successful: [{ Id: "a", MessageId: "m", MD5OfMessageBody: "x", MD5OfMessageAttributes: undefined }],
      Failed: [],
    };
    expect(
      Object.keys(
        await send(client(), "SendMessageBatch", { QueueUrl: "q", Entries: [{ Id: "a", MessageBody: "b" }] }),
      ),
    ).toEqual(["Successful"]);
    server.reply = { Messages: [] };
    expect(await send(client(), "ReceiveMessage", { QueueUrl: "q" })).toEqual({});
    server.reply = { Attributes: {} };
    expect(await send(client(), "GetQueueAttributes", { QueueUrl: "q" })).toEqual({});
    server.reply = { QueueUrls: [] };
    expect(await send(client(), "ListQueues", {})).toEqual({});
  });

  const modelled = Object.keys(sdk).filter(
    (name) => Object.getPrototypeOf((sdk as Record<string, unknown>)[name]) === sdk.SQSServiceException,
  );

  it.each(modelled)("throws %s as its class", async (type) => {
    server.reply = new SqsError(type as SqsErrorType, hardText);
    const Class = (sdk as unknown as Record<string, new () => Error>)[type]!;
    const error = await send(client(), "PurgeQueue", { QueueUrl: "q" }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Class);
    const model = (
      sdk as unknown as Record<
        string,
        [number, string, string, { httpError?: number; awsQueryError?: [string, number] }]
      >
    )[`${type}$`]![3];
    expect((error as sdk.SQSServiceException).$metadata.httpStatusCode).toBe(model.httpError ?? 400);
    expect((error as { Code?: string }).Code ?? (error as { Error?: { Code: string } }).Error?.Code).toBe(
      model.awsQueryError?.[0] ?? type,
    );
    expect((error as Error).message).toContain("漢字");
  });

  it.each([
    ["InvalidParameterValueException", "InvalidParameterValue"],
    ["MissingRequiredParameterException", "MissingParameter"],
  ] as const)("throws %s under its Query code", async (type, code) => {
    server.reply = new SqsError(type, "why");
    await expect(send(client(), "PurgeQueue", { QueueUrl: "q" })).rejects.toMatchObject({
      name: code,
      message: "why",
      $fault: "client",
    });
  });

  it("tells nothing of an error that is none of ours", async () => {
    server.reply = new Error("password=secret");
    const error = (await send(client(), "PurgeQueue", { QueueUrl: "q" }).catch(
      (thrown: unknown) => thrown,
    )) as sdk.SQSServiceException;
    expect(error).toMatchObject({ name: "InternalFailure", $metadata: { httpStatusCode: 500 } });
    expect(error.message).not.toContain("secret");
  });

  it("refuses a wrong secret, and a key nobody has", async () => {
    const wrong = clientOf(protocol, { credentials: { ...credentials, secretAccessKey: "guessed" } });
    const name = protocol === "json" ? "InvalidSignatureException" : "SignatureDoesNotMatch";
    await expect(send(wrong, "ListQueues", {})).rejects.toMatchObject({ name, $metadata: { httpStatusCode: 403 } });
    const unknown = clientOf(protocol, { credentials: { ...credentials, accessKeyId: "AKIDNOBODY" } });
    await expect(send(unknown, "ListQueues", {})).rejects.toMatchObject({
      name: protocol === "json" ? "UnrecognizedClientException" : "InvalidClientTokenId",
      message: "The security token included in the request is invalid.",
    });
  });

  it("takes a session token as it comes, and the account from the key", async () => {
    const other = {
      accessKeyId: keys[1]!.accessKeyId,
      secretAccessKey: keys[1]!.secretAccessKey,
      sessionToken: "FwoGZXIvYXdzE+/=",
    };
    await send(clientOf(protocol, { credentials: other, region: "us-gov-west-1" }), "ListQueues", {});
    expect(server.lastCall).toMatchObject({ account: "000000000000", region: "us-gov-west-1" });
  });

  it("lets a client with a wrong clock set it right and try again", async () => {
    const ahead = new CannedServer({ keys }, () => Date.now() + 3_600_000);
    await ahead.start();
    try {
      await expect(
        send(clientOf(protocol, { endpoint: ahead.url, maxAttempts: 3 }), "ListQueues", {}),
      ).resolves.toEqual({});
      expect(ahead.requests).toHaveLength(2);
      const expired = {
        name: "RequestExpired",
        message: expect.stringContaining("Signature expired"),
        $metadata: { httpStatusCode: 400 },
      };
      await expect(send(clientOf(protocol, { endpoint: ahead.url }), "ListQueues", {})).rejects.toMatchObject(expired);
    } finally {
      await ahead.stop();
    }
  });

  it("takes the queue from the path of the endpoint, and the parameter before the path", async () => {
    const at = clientOf(protocol, { endpoint: `${server.url}/123456789012/from-path` });
    await send(at, "SendMessage", { MessageBody: "b" });
    expect(server.lastCall).toMatchObject({ pathQueue: "from-path", input: { QueueUrl: "/123456789012/from-path" } });
    await send(at, "SendMessage", { QueueUrl: "other", MessageBody: "b" });
    expect(server.lastCall).toMatchObject({ pathQueue: "from-path", input: { QueueUrl: "other" } });
    await send(clientOf(protocol, { endpoint: `${server.url}/123456789012/` }), "ListQueues", {});
    expect(server.lastCall).not.toHaveProperty("pathQueue");
  });
});

it("the model has every action, member and name of the SDK's", () => {
  for (const [action, { input }] of Object.entries(actions)) {
    const schema = (
      sdk as unknown as Record<
        string,
        [number, string, string, unknown, () => [number, string, string, unknown, string[]]]
      >
    )[`${action}$`]!;
    expect(Object.keys(input).sort(), action).toEqual([...schema[4]()[4]].sort());
  }
  expect(Object.keys(sdk).filter((name) => name.endsWith("Command") && name !== "$Command")).toHaveLength(
    Object.keys(actions).length,
  );
});
