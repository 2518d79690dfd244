import {
  ChangeMessageVisibilityCommand,
  CreateQueueCommand,
  DeleteMessageCommand,
  type Message,
  ReceiveMessageCommand,
  SendMessageCommand,
} from "@aws-sdk/client-sqs";
import { describe, expect, it } from "vitest";
import { useDatabase } from "../../support/database.js";
import { newName, useSqs } from "../../support/sqs.js";
import { randomFrom } from "../../support/steps.js";

const db = useDatabase();
const sqs = useSqs(db);

/** A message as AWS has it: it may go when it is visible, and nobody before it in its group is invisible. */
interface Known {
  readonly body: string;
  readonly group: string;
  visibleAt: number;
}

const margin = 0.4;

/**
 * A FIFO queue, and what AWS would do with it: groups in the order in which their first message became visible, each as
 * far as it goes.
 */
class Fifo {
  #now = 0;
  #messages: Known[] = [];
  #handles = new Map<string, string>();
  #sent = 0;

  private constructor(private readonly url: string) {}

  static async create(): Promise<Fifo> {
    const Attributes = { FifoQueue: "true", ContentBasedDeduplication: "true", VisibilityTimeout: "30" };
    return new Fifo(
      (await sqs.client.send(new CreateQueueCommand({ QueueName: newName(".fifo"), Attributes }))).QueueUrl!,
    );
  }

