import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { startServer } from "../../../src/server/server.js";
import { useDatabase } from "../../support/database.js";
import { startProxy } from "../../support/proxy.js";
import { newName, useSqs } from "../../support/sqs.js";
import { until } from "../../support/wait.js";

const db = useDatabase();
const sqs = useSqs(db);

interface Received {
  readonly Body: string;
  readonly ReceiptHandle: string;
  readonly Attributes: Readonly<Record<string, string>>;
}

/** One request, as light as it can be: a thousand of them are to be there at the same time. */
async function call(
  action: string,
  input: object,
  { url = sqs.server.url, signal = new AbortController().signal } = {},
) {
  const response = await fetch(url, {
    method: "POST",
    signal,
    headers: { "content-type": "application/x-amz-json-1.0", "x-amz-target": `AmazonSQS.${action}` },
    body: JSON.stringify(input),
  });
  const text = await response.text();
  return { status: response.status, body: (text === "" ? {} : JSON.parse(text)) as Record<string, any> };
}

const create = async (
  Attributes: Record<string, string> = {},
): Promise<{ readonly name: string; readonly url: string }> => {
  const name = newName(Attributes["FifoQueue"] ? ".fifo" : "");
  return { name, url: (await call("CreateQueue", { QueueName: name, Attributes })).body["QueueUrl"] as string };
};
const receive = async (QueueUrl: string, more: object = {}, signal?: AbortSignal): Promise<Received[]> => {
  const input = { QueueUrl, MessageSystemAttributeNames: ["All"], ...more };
  return ((await call("ReceiveMessage", input, signal ? { signal } : {})).body["Messages"] ?? []) as Received[];
};
const send = (QueueUrl: string, MessageBody: string, more: object = {}) =>
  call("SendMessage", { QueueUrl, MessageBody, ...more });
const times = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));
const texts = (count: number): string[] => times(count, (i) => `m${i}`);
const bodiesOf = (received: readonly Received[]): string[] => received.map(({ Body }) => Body).toSorted();
/** Everything that is stored of a queue. */
const stored = async (queue: string): Promise<string[]> =>
  (await db.sql("select input #>> '{}' as body from jobs where queue = $1", [queue])).map(({ body }) => String(body));

