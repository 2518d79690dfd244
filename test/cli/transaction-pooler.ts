import { once } from "node:events";
import { type AddressInfo, Socket, createServer } from "node:net";
import pg from "pg";
import { cut, isOutside, kindOf } from "../support/wire.js";

/** All but the questions about the password. */
const isGreeting = (message: Buffer): boolean => kindOf(message) !== "R" || message.readInt32BE(5) === 0;

/** One session of the server, lent to one client for one transaction. */
class Session {
  greeting: Buffer[] = [];
  onMessage: (message: Buffer) => void = () => {};

  private constructor(readonly socket: Socket) {}

  static async open(url: URL): Promise<Session> {
    const session = new Session(new Socket());
    let rest = Buffer.alloc(0);
    session.onMessage = (message) => void (isGreeting(message) && session.greeting.push(message));
    const listen = (bytes: Buffer): void => {
      const parts = cut(Buffer.concat([rest, bytes]));
      rest = Buffer.from(parts.rest);
      for (const message of parts.messages) session.onMessage(message);
    };
    session.socket.on("data", listen);
    // The driver knows how to give a password; once it has, its connection is ours.
    await new pg.Client({ connectionString: url.href, stream: () => session.socket }).connect();
    session.socket
      .removeAllListeners()
      .on("error", () => {})
      .on("data", listen);
    return session;
  }
}

/**
 * A pooler as people put in front of a server, with sessions that change hands after each transaction. It asks for no
 * password.
 */
export async function startTransactionPooler(
  serverUrl: string,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const url = new URL(serverUrl);
  const all = await Promise.all([Session.open(url), Session.open(url), Session.open(url), Session.open(url)]);
  const free = [...all];
  const clients = new Set<Socket>();

  const server = createServer((client) => {
    clients.add(client);
    client.on("error", () => {});
    let rest = Buffer.alloc(0);
    let isStarted = false;
    let session: Session | undefined;
    client.on("data", (bytes) => {
      rest = Buffer.concat([rest, bytes]);
      if (!isStarted) {
        isStarted = true;
        rest = rest.subarray(rest.readInt32BE(0));
        client.write(Buffer.concat(all[0].greeting));
      }
      const parts = cut(rest);
      rest = Buffer.from(parts.rest);
      for (const message of parts.messages.filter((one) => kindOf(one) !== "X")) {
        session ??= free.pop()!; // the last one given back, as poolers do
        const lent = session;
        lent.onMessage = (answer) => {
          client.write(answer);
          if (!isOutside(answer)) return;
          lent.onMessage = () => {};
          free.push(lent);
          session = undefined;
        };
        lent.socket.write(message);
      }
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    async close() {
      for (const socket of [...clients, ...all.map((session) => session.socket)]) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
