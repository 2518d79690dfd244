// One process full of clients: does what it is told as an argument, and prints how long that took.
import { Agent, request } from "node:http";
import { Millrace } from "../../src/client/with-workers.js";
import { payloads } from "../engine/measure.js";
import { type SqsCalls, answered, lightCalls, sdkCalls } from "./calls.js";

/** What a process of clients does. */
export type Task =
  /** Send `count` messages, `size` in a call; or receive and delete as many. */
  | {
      readonly act: "send" | "receive";
      readonly url: string;
      readonly queueUrl: string;
      readonly clients: number;
      readonly count: number;
      readonly size: number;
      /** With requests made by hand, instead of the AWS SDK. */
      readonly light?: boolean;
    }
  /** Enqueue one by one, through the client on a database, or through the HTTP API. */
  | {
      readonly act: "library" | "api";
      readonly url: string;
      readonly queue: string;
      readonly clients: number;
      readonly count: number;
    }
  /** Wait for messages that never come. */
  | {
      readonly act: "wait";
      readonly url: string;
      readonly queueUrls: readonly string[];
      readonly clients: number;
      readonly seconds: number;
    };

type QueueTask = Extract<Task, { act: "send" | "receive" }>;

/** What it took. */
export interface Taken {
  readonly seconds: number;
  /** Processor time of the clients themselves. */
  readonly cpuSeconds: number;
}

const task = JSON.parse(process.argv[2]!) as Task;
const bodies = payloads(1000).map((payload) => JSON.stringify(payload));
const warmUp = 1000;

const taken = await run(task);
console.log(JSON.stringify(taken));
process.exit(0);

async function run(given: Task): Promise<Taken> {
  switch (given.act) {
    case "send":
      return sending(given);
    case "receive":
      return receiving(given);
    case "wait":
      return waiting(given);
    default:
      return enqueueing(given);
  }
}

async function sending(given: QueueTask): Promise<Taken> {
  const { clients, count, size } = given;
  const calls = callsOf(given);
  const send = (at: number): Promise<unknown> =>
    calls.send(Array.from({ length: size }, (_, i) => bodies[(at + i) % 1000]!));
  await together(clients, warmUp, size, send);
  return timed(() => together(clients, count, size, send));
}

/**
 * Until so many were deleted: what a client got is deleted before it asks again. The time ends with the last of them;
 * those who ask once more then, and wait for what never comes, are not waited for.
 */
async function receiving(given: QueueTask): Promise<Taken> {
  const { clients, count, size } = given;
  const calls = callsOf(given);
  let deleted = 0;
  const consume = async (most: number): Promise<void> => {
    while (deleted < most) {
      const handles = await calls.receive(size, 1);
      if (handles.length === 0) continue;
      await calls.delete(handles);
      deleted += handles.length;
    }
  };
  const consumers = (most: number): Promise<void>[] => Array.from({ length: clients }, () => consume(most));
  await Promise.all(consumers(warmUp));
  const before = deleted;
  const wanted = count - clients * size; // warming up may have taken that many more
  const taken = await timed(() => Promise.race(consumers(before + wanted)));
  return { ...taken, seconds: (taken.seconds * count) / (deleted - before) };
}

function callsOf({ url, queueUrl, clients, light = false }: QueueTask): SqsCalls {
  return (light ? lightCalls : sdkCalls)(url, queueUrl, clients);
}

async function enqueueing({
  act,
  url,
  queue,
  clients,
  count,
}: Extract<Task, { act: "library" | "api" }>): Promise<Taken> {
  const enqueue = act === "library" ? byLibrary(url, queue) : byApi(url, queue, clients);
  await together(clients, warmUp, 1, enqueue);
  return timed(() => together(clients, count, 1, enqueue));
}

function byLibrary(url: string, queue: string): (at: number) => Promise<unknown> {
  const mill = new Millrace({ connection: url });
  return (at) => mill.enqueue("message", JSON.parse(bodies[at % 1000]!), { queue });
}

function byApi(url: string, queue: string, clients: number): (at: number) => Promise<unknown> {
  const agent = new Agent({ keepAlive: true, maxSockets: clients });
  return (at) => {
    const body = `{"type":"message","queue":"${queue}","input":${bodies[at % 1000]}}`;
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    return answered(request(`${url}/api/v1/jobs`, { method: "POST", agent, headers }), body);
  };
}

async function waiting({ url, queueUrls, clients, seconds }: Extract<Task, { act: "wait" }>): Promise<Taken> {
  const queues = queueUrls.map((queueUrl) => sdkCalls(url, queueUrl, clients));
  return timed(() =>
    Promise.all(Array.from({ length: clients }, (_, i) => queues[i % queues.length]!.receive(1, seconds))),
  );
}

/** `count` things, so many of them in a call, by so many at once. */
async function together(
  clients: number,
  count: number,
  size: number,
  act: (at: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const one = async (): Promise<void> => {
    while (next < count) {
      const at = next;
      next += size;
      await act(at);
    }
  };
  await Promise.all(Array.from({ length: clients }, one));
}

async function timed(work: () => Promise<unknown>): Promise<Taken> {
  const cpu = process.cpuUsage();
  const began = performance.now();
  await work();
  const { user, system } = process.cpuUsage(cpu);
  return { seconds: (performance.now() - began) / 1000, cpuSeconds: (user + system) / 1e6 };
}
