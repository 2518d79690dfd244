import { once } from "node:events";
import { type AddressInfo, type Socket, connect, createServer } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { defineJob } from "../../src/job/define-job.js";
import { useMill } from "../support/mill.js";

const test = useMill();

function message(type: string, body: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(4 + body.length);
  return Buffer.concat([Buffer.from(type), length, Buffer.from(body)]);
}

/** What pg_terminate_backend does at a bad moment: greeting and end in one packet. */
const greetingAndEnd = Buffer.concat([
  message("R", "\0\0\0\0"),
  message("Z", "I"),
  message("E", "SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0"),
]);

it("a connection that dies in the moment it is handed out does not end a worker", async () => {
  const { port } = new URL(test.db.url);
  const sockets = new Set<Socket>();
  let deaths = 0;
  let isDeadly = false;
  const server = createServer((near) => {
    sockets.add(near.on("error", () => {}));
    if (isDeadly) return void near.once("data", () => (near.end(greetingAndEnd), (deaths += 1)));
    const far = connect(Number(port), "127.0.0.1").on("error", () => {});
    near.pipe(far).pipe(near);
    near.on("close", () => far.destroy());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());

  const mill = test.open({
    connection: Object.assign(new URL(test.db.url), { port: String((server.address() as AddressInfo).port) }).href,
  });
  const queue = await test.queue();
  const worker = test.worker(queue, {}, mill);
  worker.on("error", () => {});
  await worker.handle(defineJob("t"), () => "done").start();
  const unheard: unknown[] = [];
  const onUnheard = (error: unknown): void => void unheard.push(error);
  process.on("uncaughtException", onUnheard); // what would have ended the process
  onTestFinished(() => void process.off("uncaughtException", onUnheard));
  isDeadly = true;
  for (const socket of sockets) socket.destroy();
  await expect.poll(() => deaths).toBeGreaterThan(2);
  isDeadly = false;
  const { id } = await test.mill.enqueue("t", null, { queue });
  expect(await test.mill.result(id)).toBe("done");
  expect(unheard).toEqual([]);
});
