import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { type IncomingMessage, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import type { WireRequest } from "../../../src/server/sqs/wire/request.js";
import { type Access, type Call, readRequest, writeError, writeOutput } from "../../../src/server/sqs/wire/wire.js";

export const keys = [
  { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", account: "123456789012" },
  { accessKeyId: "AKIDOTHER", secretAccessKey: "another secret" },
];

/** A server that is nothing but wire: it takes every call down and answers what the test has laid ready. */
export class CannedServer {
  readonly calls: Call[] = [];
  /** Every request as it came, to be sent again or changed. */
  readonly requests: WireRequest[] = [];
  /** Given to the next calls: an output, or an error to throw. */
  reply: unknown = {};
  url = "";
  readonly #server = createServer((request, response) => {
    void this.#take(request).then(({ status, headers, body }) => {
      response.writeHead(status, {
        ...headers,
        date: new Date(this.now()).toUTCString(),
        "content-length": String(Buffer.byteLength(body)),
      });
      response.end(body);
    });
  });

  constructor(
    private readonly access: Access,
    private readonly now: () => number = Date.now,
  ) {}

  async start(): Promise<void> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, "close");
  }

  get lastCall(): Call {
    return this.calls.at(-1)!;
  }

  async #take(request: IncomingMessage) {
    const url = request.url!;
    const wireRequest = {
      id: randomUUID(),
      method: request.method!,
      url,
      path: url.replace(/\?.*/s, ""),
      headers: { ...request.headersDistinct },
      body: await buffer(request),
    };
    this.requests.push(wireRequest);
    const read = readRequest(wireRequest, this.access, this.now());
    if ("refusal" in read) return read.refusal;
    this.calls.push(read.call);
    return this.reply instanceof Error
      ? writeError(read.call.replyTo, this.reply)
      : writeOutput(read.call, this.reply as never);
  }
}
