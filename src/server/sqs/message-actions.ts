import type { JobId } from "../../db/types.js";
import type { SqsQueue } from "./attributes.js";
import { checkEntries, eachEntry } from "./batch.js";
import type { ActionHandlers } from "./context.js";
import { type Prepared, checkFifo, prepare, receivedAs, sentAs, showEach, sizeOf, wantedBy } from "./message.js";
import { arnOf, externalName } from "./names.js";
import type { SqsService } from "./service.js";
import { SqsError, invalidParameter, missingParameter } from "./wire/errors.js";
import type { FailedEntry, Message, SentEntry } from "./wire/model.js";

const maxBatchBytes = 1_048_576;

type MessageActions = Pick<
  ActionHandlers,
  | "ChangeMessageVisibility"
  | "ChangeMessageVisibilityBatch"
  | "DeleteMessage"
  | "DeleteMessageBatch"
  | "ReceiveMessage"
  | "SendMessage"
  | "SendMessageBatch"
>;

/** Actions on messages. `onDelivery` is told what a receiver is about to get, and how to give it back. */
export function messageActions(
  service: SqsService,
  onDelivery: (messages: readonly Message[], giveBack: () => Promise<void>) => void,
): MessageActions {
  return {
    async SendMessage(input, context) {
      const queue = await service.queueOf(input, context);
      const [sent] = await service.send(queue, [prepare(queue, input, context.traceHeader, false)]);
      return sentAs(queue, input, idOf(sent!));
    },

    async SendMessageBatch(input, context) {
      const queue = await service.queueOf(input, context);
      checkEntries("SendMessageBatchRequestEntry", input.Entries);
      const bytes = input.Entries.reduce((sum, entry) => sum + sizeOf(entry), 0);
      if (bytes > maxBatchBytes) {
        throw new SqsError(
          "BatchRequestTooLong",
          `Batch requests cannot be longer than ${maxBatchBytes} bytes. You have sent ${bytes} bytes.`,
        );
      }
      for (const entry of input.Entries) checkFifo(queue, entry, true);
      const failed: FailedEntry[] = [];
      const good: { readonly entry: (typeof input.Entries)[number]; readonly prepared: Prepared }[] = [];
      for (const entry of input.Entries) {
        try {
          good.push({ entry, prepared: prepare(queue, entry, context.traceHeader, true) });
        } catch (error) {
          if (!(error instanceof SqsError)) throw error;
          failed.push(error.entry(entry.Id));
        }
      }
      const results = await service.send(
        queue,
        good.map(({ prepared }) => prepared),
      );
      const sent: SentEntry[] = [];
      for (const [i, { entry }] of good.entries()) {
        const result = results[i]!;
        if (result.status === "fulfilled") sent.push({ Id: entry.Id, ...sentAs(queue, entry, result.value) });
        else failed.push(service.refusal(result.reason).entry(entry.Id));
      }
      return { Successful: sent, Failed: failed };
    },

    async ReceiveMessage(input, context) {
      const queue = await service.queueOf(input, context);
      const {
        MaxNumberOfMessages: most = 1,
        WaitTimeSeconds: waitSeconds = queue.waitSeconds,
        VisibilityTimeout: seconds = queue.visibilitySeconds,
      } = input;
      if (most < 1 || most > 10)
        throw outOfRange("MaxNumberOfMessages", most, "Must be between 1 and 10, if provided.");
      if (waitSeconds < 0 || waitSeconds > 20)
        throw outOfRange("WaitTimeSeconds", waitSeconds, "Must be >= 0 and <= 20, if provided.");
      checkVisibility(seconds);
      if (input.ReceiveRequestAttemptId !== undefined) checkAttemptId(queue, input.ReceiveRequestAttemptId);
      service.heed(context.stopping);
      const received = await service.receive(
        queue,
        { most, visibilitySeconds: seconds, waitSeconds, signal: context.signal },
        input.ReceiveRequestAttemptId,
      );
      const wanted = wantedBy(input);
      const ids = received.map(({ id }) => id);
      const handleOf = await service.receipts.writer(queue.name, ids).catch(async (error: unknown) => {
        await service.release(queue.queue, received);
        throw error;
      });
      const arnOfSource = (source: string) => arnOf(externalName(source), context);
      const { messages, records, broken } = showEach(received, (record) =>
        receivedAs(queue, record, handleOf(record), context.account, arnOfSource, wanted),
      );
      for (const { record, error } of broken) await service.putAside(queue.queue, record, error);
      // Whoever named the attempt asks again when the answer got lost, and may have asked already.
      if (messages.length > 0 && input.ReceiveRequestAttemptId === undefined)
        onDelivery(messages, () => service.release(queue.queue, records));
      return { Messages: messages };
    },

    async DeleteMessage(input, context) {
      const queue = await service.queueOf(input, context);
      await remove(queue, input);
    },

    async DeleteMessageBatch(input, context) {
      const queue = await service.queueOf(input, context);
      checkEntries("DeleteMessageBatchRequestEntry", input.Entries);
      return eachEntry(
        input.Entries,
        (entry) => remove(queue, entry),
        (error) => service.refusal(error),
      );
    },

    async ChangeMessageVisibility(input, context) {
      const queue = await service.queueOf(input, context);
      await hide(queue, input, input.VisibilityTimeout);
    },

    async ChangeMessageVisibilityBatch(input, context) {
      const queue = await service.queueOf(input, context);
      checkEntries("ChangeMessageVisibilityBatchRequestEntry", input.Entries);
      return eachEntry(
        input.Entries,
        (entry) => hide(queue, entry, entry.VisibilityTimeout),
        (error) => service.refusal(error),
      );
    },
  };

  async function remove(queue: SqsQueue, { ReceiptHandle: handle }: Handled): Promise<void> {
    const { id, token } = await service.receipts.read(queue.name, handle);
    if ((await service.delete(queue.queue, { id, token, strict: queue.isFifo })) === "expired") {
      throw invalidHandle(handle, "The receipt handle has expired.");
    }
  }

  async function hide(queue: SqsQueue, { ReceiptHandle: handle }: Handled, seconds: number | undefined): Promise<void> {
    if (seconds === undefined) throw missingParameter("VisibilityTimeout");
    checkVisibility(seconds);
    const { id, token, receivedAt } = await service.receipts.read(queue.name, handle);
    const outcome = await service.hide({ id, token, strict: queue.isFifo, seconds, receivedAt });
    if (outcome === "gone")
      throw invalidHandle(handle, "Message does not exist or is not available for visibility timeout change.");
    if (outcome === "beyond")
      throw outOfRange(
        "VisibilityTimeout",
        seconds,
        "Total VisibilityTimeout for the message is beyond the limit [43200 seconds].",
      );
    if (seconds === 0) service.wake(queue.queue);
    else service.reception(queue.queue).expect(seconds);
  }
}

