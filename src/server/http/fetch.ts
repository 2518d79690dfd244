import type { IncomingHttpHeaders } from "node:http";
import { Readable, Writable } from "node:stream";
import type { UnderlyingSource } from "node:stream/web";
import type { Incoming, Outgoing } from "./exchange.js";

/** A `Request` as the server reads one. Nothing of its body is read before somebody wants it. */
class RequestIncoming extends Readable implements Incoming {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly socket = {};
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;

  constructor(request: Request) {
    super();
    const { pathname, search, host } = new URL(request.url);
    this.method = request.method;
    this.url = pathname + search;
    // Whoever sends a `Response` packs it, if anybody: Next.js takes the header off that says that we have.
    const { "accept-encoding": _accepted, ...headers } = Object.fromEntries(request.headers);
    this.headers = { host, ...headers };
    this.#reader = request.body?.getReader();
  }

  get headersDistinct(): NodeJS.Dict<string[]> {
    return Object.fromEntries(Object.entries(this.headers).map(([name, value]) => [name, [value].flat() as string[]]));
  }

  get complete(): boolean {
    return this.#reader === undefined || this.readableEnded;
  }

  override _read(): void {
    if (!this.#reader) return void this.push(null);
    this.#reader.read().then(
      ({ done, value }) => this.push(done ? null : Buffer.from(value)),
      (error: unknown) => this.destroy(error as Error),
    );
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#reader?.cancel().catch(() => {});
    callback(error);
  }
}

/** Most answers are shorter, and are out of our hands at once, whenever they are read. */
const highWaterMark = 65_536;
const byLength = (chunk: Uint8Array): number => chunk.length;

/** What the server writes becomes a `Response`, whose body can be read while it is written. */
class ResponseOutgoing extends Writable implements Outgoing {
  statusCode = 200;
  headersSent = false;
  /** Ready as soon as the headers are. */
  readonly response: Promise<Response>;
  readonly #headers = new Headers();
  readonly #hasBody: boolean;
  #answer!: (response: Response) => void;
  #fail!: (error: Error) => void;
  #body: ReadableStreamDefaultController<Uint8Array> | undefined;
  /** Told when the reader wants more. */
  #wanted: (() => void) | undefined;

  constructor(method: string) {
    super();
    this.#hasBody = method !== "HEAD";
    this.response = new Promise((resolve, reject) => {
      this.#answer = resolve;
      this.#fail = reject;
    });
  }

  setHeader(name: string, value: string): void {
    // Of a connection nothing is known here, and HTTP/2 has no such header.
    if (name !== "connection") this.#headers.set(name, value);
  }

  writeHead(status: number, headers: Readonly<Record<string, string | number>> = {}): this {
    for (const [name, value] of Object.entries(headers)) this.setHeader(name, String(value));
    this.statusCode = status;
    this.headersSent = true;
    const mayHaveBody = this.#hasBody && status !== 204 && status !== 304;
    const body = mayHaveBody ? new ReadableStream<Uint8Array>(this.#source, { highWaterMark, size: byLength }) : null;
    this.#answer(new Response(body, { status, headers: this.#headers }));
    return this;
  }

  readonly #source: UnderlyingSource<Uint8Array> = {
    start: (controller) => void (this.#body = controller),
    pull: () => {
      const wanted = this.#wanted; // which may write more, and wait anew
      this.#wanted = undefined;
      wanted?.();
    },
    cancel: () => void this.destroy(),
  };

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: () => void): void {
    if (!this.headersSent) this.writeHead(this.statusCode);
    if (!this.#body) return callback();
    this.#body.enqueue(new Uint8Array(chunk)); // a copy: whoever reads it may do with it what they like
    if ((this.#body.desiredSize ?? 0) > 0) callback();
    else this.#wanted = callback;
  }

  override _final(callback: () => void): void {
    if (!this.headersSent) this.writeHead(this.statusCode);
    this.#body?.close();
    callback();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    if (!this.writableFinished) {
      const cut = error ?? new Error("the answer was cut off");
      this.#fail(cut);
      try {
        this.#body?.error(cut);
      } catch {
        // Its reader has let go of it.
      }
    }
    callback(error);
  }
}

/** Answer a `Request` by what answers Node's requests. */
export async function fetchThrough(
  request: Request,
  serve: (incoming: Incoming, outgoing: Outgoing) => Promise<void>,
): Promise<Response> {
  const incoming = new RequestIncoming(request);
  const outgoing = new ResponseOutgoing(request.method);
  // Told by whoever reads the one, and by the promise of the other.
  incoming.on("error", () => {});
  outgoing.on("error", () => {});
  const leave = (): void => void outgoing.destroy();
  if (request.signal.aborted) leave();
  else request.signal.addEventListener("abort", leave, { once: true });
  outgoing.once("close", () => request.signal.removeEventListener("abort", leave));
  serve(incoming, outgoing).catch((error: Error) => outgoing.destroy(error));
  return outgoing.response;
}
