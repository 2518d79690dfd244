import { once } from "node:events";
import { type AddressInfo, type Socket, connect, createServer } from "node:net";
import { onTestFinished } from "vitest";

/** A network between a process and the database that a test can cut. */
export interface Proxy {
  /** The database's address as seen through the proxy. */
  readonly url: string;
  /** Swallow everything, as a partition does: connections stay open, nothing arrives. */
  freeze(): void;
  /** Let through what was swallowed, and go on. */
  thaw(): void;
  /** Break all connections and refuse new ones. */
  cut(): void;
  /** Accept connections again. */
  mend(): void;
}

/** Gone after the test. Tests that run beside others give their own `onTestFinished`. */
export async function startProxy(databaseUrl: string, onFinished: (end: () => void) => void = onTestFinished): Promise<Proxy> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let [isFrozen, isCut] = [false, false];

  const join = (from: Socket, to: Socket): void => {
    sockets.add(from);
    from.on("data", (data) => to.write(data));
    from.on("close", () => (sockets.delete(from), to.destroy()));
    from.on("error", () => to.destroy());
    if (isFrozen) from.pause();
  };
  const server = createServer((near) => {
    if (isCut) return near.destroy();
    const far = connect(Number(target.port), target.hostname);
    join(near, far);
    join(far, near);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = (): void => {
    isCut = true;
    for (const socket of sockets) socket.destroy();
  };
  onFinished(() => {
    cut();
    server.close();
  });

  const url = new URL(databaseUrl);
  url.hostname = "127.0.0.1";
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    cut,
    mend() {
      isCut = false;
    },
    freeze() {
      isFrozen = true;
      for (const socket of sockets) socket.pause();
    },
    thaw() {
      isFrozen = false;
      for (const socket of sockets) socket.resume();
    },
  };
}
