import { once } from "node:events";
import { type IncomingMessage, type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { isInside, sendWebHook, signatureOf } from "../../src/client/web-hook.js";
import { useMill } from "../support/mill.js";
import { until } from "../support/wait.js";

const test = useMill();
const servers: Server[] = [];
afterEach(() => servers.splice(0).forEach((server) => server.close()));

interface Received {
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** A receiver that answers with a status, and what it has received. */
async function receiver(port = 0, status: () => number = () => 200) {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += String(chunk);
    received.push({ headers: request.headers, body });
    response.writeHead(status(), { location: "http://169.254.169.254/" }).end("ok");
  });
  servers.push(server);
  await once(server.listen(port, "127.0.0.1"), "listening");
  return { received, port: (server.address() as AddressInfo).port, server };
}

describe("a web hook", () => {
  it("arrives signed when its receiver is there again, and never follows a redirect", async () => {
    let status = 302;
    const first = await receiver(0, () => status);
    const url = `http://127.0.0.1:${first.port}/alerts?key=1`;
    const { secret } = await test.mill.alerts.hookPut("ops", { url }, { by: "ann" });
    const worker = test.mill.alerts.worker({ allowedHosts: ["127.0.0.1"] });
    await worker.start();
    const failed = once(worker, "failure");
    const id = await test.mill.alerts.hookTest("ops", { by: "ann" });
    const [, error, final] = (await failed) as [unknown, Error, boolean];
    expect(error.message).toContain("answered 302, which is not followed");
    expect(final).toBe(false);
    first.server.close();
    first.server.closeAllConnections();
    await once(first.server, "close");
    const refused = once(worker, "failure");
    await test.db.moveClock(3600);
    expect(((await refused) as unknown[])[1]).toMatchObject({ code: "ECONNREFUSED" });
    status = 200;
    const again = await receiver(first.port);
    await test.db.moveClock(3600);
    await until("it has arrived", () => again.received.length === 1, 20_000);
    const [{ headers, body }] = again.received as [Received];
    expect(JSON.parse(body)).toMatchObject({ id, event: "test", message: "a test by ann" });
    expect(headers["webhook-id"]).toBe(id);
    const timestamp = Number(headers["webhook-timestamp"]);
    expect(headers["webhook-signature"]).toBe(signatureOf({ secret: secret!, id, body }, timestamp));
    await until("it has ended", async () => (await test.mill.jobs.get(id))?.job.state === "succeeded", 20_000);
    const stored = JSON.stringify(await test.db.sql("select * from job join attempt on job_id = id"));
    expect(stored).not.toContain(secret);
    expect(stored).not.toContain("key=1");
    await worker.stop();
  });

  it("is not sent to private addresses, nor to hosts that are not allowed", async () => {
    const { port, received } = await receiver();
    const message = { secret: "0123456789abcdef", id: "1", body: "{}" };
    for (const host of [
      `127.0.0.1:${port}`,
      `localhost:${port}`,
      `[::1]:${port}`,
      `[::ffff:127.0.0.1]:${port}`,
      "169.254.169.254",
      "10.1.2.3",
    ])
      await expect(sendWebHook({ ...message, url: `http://${host}/` }), host).rejects.toThrow(/private address/);
    await expect(
      sendWebHook({ ...message, url: "http://other.example/" }, { allowedHosts: ["*.example.com"] }),
    ).rejects.toThrow("not among those");
    expect(received).toEqual([]);
    expect(["192.168.1.1", "fe80::1", "fd00::1", "0.0.0.0", "::ffff:10.0.0.1"].map(isInside)).toEqual([
      true,
      true,
      true,
      true,
      true,
    ]);
    expect(["93.184.216.34", "2606:2800:220:1::1"].map(isInside)).toEqual([false, false]);
    expect(await sendWebHook({ ...message, url: `http://127.0.0.1:${port}/` }, { allowedHosts: ["127.0.0.1"] })).toBe(
      200,
    );
    expect(() => test.mill.alerts.worker({ allowedHosts: ["a b"] })).toThrow("allowedHosts");
    await test.mill.alerts.hookPut("inside", { url: `http://127.0.0.1:${port}/` });
    const worker = test.mill.alerts.worker();
    await worker.start();
    const failed = once(worker, "failure");
    await test.mill.alerts.hookTest("inside");
    expect((await failed)[2]).toBe(true); // trying again would not help
    await worker.stop();
  });
});
