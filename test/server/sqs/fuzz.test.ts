import { request as httpRequest } from "node:http";
import { describe, expect, it, onTestFinished } from "vitest";
import { type RunningServer, startServer } from "../../../src/server/server.js";
import type { WireRequest } from "../../../src/server/sqs/wire/request.js";
import { useDatabase } from "../../support/database.js";
import { bender } from "../sqs-wire/bent.js";
import { jsonRequest } from "../sqs-wire/requests.js";

const db = useDatabase();
const seed = Number(process.env["FUZZ_SEED"] ?? Date.now() % 1_000_000);
const ms = Number(process.env["FUZZ_SECONDS"] ?? 2) * 1000;

interface Started {
  readonly server: RunningServer;
  /** What it blamed itself for. */
  readonly faults: unknown[];
  /** The status of the answer; undefined when there was none in time, or the request could not be sent at all. */
  readonly ask: (
    request: Pick<WireRequest, "method" | "url" | "headers" | "body">,
    patienceMs?: number,
  ) => Promise<number | undefined>;
}

const start = async (): Promise<Started> => {
  const faults: unknown[] = [];
  const log = (level: string, message: string, facts = {}) => void (level === "error" && faults.push([message, facts]));
  const server = await startServer({
    connection: db.url,
    port: 0,
    graceMs: 1000,
    sqs: { anyKey: true, refuseRecentNames: false },
    log,
  });
  onTestFinished(() => server.stop());
  const { port, host } = new URL(server.url);
  const ask: Started["ask"] = ({ method, url, headers, body }, patienceMs = 10_000) =>
    new Promise((resolve) => {
      try {
        const plain = Object.fromEntries(Object.entries(headers).map(([name, values]) => [name, values?.join(",")]));
        const sent = httpRequest({ port, method, path: url, headers: { ...plain, host } }, (answer) => {
          answer.resume();
          answer.on("end", () => resolve(answer.statusCode));
        });
        sent.on("error", () => resolve(undefined));
        sent.setTimeout(patienceMs, () => sent.destroy());
        sent.end(body);
      } catch {
        resolve(undefined);
      }
    });
  return { server, faults, ask };
};

