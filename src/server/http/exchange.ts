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

/** The whole body, as it was sent. */
export async function readBody({ request }: Exchange, limit: number): Promise<Buffer> {
  if (Number(request.headers["content-length"] ?? 0) > limit) throw new BodyTooLargeError(limit);
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit) throw new BodyTooLargeError(limit);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}

/** Answer with a body that is complete. */
export function answer({ response }: Exchange, status: number, headers: Readonly<Record<string, string>>, body: string | Uint8Array): void {
  response.writeHead(status, { ...headers, "content-length": String(typeof body === "string" ? Buffer.byteLength(body) : body.length) });
  response.end(body);
}