  get inFlight(): string[] {
    return this.#messages
      .filter(({ body, visibleAt }) => this.#handles.has(body) && visibleAt > this.#now + 1 + 5 * margin)
      .map(({ body }) => body);
  }

  /** Time passes, to a moment at which nothing becomes visible, so that the time a request takes does not matter. */
  async pass(seconds: number): Promise<void> {
    let step = seconds;
    do {
      await db.moveClock(step);
      step = 0.5;
      const [row] = await db.sql<{ now: number }>("select date_part('epoch', clock_now()) as now");
      this.#now = row!.now;
    } while (this.#messages.some(({ visibleAt }) => Math.abs(visibleAt - this.#now) < margin));
  }

  async send(group: string): Promise<string> {
    await this.pass(1);
    const body = `${group}-${(this.#sent += 1)}`;
    await sqs.client.send(new SendMessageCommand({ QueueUrl: this.url, MessageBody: body, MessageGroupId: group }));
    this.#messages.push({ body, group, visibleAt: this.#now });
    return body;
  }

  /** What came, after a look that it is what AWS would have given. */
  async receive(most: number, seconds = 30): Promise<string[]> {
    await this.pass(1);
    const before = this.#messages
      .map(({ body, visibleAt }) => `${body}:${(visibleAt - this.#now).toFixed(3)}`)
      .join(" ");
    const wanted = this.#deliver(most, seconds);
    const { Messages = [] } = await sqs.client.send(
      new ReceiveMessageCommand({ QueueUrl: this.url, MaxNumberOfMessages: most, VisibilityTimeout: seconds }),
    );
    const got = Messages.map(({ Body }: Message) => Body!);
    expect(got, `of ${before}`).toEqual(wanted);
    for (const { Body, ReceiptHandle } of Messages) this.#handles.set(Body!, ReceiptHandle!);
    return got;
  }

  #deliver(most: number, seconds: number): string[] {
    const groups = new Map<string, Known[]>();
    for (const message of this.#messages) groups.set(message.group, [...(groups.get(message.group) ?? []), message]);
    const given = [...groups.values()]
      .sort(([a], [b]) => a!.visibleAt - b!.visibleAt)
      .flatMap((messages) => {
        const end = messages.findIndex(({ visibleAt }) => visibleAt > this.#now);
        return end < 0 ? messages : messages.slice(0, end);
      })
      .slice(0, most);
    // in the order in which they were given out
    for (const [i, message] of given.entries()) message.visibleAt = this.#now + seconds + i / 1e6;
    return given.map(({ body }) => body);
  }

  async remove(body: string): Promise<void> {
    await this.pass(1);
    await sqs.client.send(new DeleteMessageCommand({ QueueUrl: this.url, ReceiptHandle: this.#handles.get(body) }));
    this.#messages = this.#messages.filter((message) => message.body !== body);
  }

  async hide(body: string, seconds: number): Promise<void> {
    await this.pass(1);
    await sqs.client.send(
      new ChangeMessageVisibilityCommand({
        QueueUrl: this.url,
        ReceiptHandle: this.#handles.get(body),
        VisibilityTimeout: seconds,
      }),
    );
    this.#messages.find((message) => message.body === body)!.visibleAt = this.#now + seconds;
  }
}

async function withMessages(groups: string): Promise<Fifo> {
  const queue = await Fifo.create();
  for (const group of groups) await queue.send(group);
  return queue;
}

describe("the order of FIFO queues is that of AWS [sqs 53]", () => {
  it("groups in the order of their first messages, each in its own order", async () => {
    const queue = await withMessages("abab");
    expect(await queue.receive(10)).toEqual(["a-1", "a-3", "b-2", "b-4"]);
  });

  it("the visibility timeout of one message holds its whole group", async () => {
    const queue = await withMessages("ab");
    expect(await queue.receive(1)).toEqual(["a-1"]);
    await queue.send("a");
    expect(await queue.receive(10)).toEqual(["b-2"]);
    expect(await queue.receive(10)).toEqual([]);
    await queue.pass(30);
    expect(await queue.receive(10)).toEqual(["a-1", "a-3", "b-2"]);
  });

  it("a timeout of zero holds nobody", async () => {
    const queue = await withMessages("aab");
    for (let i = 0; i < 3; i += 1) await queue.receive(2, 0);
    await queue.receive(10, 0);
  });

  it("after the timeout was ended by zero, what was received goes on", async () => {
    const queue = await withMessages("aabbc");
    expect(await queue.receive(2)).toEqual(["a-1", "a-2"]);
    await queue.hide("a-1", 0);
    await queue.hide("a-2", 0);
    expect(await queue.receive(2)).toEqual(["b-3", "b-4"]);
    expect(await queue.receive(10)).toEqual(["c-5", "a-1", "a-2"]);
  });

  it("after the timeout was changed", async () => {
    const queue = await withMessages("aab");
    expect(await queue.receive(1)).toEqual(["a-1"]);
    await queue.hide("a-1", 5);
    expect(await queue.receive(10)).toEqual(["b-3"]);
    await queue.pass(5);
    expect(await queue.receive(10)).toEqual(["a-1", "a-2"]);
  });

  it("after a message was deleted, its group has the place of the next", async () => {
    const queue = await withMessages("abac");
    expect(await queue.receive(1)).toEqual(["a-1"]);
    await queue.remove("a-1");
    expect(await queue.receive(1)).toEqual(["b-2"]);
    expect(await queue.receive(1)).toEqual(["a-3"]);
    expect(await queue.receive(1)).toEqual(["c-4"]);
  });

  it("after some of what was received was deleted", async () => {
    const queue = await withMessages("aaaab");
    expect(await queue.receive(3)).toEqual(["a-1", "a-2", "a-3"]);
    await queue.remove("a-1");
    await queue.remove("a-3");
    expect(await queue.receive(10)).toEqual(["b-5"]);
    await queue.remove("a-2");
    expect(await queue.receive(10)).toEqual(["a-4"]);
  });

  it("in order again after a timeout", async () => {
    const queue = await withMessages("aaa");
    expect(await queue.receive(1)).toEqual(["a-1"]);
    await queue.pass(31);
    expect(await queue.receive(2)).toEqual(["a-1", "a-2"]);
    await queue.pass(31);
    expect(await queue.receive(3)).toEqual(["a-1", "a-2", "a-3"]);
  });

  it("a message whose timeout was prolonged lets those before it go", async () => {
    const queue = await withMessages("aaa");
    expect(await queue.receive(3, 5)).toEqual(["a-1", "a-2", "a-3"]);
    await queue.hide("a-2", 100);
    await queue.pass(5);
    expect(await queue.receive(10)).toEqual(["a-1"]);
    expect(await queue.receive(10)).toEqual([]);
  });

  it.each([1, 2, 3, 4])("whatever is done, in any order (seed %i)", async (seed) => {
    const below = randomFrom(seed);
    const queue = await Fifo.create();
    for (let step = 0; step < 60; step += 1) {
      const held = queue.inFlight;
      const one = held[below(Math.max(held.length, 1))];
      const what = below(10);
      if (what < 4) await queue.send("abcd"[below(4)]!);
      else if (what < 7) await queue.receive(1 + below(5), [0, 3, 30][below(3)]);
      else if (what === 7) await queue.pass(below(20));
      else if (one !== undefined && what === 8) await queue.remove(one);
      else if (one !== undefined) await queue.hide(one, [0, 4, 60][below(3)]!);
    }
  });
});
