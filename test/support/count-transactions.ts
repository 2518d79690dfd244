import { once } from "node:events";
import { type AddressInfo, type Socket, connect, createServer } from "node:net";
import { onTestFinished } from "vitest";
import { cut, isOutside } from "./wire.js";

/** A way to the database that counts what goes through it. */
export interface CountedWay {
  readonly url: string;
  /** Transactions that have ended on connections of this way. The server's own numbers have those of autovacuum too. */
  transactions(): number;
}

/** Gone after the test. */
export async function countTransactions(
  databaseUrl: string,
  onFinished: (end: () => void) => void = onTestFinished,
): Promise<CountedWay> {
  const url = new URL(databaseUrl);
  const [host, port] = [url.hostname, Number(url.port)];
  const open = new Set<Socket>();
  let ended = 0;
  const server = createServer((client) => {
    const database = connect(port, host);
    let rest = Buffer.alloc(0);
    database.on("data", (bytes) => {
      const parts = cut(Buffer.concat([rest, bytes]));
      rest = Buffer.from(parts.rest);
      ended += parts.messages.filter(isOutside).length;
    });
    for (const [from, to] of [
      [client, database],
      [database, client],
    ] as const) {
      open.add(from);
      from.pipe(to);
      from.on("error", () => to.destroy());
      from.on("close", () => to.destroy());
    }
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onFinished(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  url.hostname = "127.0.0.1";
  url.port = String((server.address() as AddressInfo).port);
  return { url: url.href, transactions: () => ended };
}
