/** What is known of an HTTP request before its body is read. */
export interface WireHead {
  /** A UUID; the answer carries it. */
  readonly id: string;
  readonly method: string;
  /** The request target as sent, with prefix and query string: signatures cover it. */
  readonly url: string;
  /** The path without the server's prefix. */
  readonly path: string;
  /** As in `IncomingMessage.headersDistinct`: every value of every header. */
  readonly headers: Readonly<Record<string, readonly string[] | undefined>>;
}

/** What wire needs to know of an HTTP request. */
export interface WireRequest extends WireHead {
  /** As sent; signatures cover its bytes. */
  readonly body: Buffer;
}

/**
 * A header by its lower-case name. One that was sent twice comes as one value with a comma, which none of those read
 * here may have.
 */
export function headerOf(request: Pick<WireHead, "headers">, name: string): string | undefined {
  return Object.hasOwn(request.headers, name) ? request.headers[name]?.join(",") : undefined;
}

/** Path and query string of the request target, as sent. */
export function targetOf(request: WireHead): { readonly path: string; readonly search: string } {
  const at = request.url.indexOf("?");
  return at < 0
    ? { path: request.url, search: "" }
    : { path: request.url.slice(0, at), search: request.url.slice(at + 1) };
}
