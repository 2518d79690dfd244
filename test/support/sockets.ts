import { type Socket, connect } from "node:net";
import { until } from "./wait.js";

/** A connection of one's own, for what no HTTP client sends. */
export interface RawClient {
  readonly socket: Socket;
  /** All that came back. */
  readonly received: () => string;
  /** Wait until this came back. */
  readonly got: (text: string) => Promise<void>;
}

/**
 * Begin a request and leave it there. With `expect: 100-continue` among the headers, the server says when it has seen
 * them.
 */
export function beginRequest(url: string, first: string, headers: Readonly<Record<string, string>>): RawClient {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let text = "";
  socket.on("error", () => {});
  socket.on("data", (chunk) => (text += String(chunk)));
  const lines = Object.entries({ host: `${hostname}:${port}`, ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  socket.write(`${first} HTTP/1.1\r\n${lines.join("")}\r\n`);
  return { socket, received: () => text, got: (part) => until(`it answers ${part}`, () => text.includes(part)) };
}
