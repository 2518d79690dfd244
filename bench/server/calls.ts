import {
  DeleteMessageBatchCommand,
  DeleteMessageCommand,
  ReceiveMessageCommand,
  SQSClient,
  SendMessageBatchCommand,
  SendMessageCommand,
} from "@aws-sdk/client-sqs";
import { createHash, createHmac } from "node:crypto";
import { Agent, request } from "node:http";
import { key } from "./systems.js";

/** What clients of a queue do. One message goes in a call of its own, several in a batch. */
export interface SqsCalls {
  send(bodies: readonly string[]): Promise<unknown>;
  /** Their receipt handles; waits up to so many seconds when there is nothing. */
  receive(most: number, waitSeconds: number): Promise<string[]>;
  delete(handles: readonly string[]): Promise<unknown>;
}

/** Sends one request, and gives what it was answered. */
type Call = (action: keyof typeof commands, input: object) => Promise<unknown>;

/** All of them are sent in the same way, whatever their types are. */
const commands = {
  SendMessage: SendMessageCommand,
  SendMessageBatch: SendMessageBatchCommand,
  ReceiveMessage: ReceiveMessageCommand,
  DeleteMessage: DeleteMessageCommand,
  DeleteMessageBatch: DeleteMessageBatchCommand,
};

/** Through the AWS SDK: what users do. It takes more processor time for a call than a server does. */
export function sdkCalls(endpoint: string, queueUrl: string, sockets: number): SqsCalls {
  const httpAgent = new Agent({ keepAlive: true, maxSockets: sockets });
  const client = new SQSClient({
    endpoint,
    region: "us-east-1",
    credentials: key,
    maxAttempts: 1,
    requestHandler: { httpAgent },
  });
  return callsBy(
    (action, input) => client.send(new (commands[action] as typeof SendMessageCommand)(input as never)),
    queueUrl,
  );
}

/**
 * The same requests, signed and sent with as little work as possible: what the server can do when its clients have
 * machines of their own.
 */
export function lightCalls(endpoint: string, queueUrl: string, sockets: number): SqsCalls {
  return callsBy(signedPoster(endpoint, sockets), queueUrl);
}

function callsBy(call: Call, QueueUrl: string): SqsCalls {
  return {
    send(bodies) {
      if (bodies.length === 1) return call("SendMessage", { QueueUrl, MessageBody: bodies[0] });
      return call("SendMessageBatch", {
        QueueUrl,
        Entries: bodies.map((MessageBody, i) => ({ Id: String(i), MessageBody })),
      });
    },
    async receive(most, waitSeconds) {
      const answer = await call("ReceiveMessage", {
        QueueUrl,
        MaxNumberOfMessages: most,
        WaitTimeSeconds: waitSeconds,
      });
      const { Messages = [] } = answer as { readonly Messages?: readonly { readonly ReceiptHandle: string }[] };
      return Messages.map(({ ReceiptHandle }) => ReceiptHandle);
    },
    delete(handles) {
      if (handles.length === 1) return call("DeleteMessage", { QueueUrl, ReceiptHandle: handles[0] });
      return call("DeleteMessageBatch", {
        QueueUrl,
        Entries: handles.map((ReceiptHandle, i) => ({ Id: String(i), ReceiptHandle })),
      });
    },
  };
}

/** Signature Version 4 over the host, the date and the target, with the day's key made once. */
function signedPoster(endpoint: string, sockets: number): Call {
  const { hostname, port, host } = new URL(endpoint);
  const agent = new Agent({ keepAlive: true, maxSockets: sockets });
  const date = new Date().toISOString().replace(/[-:]|\.\d+/g, ""); // good for a quarter of an hour
  const scope = `${date.slice(0, 8)}/us-east-1/sqs/aws4_request`;
  const secret = scope
    .split("/")
    .reduce<string | Buffer>(
      (before, part) => createHmac("sha256", before).update(part).digest(),
      `AWS4${key.secretAccessKey}`,
    );
  const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
  return (action, input) => {
    const body = JSON.stringify(input);
    const target = `AmazonSQS.${action}`;
    const canonical = `POST\n/\n\nhost:${host}\nx-amz-date:${date}\nx-amz-target:${target}\n\nhost;x-amz-date;x-amz-target\n${sha256(body)}`;
    const signature = createHmac("sha256", secret)
      .update(`AWS4-HMAC-SHA256\n${date}\n${scope}\n${sha256(canonical)}`)
      .digest("hex");
    const headers = {
      host,
      "content-type": "application/x-amz-json-1.0",
      "content-length": Buffer.byteLength(body),
      "x-amz-date": date,
      "x-amz-target": target,
      authorization: `AWS4-HMAC-SHA256 Credential=${key.accessKeyId}/${scope}, SignedHeaders=host;x-amz-date;x-amz-target, Signature=${signature}`,
    };
    return answered(request({ hostname, port, method: "POST", path: "/", agent, headers }), body);
  };
}

/** What a request with this body is answered; fails when that is not a good one. */
export function answered(posted: ReturnType<typeof request>, body: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    posted.on("error", reject);
    posted.on("response", (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      response.on("end", () => {
        if (response.statusCode === 200) resolve(text === "" ? undefined : JSON.parse(text));
        else reject(new Error(`answered ${response.statusCode}: ${text.slice(0, 200)}`));
      });
    });
    posted.end(body);
  });
}
