import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import { type AddressInfo, Server as NetServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "../log.js";
import { type Exchange, type Part, answer, pathForLog } from "./exchange.js";

/** How a listener behaves towards clients that are slow, greedy or gone. */
export interface ListenerOptions {
  readonly host: string;
  readonly port: number;
  /** Taken off every path; requests elsewhere get 404. */
  readonly prefix: string;
  /** How long requests in progress may take after `stop`. */
  readonly graceMs: number;
  readonly log: Log;
}

/** Headers arrive within this, and whole requests within the next; a connection that says nothing is closed. */
const headersMs = 10_000;
const requestMs = 60_000;
const idleMs = 75_000;
/** For what a client that was refused has sent already. */
const discardMs = 1000;
const mostConnections = 10_000;
const mostHeaderBytes = 16_384;

/** Listens for HTTP and gives every request to the first part that takes it. */
export class Listener {
  readonly #server: Server;
  readonly #stopping = new AbortController();
  readonly #running = new Set<Promise<void>>();
  /** Of all requests whose answer is not out yet: to tell them that nobody waits for them any longer. */
  readonly #open = new Set<AbortController>();

  constructor(
    private readonly options: ListenerOptions,
    private readonly part: Part,
  ) {
    this.#server = createServer(
      {
        headersTimeout: headersMs,
        requestTimeout: requestMs,
        keepAliveTimeout: idleMs,
        maxHeaderSize: mostHeaderBytes,
        connectionsCheckingInterval: 5000,
      },
      (request, response) => this.#take(request, response),
    );
    this.#server.maxConnections = mostConnections;
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
    this.#stopping.abort();
    // Connections that were kept open may bring another request, and an answer is not out when it was handed over.
    for (
      const end = performance.now() + this.options.graceMs;
      this.#running.size + this.#open.size > 0 && performance.now() < end;
    )
      await sleep(10);
    for (const controller of this.#open) controller.abort();
    this.#server.closeAllConnections();
    await closed;
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    const running = this.#serve(request, response).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const began = performance.now();
    const id = randomUUID();
    const gone = new AbortController();
    this.#open.add(gone);
    // Only of those who went too early: firing the signal after every answer was a third of the cost of a small
    // request.
    response.on("close", () => {
      this.#open.delete(gone);
      if (!response.writableFinished) gone.abort();
    });
    request.on("error", () => gone.abort());
    response.on("error", () => gone.abort());
    response.setHeader("x-request-id", id);
    if (this.#stopping.signal.aborted) response.setHeader("connection", "close");
    const { log, prefix } = this.options;
    const [target = "/", search = ""] = (request.url ?? "/").split(/\?(.*)/s);
    const exchange: Exchange = {
      request,
      response,
      id,
      path: target.startsWith(`${prefix}/`) ? target.slice(prefix.length) : target === prefix ? "/" : "",
      query: new URLSearchParams(search),
      signal: gone.signal,
      stopping: this.#stopping.signal,
    };
    try {
      if (exchange.path === "")
        answer(exchange, 404, { "content-type": "text/plain" }, `everything is below ${prefix}/\n`);
      else await this.part(exchange);
      if (!response.writableEnded) response.end();
    } catch (error) {
      if (!gone.signal.aborted)
        log("error", "request failed", {
          id,
          method: request.method,
          path: pathForLog(exchange.path),
          error: String((error as Error)?.stack ?? error),
        });
      if (!response.headersSent)
        answer(
          exchange,
          500,
          { "content-type": "text/plain" },
          `something went wrong here; the log tells more of request ${id}\n`,
        );
      else response.destroy();
    }
    if (!request.complete) response.once("finish", () => discard(request));
    log("debug", "request", {
      id,
      method: request.method,
      path: pathForLog(exchange.path),
      status: response.statusCode,
      ms: Math.round(performance.now() - began),
    });
  }
}

/**
 * A body nobody read would stay in the way of the connection's next request. What is on its way is let in for a moment,
 * to be forgotten: hanging up at once would take the answer away from a client that still sends.
 */
function discard(request: IncomingMessage): void {
  const end = setTimeout(() => request.destroy(), discardMs);
  request.once("close", () => clearTimeout(end));
  request.resume();
}
