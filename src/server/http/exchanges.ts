import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Identity } from "../auth/tokens.js";
import type { Log } from "../log.js";
import {
  type Exchange,
  type Incoming,
  type Outgoing,
  type Part,
  type ReadBody,
  answer,
  pathForLog,
} from "./exchange.js";

/** For what a client that was refused has sent already. */
const discardMs = 1000;

/** What is known of a request beside itself. */
export interface Given {
  /** Taken off the path; requests elsewhere get 404. */
  readonly prefix: string;
  /** The path and the query, where `url` is only a part of them. */
  readonly url?: string | undefined;
  readonly address?: string | undefined;
  /** Whom the application has signed in. */
  readonly user?: () => Promise<Identity | null>;
  readonly body?: ReadBody | undefined;
}

/** Makes an exchange of each request, gives it to the part, and knows which are not answered yet. */
export class Exchanges {
  readonly #stopping = new AbortController();
  readonly #running = new Set<Promise<void>>();
  /** Of all requests whose answer is not out yet: to tell them that nobody waits for them any longer. */
  readonly #open = new Set<AbortController>();

  constructor(
    private readonly log: Log,
    private readonly part: Part,
  ) {}

  /** Resolves when the part has done with it. Never rejects. */
  serve(request: Incoming, response: Outgoing, given: Given): Promise<void> {
    const running = this.#serve(request, response, given).finally(() => this.#running.delete(running));
    this.#running.add(running);
    return running;
  }

  /** Those in progress end within the grace; whoever waits for something to happen answers now. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping.abort();
    // Connections that were kept open may bring another request, and an answer is not out when it was handed over.
    for (const end = performance.now() + graceMs; this.#running.size + this.#open.size > 0 && performance.now() < end;)
      await sleep(10);
    for (const controller of this.#open) controller.abort();
  }

  async #serve(request: Incoming, response: Outgoing, given: Given): Promise<void> {
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
    const { prefix, body } = given;
    const [target = "/", search = ""] = (given.url ?? request.url ?? "/").split(/\?(.*)/s);
    const exchange: Exchange = {
      request,
      response,
      id,
      path: target.startsWith(`${prefix}/`) ? target.slice(prefix.length) : target === prefix ? "/" : "",
      target,
      query: new URLSearchParams(search),
      address: given.address ?? request.socket.remoteAddress ?? "",
      body,
      signal: gone.signal,
      stopping: this.#stopping.signal,
    };
    try {
      if (exchange.path === "")
        answer(exchange, 404, { "content-type": "text/plain" }, `everything is below ${prefix}/\n`);
      else {
        if (given.user) exchange.user = await given.user();
        await this.part(exchange);
      }
      if (!response.writableEnded) response.end();
    } catch (error) {
      if (!gone.signal.aborted)
        this.log("error", "request failed", {
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
    this.log("debug", "request", {
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
function discard(request: Incoming): void {
  const end = setTimeout(() => request.destroy(), discardMs);
  request.once("close", () => clearTimeout(end));
  request.resume();
}
