import type { IncomingMessage, ServerResponse } from "node:http";

/** One request and its answer, on its way through the server. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** A UUID: in the answer's headers, in the log, and in what the user is told of an error. */
  readonly id: string;
  /** As the client asked for it, the prefix taken off. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Fires when the client has gone, or when the server has waited long enough for it to finish. */
  readonly signal: AbortSignal;
  /** Fires when the server stops: whoever waits for something to happen answers now. */
  readonly stopping: AbortSignal;
}

/** A part of the server: answers the exchanges it is given. What it throws becomes a 500 that tells nothing but the id. */
export type Part = (exchange: Exchange) => Promise<void>;

/** The body was longer than the part allows. */
export class BodyTooLargeError extends Error {
  override readonly name = "BodyTooLargeError";
  constructor(readonly limit: number) {
    super(`the body is longer than ${limit} bytes`);
  }
}

/** The whole body, as it was sent. By events, because most bodies are one piece, and iterating over it would cost more than the rest of the request. */
export function readBody({ request }: Exchange, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (Number(request.headers["content-length"] ?? 0) > limit) return reject(new BodyTooLargeError(limit));
    const chunks: Buffer[] = [];
    let size = 0;
    request.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > limit) {
        request.pause();
        reject(new BodyTooLargeError(limit));
      } else chunks.push(chunk);
    });
    request.on("end", () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size)));
    request.on("error", reject);
    request.on("close", () => reject(new Error("the client has gone"))); // after the end it says nothing
  });
}

/** Answer with a body that is complete. */
export function answer({ response }: Exchange, status: number, headers: Readonly<Record<string, string>>, body: string | Uint8Array): void {
  response.writeHead(status, { ...headers, "content-length": String(typeof body === "string" ? Buffer.byteLength(body) : body.length) });
  response.end(body);
}
