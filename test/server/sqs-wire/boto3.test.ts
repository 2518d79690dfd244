import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SqsError } from "../../../src/server/sqs/wire/errors.js";
import { type Action, actions } from "../../../src/server/sqs/wire/model.js";
import { CannedServer, keys } from "./canned-server.js";
import { plain, samples } from "./samples.js";

/** Every Python here that has boto3. Up to 1.28 it speaks Query, from then on JSON. */
const pythons = ["python3", "/usr/bin/python3"]
  .map((python) => ({
    python,
    version: String(spawnSync(python, ["-c", "import boto3; print(boto3.__version__, end='')"]).stdout ?? ""),
  }))
  .filter(({ version }, index, all) => version !== "" && all.findIndex((other) => other.version === version) === index);

describe.skipIf(pythons.length === 0).each(pythons)("boto3 $version", ({ python, version }) => {
  const protocol = version.localeCompare("1.28.50", undefined, { numeric: true }) < 0 ? "query" : "json";
  const server = new CannedServer({ keys });
  let process: ChildProcess;
  let lines: AsyncIterator<string>;
  beforeAll(async () => {
    await server.start();
    const { accessKeyId, secretAccessKey } = keys[0]!;
    process = spawn(
      python,
      [path.join(import.meta.dirname, "boto3_calls.py"), server.url, accessKeyId, secretAccessKey],
      {
        stdio: ["pipe", "pipe", "inherit"],
      },
    );
    lines = createInterface(process.stdout!)[Symbol.asyncIterator]();
  });
  afterAll(async () => {
    const gone = once(process, "exit");
    process.stdin!.end();
    await gone;
    await server.stop();
  });

  async function call(action: Action, input: unknown): Promise<Record<string, unknown>> {
    process.stdin!.write(`${JSON.stringify({ action, input: plain(input) })}\n`);
    return JSON.parse((await lines.next()).value as string) as Record<string, unknown>;
  }

  it.for(Object.keys(actions) as Action[])("%s: signed, input and output arrive whole", async (action, context) => {
    const { input, output } = samples[action];
    server.reply = output;
    const sent = known(action, input);
    const answer = await call(action, sent);
    // Old ones do not know the move tasks.
    context.skip("unknown" in answer);
    expect(answer).toEqual({ output: plain(output ?? {}) });
    expect(server.lastCall).toMatchObject({ action, protocol, account: "123456789012", region: "eu-central-1" });
    expect(plain(server.lastCall.input)).toEqual(plain(sent));
  });

  /** Without what the old model has not yet. */
  function known(action: Action, input: object): object {
    if (protocol === "json" || action !== "ReceiveMessage") return input;
    return { ...input, MessageSystemAttributeNames: undefined };
  }

  it("leaves out what is empty, and takes an empty list", async () => {
    server.reply = { Successful: [], Failed: [] };
    expect(await call("SendMessageBatch", { QueueUrl: "q", Entries: [] })).toEqual({ output: {} });
    expect(server.lastCall.input).toEqual({ QueueUrl: "q", Entries: [] });
    server.reply = { Messages: [] };
    expect(await call("ReceiveMessage", { QueueUrl: "q" })).toEqual({ output: {} });
  });

  it("throws errors under their Query codes, modelled ones as their classes", async () => {
    server.reply = new SqsError("QueueDoesNotExist");
    const wsdl =
      protocol === "query"
        ? "The specified queue does not exist for this wsdl version."
        : "The specified queue does not exist.";
    expect(await call("PurgeQueue", { QueueUrl: "q" })).toMatchObject({
      class: "QueueDoesNotExist",
      status: 400,
      error: { Code: "AWS.SimpleQueueService.NonExistentQueue", Message: wsdl, Type: "Sender" },
    });
    server.reply = new SqsError("InvalidParameterValueException", 'Value "<&>" is wrong.\r\n');
    expect(await call("PurgeQueue", { QueueUrl: "q" })).toMatchObject({
      status: 400,
      error: { Code: "InvalidParameterValue", Message: 'Value "<&>" is wrong.\r\n' },
    });
    server.reply = new Error("none of ours");
    expect(await call("PurgeQueue", { QueueUrl: "q" })).toMatchObject({
      status: 500,
      error: { Code: "InternalFailure", Type: "Receiver" },
    });
    expect(await call("SendMessage", { QueueUrl: "q" })).toMatchObject({
      error: { Code: "MissingParameter", Message: "The request must contain the parameter MessageBody." },
    });
  });
});