describe("requests that come together", () => {
  it("a thousand receives share ten messages: each goes to one of them, once", { timeout: 60_000 }, async () => {
    const { url } = await create();
    for (const body of texts(10)) await send(url, body);
    const all = (await Promise.all(times(1000, () => receive(url, { WaitTimeSeconds: 2 })))).flat();
    expect(bodiesOf(all)).toEqual(texts(10).toSorted());
    expect(all.map(({ Attributes }) => Attributes["ApproximateReceiveCount"])).toEqual(times(10, () => "1"));
    const [{ claims } = { claims: 0 }] = await db.sql("select count(*)::int as claims from claim");
    expect(claims).toBeLessThan(10);
    const deleted = await Promise.all(
      all.map(({ ReceiptHandle }) => call("DeleteMessage", { QueueUrl: url, ReceiptHandle })),
    );
    expect(deleted.map(({ status }) => status)).toEqual(times(10, () => 200));
    expect(await db.sql("select from claim")).toEqual([]);
  });

  it("each gets as many as it asked for, for as long as it said", async () => {
    const { url } = await create();
    for (const body of texts(30)) await send(url, body);
    const wishes = [1, 10, 3, 5, 10, 1].map((most, i) => ({
      MaxNumberOfMessages: most,
      VisibilityTimeout: i < 3 ? 1 : 60,
    }));
    const got = await Promise.all(wishes.map((wish) => receive(url, wish)));
    expect(got.map(({ length }) => length)).toEqual([1, 10, 3, 5, 10, 1]);
    expect(bodiesOf(got.flat())).toEqual(texts(30).toSorted());
    await sleep(1100);
    const again = await Promise.all(times(3, () => receive(url, { MaxNumberOfMessages: 10, WaitTimeSeconds: 1 })));
    expect(bodiesOf(again.flat())).toEqual(bodiesOf(got.slice(0, 3).flat()));
  });

  it("who hung up while waiting receives nothing, and takes nothing from the others", { timeout: 60_000 }, async () => {
    const { url } = await create();
    const gone = new AbortController();
    const impatient = times(100, () => receive(url, { WaitTimeSeconds: 20 }, gone.signal).catch(() => "gone"));
    const patient = times(100, () => receive(url, { WaitTimeSeconds: 20 }));
    await sleep(500);
    gone.abort();
    expect(new Set(await Promise.all(impatient))).toEqual(new Set(["gone"]));
    await sleep(200);
    await Promise.all(texts(100).map((body) => send(url, body)));
    const got = (await Promise.all(patient)).flat();
    expect(bodiesOf(got)).toEqual(texts(100).toSorted());
    expect(new Set(got.map(({ Attributes }) => Attributes["ApproximateReceiveCount"]))).toEqual(new Set(["1"]));
  });

  it("one send that is refused fails alone, in the middle of many, and the order of each group stays", async () => {
    const { name, url } = await create({ FifoQueue: "true", ContentBasedDeduplication: "true" });
    // somebody's open transaction has the same deduplication id
    const holder = await db.connect();
    await holder.query("begin");
    const options = { queue: name, fingerprint: "held", fingerprintMode: "window", fingerprintSeconds: 300 };
    await holder.query("select millrace.job_enqueue('message', '1', $1)", [JSON.stringify(options)]);
    const sent = await Promise.all(
      texts(60).map((body, i) =>
        send(url, body, { MessageGroupId: "g", ...(i === 30 ? { MessageDeduplicationId: "held" } : {}) }),
      ),
    );
    await holder.query("rollback");
    expect(sent.map(({ status }) => status)).toEqual(times(60, (i) => (i === 30 ? 503 : 200)));
    const numbers = sent.map(({ body }) => body["SequenceNumber"] as string | undefined);
    const inOrder: string[] = [];
    for (;;) {
      const some = await receive(url, { MaxNumberOfMessages: 10 });
      if (some.length === 0) break;
      inOrder.push(...some.map(({ Attributes }) => Attributes["SequenceNumber"]!));
      for (const { ReceiptHandle } of some) await call("DeleteMessage", { QueueUrl: url, ReceiptHandle });
    }
    expect(inOrder).toEqual(numbers.filter((number) => number !== undefined).toSorted());
    expect(inOrder).toHaveLength(59);
  });

  it("one bad receipt fails alone, among many that are deleted or hidden", async () => {
    const { url } = await create({ FifoQueue: "true", ContentBasedDeduplication: "true" });
    for (const [i, body] of texts(40).entries()) await send(url, body, { MessageGroupId: `g${i}` });
    const got = (await Promise.all(times(4, () => receive(url, { MaxNumberOfMessages: 10 })))).flat();
    expect(got).toHaveLength(40);
    const [late, ...good] = got;
    await call("ChangeMessageVisibility", { QueueUrl: url, ReceiptHandle: late!.ReceiptHandle, VisibilityTimeout: 0 });
    const act = (action: string, more: object = {}) =>
      Promise.all([late!, ...good].map(({ ReceiptHandle }) => call(action, { QueueUrl: url, ReceiptHandle, ...more })));
    const hidden = await act("ChangeMessageVisibility", { VisibilityTimeout: 100 });
    expect(hidden.map(({ status }) => status)).toEqual([400, ...good.map(() => 200)]);
    const deleted = await act("DeleteMessage");
    expect(deleted.map(({ status }) => status)).toEqual([400, ...good.map(() => 200)]);
    expect(bodiesOf(await receive(url, { MaxNumberOfMessages: 10 }))).toEqual([late!.Body]);
  });

  it.each(["in flight", "visible again"])(
    "a message that somebody holds, %s, keeps no other from being deleted or hidden",
    { timeout: 20_000 },
    async (state) => {
      const { name, url } = await create();
      for (const body of texts(30)) await send(url, body);
      const [held] = await receive(url); // a claim of its own: all messages of one are in the same hands
      const others = (await Promise.all(times(3, () => receive(url, { MaxNumberOfMessages: 10 })))).flat();
      const act = (action: string, { ReceiptHandle }: Received, more: object = {}) =>
        call(action, { QueueUrl: url, ReceiptHandle, ...more });
      if (state === "visible again") {
        await act("ChangeMessageVisibility", held!, { VisibilityTimeout: 0 });
        await db.sql("select claim_reap(100)");
      }
      // somebody cancels it, in a transaction that stays open
      const holder = await db.connect();
      await holder.query("begin");
      await holder.query(
        "select millrace.job_cancel(array(select id from millrace.jobs where queue = $1 and input #>> '{}' = $2))",
        [name, held!.Body],
      );
      let isDeleted = false;
      const deleting = act("DeleteMessage", held!).then(({ status }) => ((isDeleted = true), status));
      const hiding = act("ChangeMessageVisibility", held!, { VisibilityTimeout: 5 });
      const hidden = await Promise.all(
        others.slice(0, 10).map((message) => act("ChangeMessageVisibility", message, { VisibilityTimeout: 5 })),
      );
      const deleted = await Promise.all(others.map((message) => act("DeleteMessage", message)));
      expect(new Set([...hidden, ...deleted].map(({ status }) => status))).toEqual(new Set([200]));
      expect(isDeleted).toBe(false);
      await holder.query("commit");
      expect(await deleting).toBe(200);
      expect((await hiding).status).toBe(400);
      const left = await db.sql("select from jobs where queue = $1 and state in ('ready', 'running', 'delayed')", [
        name,
      ]);
      expect(left).toEqual([]);
    },
  );
});

