import {
  CreateQueueCommand,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
} from "@aws-sdk/client-sqs";
import { describe, expect, it } from "vitest";
import { useDatabase } from "../../support/database.js";
import { newName, useSqs } from "../../support/sqs.js";

const db = useDatabase();
const sqs = useSqs(db);

/** A FIFO queue, and somebody's open transaction that has sent a message to it. */
async function heldQueue(): Promise<{ readonly url: string; readonly rollback: () => Promise<unknown> }> {
  const name = newName(".fifo");
  const { QueueUrl: url } = await sqs.client.send(
    new CreateQueueCommand({ QueueName: name, Attributes: { FifoQueue: "true" } }),
  );
  const holder = await db.connect();
  await holder.query("begin");
  const options = { queue: name, group: "g", fingerprint: "held", fingerprintMode: "window", fingerprintSeconds: 300 };
  await holder.query("select millrace.job_enqueue('message', '\"other\"', $1)", [JSON.stringify(options)]);
  return { url: url!, rollback: () => holder.query("rollback") };
}

const bodies = async (QueueUrl: string): Promise<(string | undefined)[]> => {
  const { Messages = [] } = await sqs.client.send(new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10 }));
  return Messages.map(({ Body }) => Body);
};

describe("a fingerprint that somebody's open transaction holds", () => {
  it("is waited for, but not for ever", { timeout: 60_000 }, async () => {
    const { url, rollback } = await heldQueue();
    const send = () =>
      sqs.client.send(
        new SendMessageCommand({
          QueueUrl: url,
          MessageBody: "m",
          MessageGroupId: "g",
          MessageDeduplicationId: "held",
        }),
      );
    await expect(send()).rejects.toMatchObject({ name: "ServiceUnavailable", $metadata: { httpStatusCode: 503 } });
    await rollback();
    await send();
    expect(await bodies(url)).toEqual(["m"]);
  });

  it("is in the way of no other message of its batch, whose order stays", { timeout: 60_000 }, async () => {
    const { url, rollback } = await heldQueue();
    const Entries = ["a", "held", "b", "c"].map((id) => ({
      Id: id,
      MessageBody: id,
      MessageGroupId: "g",
      MessageDeduplicationId: id,
    }));
    const { Successful = [], Failed = [] } = await sqs.client.send(
      new SendMessageBatchCommand({ QueueUrl: url, Entries }),
    );
    expect(Successful.map(({ Id }) => Id)).toEqual(["a", "b", "c"]);
    expect(Failed).toMatchObject([{ Id: "held", Code: "ServiceUnavailable", SenderFault: false }]);
    await rollback();
    expect(await bodies(url)).toEqual(["a", "b", "c"]);
  });
});