describe(`the whole endpoint (FUZZ_SEED=${seed})`, () => {
  it("never blames itself for what a client sends [#19]", async () => {
    const { faults, ask } = await start();
    const { bentRequest, oneOf } = bender(seed);
    for (const input of [{ QueueName: "q" }, { QueueName: "q.fifo", Attributes: { FifoQueue: "true" } }])
      await ask(jsonRequest("CreateQueue", input));
    const wrong: unknown[] = [];
    let answered = 0;
    for (const end = performance.now() + ms; performance.now() < end;) {
      const some = Array.from({ length: 16 }, () => {
        const bent = bentRequest();
        return { ...bent, url: bent.url.replace("/1/q", oneOf(["/1/q", "/1/q.fifo"])) };
      });
      const statuses = await Promise.all(some.map((one) => ask(one, 500))); // some wait for messages
      answered += statuses.filter((status) => status !== undefined).length;
      wrong.push(
        ...some
          .filter((_, i) => statuses[i]! >= 500)
          .map(({ url, headers, body }) => ({ url, headers, body: body.toString() })),
      );
    }
    expect({ wrong, faults }).toEqual({ wrong: [], faults: [] });
    expect(answered).toBeGreaterThan(50);
  });

  const deep = `{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
  /** Deep, though for each bracket that opens one closes, in a text. */
  const hidden = `{"a":${'["]\\\\","]\\"]",'.repeat(50_000)}1${"]".repeat(50_000)}}`;
  const arn = "arn:aws:sqs:us-east-1:000000000000:q";
  const token = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64");
  const odd = ["a\0b", "\uD800", "é".repeat(1000), "💥", "", " ", "__proto__", "null", "%", "'"];
  it.each<readonly [string, readonly unknown[]]>([
    [
      "CreateQueue",
      odd.map((text) => ({ QueueName: `n${text}`, Attributes: { KmsMasterKeyId: text }, tags: { [text]: text } })),
    ],
    ["CreateQueue", odd.map((text, i) => ({ QueueName: `odd-${i}`, Attributes: { KmsMasterKeyId: text } }))],
    ["CreateQueue", odd.map((text, i) => ({ QueueName: `tags-${i}`, tags: { [text]: text } }))],
    ["GetQueueUrl", odd.map((QueueName) => ({ QueueName }))],
    ["ListQueues", odd.map((QueueNamePrefix) => ({ QueueNamePrefix }))],
    [
      "ListQueues",
      [...odd, token({ after: "\0" }), token({ after: "\uD800" }), token(null), token(5)].map((NextToken) => ({
        NextToken,
      })),
    ],
    ["TagQueue", odd.map((text) => ({ QueueUrl: "q", Tags: { [text]: text } }))],
    ["UntagQueue", odd.map((text) => ({ QueueUrl: "q", TagKeys: [text] }))],
    [
      "SetQueueAttributes",
      [...odd, deep, "{}", "[]", `{"Statement":[null,5,"x",{"Sid":5}]}`, `{"Statement":5}`].map((Policy) => ({
        QueueUrl: "q",
        Attributes: { Policy },
      })),
    ],
    [
      "AddPermission",
      [...odd, "label", "label"].map((Label) => ({
        QueueUrl: "q",
        Label,
        AWSAccountIds: ["111111111111"],
        Actions: ["SendMessage"],
      })),
    ],
    ["RemovePermission", [...odd, "label"].map((Label) => ({ QueueUrl: "q", Label }))],
    [
      "SetQueueAttributes",
      [
        deep,
        `{"deadLetterTargetArn":"\\u0000","deadLetterTargetArn":"${arn}2","maxReceiveCount":1}`,
        `{"maxReceiveCount":"\\ud800","deadLetterTargetArn":"${arn}2","maxReceiveCount":1}`,
        `{"deadLetterTargetArn":{},"maxReceiveCount":1}`,
        `{"deadLetterTargetArn":"${arn}2","maxReceiveCount":{}}`,
        `{"deadLetterTargetArn":"${arn}2","maxReceiveCount":1e3}`,
      ].map((RedrivePolicy) => ({ QueueUrl: "q", Attributes: { RedrivePolicy } })),
    ],
    ["DeleteQueue", [{ QueueUrl: "q2" }]],
    [
      "SetQueueAttributes",
      [deep, `{"redrivePermission":"byQueue","sourceQueueArns":["${arn}\\u0000"]}`].map((RedriveAllowPolicy) => ({
        QueueUrl: "q",
        Attributes: { RedriveAllowPolicy },
      })),
    ],
    [
      "SendMessage",
      odd.map((text) => ({
        QueueUrl: "q.fifo",
        MessageBody: text,
        MessageGroupId: text,
        MessageDeduplicationId: text,
      })),
    ],
    [
      "SendMessage",
      odd.map((text) => ({
        QueueUrl: "q",
        MessageBody: "m",
        MessageAttributes: { [text]: { DataType: `String.${text}`, StringValue: text } },
      })),
    ],
    [
      "SendMessage",
      [deep, `[${deep}]`, hidden, `{"a":"\\ud800"}`, `{"\\u0000":1}`].map((MessageBody) => ({
        QueueUrl: "q",
        MessageBody,
      })),
    ],
    [
      "SendMessageBatch",
      odd.map((text) => ({
        QueueUrl: "q",
        Entries: [
          { Id: text, MessageBody: text },
          { Id: "b", MessageBody: text },
        ],
      })),
    ],
    [
      "ReceiveMessage",
      odd.map((text) => ({
        QueueUrl: "q.fifo",
        WaitTimeSeconds: 0,
        ReceiveRequestAttemptId: text,
        MessageAttributeNames: [text],
        AttributeNames: [text],
      })),
    ],
    [
      "ReceiveMessage",
      [
        {
          QueueUrl: "q",
          WaitTimeSeconds: 0,
          MaxNumberOfMessages: 10,
          MessageAttributeNames: ["All"],
          AttributeNames: ["All"],
        },
      ],
    ],
    ["DeleteMessage", odd.map((ReceiptHandle) => ({ QueueUrl: "q", ReceiptHandle }))],
    ["ChangeMessageVisibility", odd.map((ReceiptHandle) => ({ QueueUrl: "q", ReceiptHandle, VisibilityTimeout: 1 }))],
    ["StartMessageMoveTask", odd.map((text) => ({ SourceArn: arn + text, DestinationArn: text }))],
    ["ListMessageMoveTasks", odd.map((text) => ({ SourceArn: arn + text }))],
    [
      "CancelMessageMoveTask",
      [...odd, token({ taskId: "\0", sourceArn: arn }), token(null)].map((TaskHandle) => ({ TaskHandle })),
    ],
    ["GetQueueAttributes", odd.map((QueueUrl) => ({ QueueUrl, AttributeNames: ["All"] }))],
  ])("%s is done or refused, whatever its texts are [#19]", async (action, inputs) => {
    const { faults, ask } = await start();
    for (const [name, Attributes] of [
      ["q", {}],
      ["q2", {}],
      ["q.fifo", { FifoQueue: "true" }],
    ] as const)
      await ask(jsonRequest("CreateQueue", { QueueName: name, Attributes }));
    for (const input of inputs) {
      const status = await ask(jsonRequest(action, input));
      expect(status, JSON.stringify(input).slice(0, 300)).toBeLessThan(500);
    }
    expect(faults).toEqual([]);
  });

  it("permissions are added to any policy that is kept [#19]", async () => {
    const { faults, ask } = await start();
    expect(await ask(jsonRequest("CreateQueue", { QueueName: "q" }))).toBe(200);
    const policies = [
      `{"Statement":[null,5,"x",[],{"Sid":5}]}`,
      `{"Statement":null}`,
      `{"Statement":"x"}`,
      `{"Statement":{"Sid":"a"}}`,
      `{"__proto__":1}`,
    ];
    for (const Policy of policies) {
      expect(await ask(jsonRequest("SetQueueAttributes", { QueueUrl: "q", Attributes: { Policy } })), Policy).toBe(200);
      const permission = { QueueUrl: "q", Label: "label" };
      expect(
        await ask(jsonRequest("AddPermission", { ...permission, AWSAccountIds: ["111111111111"], Actions: ["*"] })),
        Policy,
      ).toBe(200);
      expect(await ask(jsonRequest("RemovePermission", permission)), Policy).toBe(200);
    }
    expect(await ask(jsonRequest("SetQueueAttributes", { QueueUrl: "q", Attributes: { Policy: deep } }))).toBe(400);
    expect(faults).toEqual([]);
  });

  it("a policy that PostgreSQL could not read again is refused, and its target can be deleted [#19]", async () => {
    const { faults, ask } = await start();
    for (const QueueName of ["q", "q2"]) await ask(jsonRequest("CreateQueue", { QueueName }));
    for (const odd of ["\\u0000", "\\ud800"]) {
      const RedrivePolicy = `{"deadLetterTargetArn":"${odd}","deadLetterTargetArn":"${arn}2","maxReceiveCount":1}`;
      expect(await ask(jsonRequest("SetQueueAttributes", { QueueUrl: "q", Attributes: { RedrivePolicy } }))).toBe(400);
      expect(await ask(jsonRequest("DeleteQueue", { QueueUrl: "q2" }))).toBe(200);
      expect(await ask(jsonRequest("CreateQueue", { QueueName: "q2" }))).toBe(200);
    }
    expect(faults).toEqual([]);
  });
});
