import { once } from "node:events";
import { type Server, createServer } from "node:http";
import { type AddressInfo, Server as NetServer } from "node:net";
import type { Log } from "../log.js";
import type { Incoming, Part } from "./exchange.js";
import { Exchanges } from "./exchanges.js";

/** How a listener behaves towards clients that are slow, greedy or gone. */
export interface ListenerOptions {
  readonly host: string;
  readonly port: number;
  /** Taken off every path; requests elsewhere get 404. */
  readonly prefix: string;
  /** The address of who asks. Default that of the connection. */
  readonly client?: (request: Incoming) => string | undefined;
  /** How long requests in progress may take after `stop`. */
  readonly graceMs: number;
  readonly log: Log;
}

/** Headers arrive within this, and whole requests within the next; a connection that says nothing is closed. */
const headersMs = 10_000;
const requestMs = 60_000;
const idleMs = 75_000;
const maxConnections = 10_000;
const maxHeaderBytes = 16_384;

/** Listens for HTTP and gives every request to the first part that takes it. */
export class Listener {
  readonly #server: Server;
  readonly #exchanges: Exchanges;

  constructor(
    private readonly options: ListenerOptions,
    part: Part,
  ) {
    const { prefix, client, log } = options;
    this.#exchanges = new Exchanges(log, part);
    this.#server = createServer(
      {
        headersTimeout: headersMs,
        requestTimeout: requestMs,
        keepAliveTimeout: idleMs,
        maxHeaderSize: maxHeaderBytes,
        connectionsCheckingInterval: 5000,
      },
      (request, response) => void this.#exchanges.serve(request, response, { prefix, address: client?.(request) }),
    );
    this.#server.maxConnections = maxConnections;
  }

  /** Begin, and tell where: port 0 means any. */
  async start(): Promise<{ readonly host: string; readonly port: number }> {
    this.#server.listen(this.options.port, this.options.host);
    await once(this.#server, "listening");
    const { address, port } = this.#server.address() as AddressInfo;
    return { host: address, port };
  }

  /** No new requests; those in progress end within the grace. */
  async stop(): Promise<void> {
    const closed = once(this.#server, "close");
    // Listen no longer. What HTTP adds to that cuts off answers that were handed over and are still on their way.
    NetServer.prototype.close.call(this.#server);
    await this.#exchanges.stop(this.options.graceMs);
    this.#server.closeAllConnections();
    await closed;
  }
}
