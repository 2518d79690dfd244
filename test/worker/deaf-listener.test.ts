import { once } from "node:events";
import { type AddressInfo, type Socket, connect, createServer } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { defineJob } from "../../src/job/define-job.js";
import { useMill } from "../support/mill.js";
import { until } from "../support/wait.js";

const test = useMill();

// Twenty seconds of waiting: left to `npm run simulate`, and to the half-open connections of `npm run chaos`.
it.skipIf(process.env["ALL_PAIRS"] === undefined)(
  "a worker whose listening connection was forgotten on the way hears wake-ups again, though it holds nothing [#117]",
  async () => {
    const { port } = new URL(test.db.url);
    const sockets = new Set<Socket>();
    let listening: Socket[] | undefined;
    const server = createServer((near) => {
      const far = connect(Number(port), "127.0.0.1").on("error", () => {});
      near.on("error", () => {}).on("close", () => far.destroy());
      near.pipe(far).pipe(near);
      near.on("data", (data) => {
        if (data.includes("listen ")) listening ??= [near, far];
      });
      sockets.add(near).add(far);
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });

    const mill = test.open({
      connection: Object.assign(new URL(test.db.url), { port: String((server.address() as AddressInfo).port) }).href,
    });
    const queue = await test.queue();
    const worker = test
      .worker(queue, { heartbeatThread: true, pollInterval: "5m" }, mill)
      .handle(defineJob("t"), () => "done");
    const errors: string[] = [];
    worker.on("error", (error) => errors.push(String(error)));
    await worker.start();
    expect(await test.mill.result(await test.mill.enqueue("t", null, { queue }))).toBe("done");

    for (const socket of listening!) socket.unpipe().pause(); // neither end hears of the other again
    await until("the heartbeat has noticed", () => errors.some((error) => error.includes("heartbeat")));
    expect(await test.mill.result(await test.mill.enqueue("t", null, { queue }), { timeout: "10s" })).toBe("done");
  },
);