interface Handled {
  readonly ReceiptHandle: string;
}

function idOf(result: PromiseSettledResult<JobId>): JobId {
  if (result.status === "rejected") throw result.reason;
  return result.value;
}

const outOfRange = (name: string, value: number, reason: string) =>
  invalidParameter(`Value ${value} for parameter ${name} is invalid. Reason: ${reason}`);
const invalidHandle = (handle: string, reason: string) =>
  invalidParameter(`Value ${handle} for parameter ReceiptHandle is invalid. Reason: ${reason}`);

function checkVisibility(seconds: number): void {
  if (seconds < 0 || seconds > 43_200)
    throw outOfRange("VisibilityTimeout", seconds, "Must be between 0 and 43200, if provided.");
}

function checkAttemptId(queue: SqsQueue, id: string): void {
  if (!queue.isFifo)
    throw invalidParameter(
      `Value ${id} for parameter ReceiveRequestAttemptId is invalid. Reason: The request includes a parameter that is not valid for this queue type.`,
    );
  if (!/^[\x21-\x7e]{1,128}$/.test(id)) {
    throw invalidParameter(
      `Value ${id} for parameter ReceiveRequestAttemptId is invalid. Reason: ReceiveRequestAttemptId can only include alphanumeric and punctuation characters. 1 to 128 in length.`,
    );
  }
}