describe("a server whose requests are under way", () => {
  const ask = (url: string) => ({ url });

  it(
    "loses none that it confirmed when the database is away, and goes on when it is back",
    { timeout: 120_000 },
    async () => {
      const proxy = await startProxy(db.url);
      const server = await startServer({ connection: proxy.url, port: 0, graceMs: 1000, sqs: { anyKey: true } });
      onTestFinished(() => server.stop());
      const { name, url } = await create();
      const confirmed: string[] = [];
      const statuses = new Set<number>();
      let isOver = false;
      const clients = times(30, async (client) => {
        for (let i = 0; !isOver; i += 1) {
          const body = `${client}-${i}`;
          const { status } = await call("SendMessage", { QueueUrl: url, MessageBody: body }, ask(server.url));
          statuses.add(status);
          if (status === 200) confirmed.push(body);
          else await sleep(20);
        }
      });
      await sleep(300);
      proxy.cut();
      await sleep(500);
      proxy.mend();
      const before = confirmed.length;
      await until("a hundred more", () => confirmed.length > before + 100);
      isOver = true;
      await Promise.all(clients);
      expect(statuses).toEqual(new Set([200, 503]));
      const there = await stored(name);
      expect(new Set(there)).toEqual(new Set([...there, ...confirmed]));
    },
  );

  it("ends them before it stops, and each that was confirmed is there", { timeout: 60_000 }, async () => {
    const server = await startServer({ connection: db.url, port: 0, graceMs: 5000, sqs: { anyKey: true } });
    onTestFinished(() => server.stop());
    const { name, url } = await create();
    await Promise.all(texts(50).map((body) => send(url, body)));
    const underWay = [
      ...times(100, (i) => call("SendMessage", { QueueUrl: url, MessageBody: `late ${i}` }, ask(server.url))),
      ...times(100, () => call("ReceiveMessage", { QueueUrl: url, WaitTimeSeconds: 20 }, ask(server.url))),
    ];
    const calls = Promise.allSettled(underWay);
    await Promise.any(underWay); // some are answered, most are not
    const began = performance.now();
    await server.stop();
    expect(performance.now() - began).toBeLessThan(5000);
    const ended = await calls;
    const answered = ended.flatMap((end) => (end.status === "fulfilled" ? [end.value] : []));
    expect(new Set(answered.map(({ status }) => status))).toEqual(new Set([200]));
    const ids = answered.flatMap(({ body }) => (body["MessageId"] === undefined ? [] : [body["MessageId"]]));
    const there = (await stored(name)).filter((body) => body.startsWith("late"));
    expect(there.length).toBeGreaterThanOrEqual(ids.length);
    // what was received before the end is in those hands, and nothing else is
    const got = answered.flatMap(({ body }) => (body["Messages"] ?? []) as Received[]);
    expect(new Set(got.map(({ Body }) => Body)).size).toBe(got.length);
    const [row] = await db.sql(
      "select coalesce(sum(cardinality(c.jobs)), 0)::int as held from claim c join lane l on l.key = c.lane join queue q on q.id = l.queue_id where q.name = $1",
      [name],
    );
    expect(row!["held"]).toBe(got.length);
  });
});
