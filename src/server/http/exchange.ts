import type { IncomingHttpHeaders } from "node:http";
import type { Readable, Writable } from "node:stream";
import type { Identity } from "../auth/tokens.js";
import { patienceMs, slowestBytesPerSecond } from "./limits.js";
import type { Holding } from "./shares.js";

/** What the server reads of a request: Node's own, or one that was made of a `Request`. */
export interface Incoming extends Readable {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly headersDistinct: NodeJS.Dict<string[]>;
  readonly socket: { readonly remoteAddress?: string | undefined };
  /** All of it has arrived. */
  readonly complete: boolean;
}

/** What the server writes an answer to: Node's own, or one that becomes a `Response`. */
export interface Outgoing extends Writable {
  statusCode: number;
  readonly headersSent: boolean;
  setHeader(name: string, value: string): unknown;
  writeHead(status: number, headers?: Readonly<Record<string, string | number>>): this;
}

/** One request and its answer, on its way through the server. */
export interface Exchange {
  readonly request: Incoming;
  readonly response: Outgoing;
  /** A UUID: in the answer's headers, in the log, and in what the user is told of an error. */
  readonly id: string;
  /** As the client asked for it, the prefix taken off. */
  readonly path: string;
  /** The whole path, as far as it is known here. */
  readonly target: string;
  readonly query: URLSearchParams;
  /** Of the client, as far as it is known. */
  readonly address: string;
  /** Whom the application has signed in, where there is one; null for nobody. Known before any part is asked. */
  user?: Identity | null;
  /** The body, where the application has read it already. */
  readonly body?: ReadBody | undefined;
  /** Fires when the client has gone, or when the server has waited long enough for it to finish. */
  readonly signal: AbortSignal;
  /** Fires when the server stops: whoever waits for something to happen answers now. */
  readonly stopping: AbortSignal;
}

/** A body that somebody has read. */
export interface ReadBody {
  readonly bytes: Buffer;
  /** As it was sent, and not put together again of what a parser made of it. */
  readonly isExact: boolean;
}

/**
 * A part of the server: answers the exchanges it is given. What it throws becomes a 500 that tells nothing but the id.
 */
export type Part = (exchange: Exchange) => Promise<void>;

/** The body was longer than the part allows. */
export class BodyTooLargeError extends Error {
  override readonly name = "BodyTooLargeError";
  constructor(readonly limit: number) {
    super(`the body is longer than ${limit} bytes`);
  }
}

/** The body came so slowly that whoever sends it may as well not be there. */
export class BodyTooSlowError extends Error {
  override readonly name = "BodyTooSlowError";
  constructor(readonly bytesPerSecond: number) {
    super(`the body came slower than ${bytesPerSecond} bytes a second`);
  }
}

/**
 * The whole body, as it was sent. By events, because most bodies are one piece, and iterating over it would cost more
 * than the rest of the request. `memory` holds what has arrived, and never what was announced: a length costs nothing
 * to say.
 */
export function readBody({ request, body }: Exchange, limit: number, memory: Holding): Promise<Buffer> {
  if (body)
    return body.bytes.length > limit ? Promise.reject(new BodyTooLargeError(limit)) : Promise.resolve(body.bytes);
  return new Promise((resolve, reject) => {
    const announced = request.headers["content-length"];
    const most = announced === undefined ? limit : Number(announced);
    if (most > limit) return reject(new BodyTooLargeError(limit));
    let bytes: Buffer = Buffer.alloc(0);
    let size = 0;
    const began = performance.now();
    const refuse = (error: unknown): void => {
      clearTimeout(watch);
      request.off("data", take);
      request.pause();
      reject(error);
    };
    const take = (chunk: Buffer): void => {
      try {
        if (size + chunk.length > limit) throw new BodyTooLargeError(limit);
        bytes = appended(bytes, size, chunk, most, memory);
        size += chunk.length;
      } catch (error) {
        refuse(error);
      }
    };
    const watch = setTimeout(() => {
      if (size < ((performance.now() - began) / 1000) * slowestBytesPerSecond)
        refuse(new BodyTooSlowError(slowestBytesPerSecond));
      else watch.refresh();
    }, patienceMs);
    request.on("data", take);
    request.on("end", () => {
      clearTimeout(watch);
      resolve(bytes.subarray(0, size));
    });
    request.on("error", refuse);
    request.on("close", () => {
      if (request.readableEnded) return; // an error, with its stack, costs more than reading a small body
      clearTimeout(watch);
      reject(new Error("the client has gone"));
    });
  });
}

/** A path as the log may have it: without callback tokens, which are rights. */
export const pathForLog = (path: string): string => path.replaceAll(/mrt_[^/?&]*/g, "mrt_…");

/** How long the body of a request is, as far as it tells: one that does not may be as long as it likes. */
export function bodyBytesOf({ request }: Pick<Exchange, "request">): number {
  return Number(request.headers["content-length"] ?? Infinity);
}

/** One buffer that doubles, because small pieces kept one by one take a hundred times their size. */
function appended(bytes: Buffer, size: number, chunk: Buffer, most: number, memory: Holding): Buffer {
  let room = bytes;
  if (size + chunk.length > bytes.length) {
    const wanted = size === 0 ? chunk.length : Math.min(most, Math.max(2 * size, size + chunk.length));
    memory.grow(wanted - bytes.length);
    if (size === 0) return chunk;
    room = Buffer.allocUnsafe(wanted);
    bytes.copy(room, 0, 0, size);
  }
  chunk.copy(room, size);
  return room;
}

/** Answer with a body that is complete. */
export function answer(
  { response }: Exchange,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string | Uint8Array,
): void {
  response.writeHead(status, {
    ...headers,
    "content-length": String(typeof body === "string" ? Buffer.byteLength(body) : body.length),
  });
  response.end(body);
}

/** A part and the paths it takes. */
export interface PartRoute {
  readonly takes: (exchange: Exchange) => boolean;
  readonly part: Part;
}

/** The first that takes a path has it. */
export function firstOf(routes: readonly PartRoute[]): Part {
  return async (exchange) => {
    const found = routes.find(({ takes }) => takes(exchange));
    if (found) await found.part(exchange);
    else answer(exchange, 404, { "content-type": "text/plain" }, "there is nothing here\n");
  };
}
