import { BlockList, isIP } from "node:net";
import { InvalidArgumentError } from "../../db/errors.js";
import type { Incoming } from "./exchange.js";

/** How a server comes to know what its clients call it. */
export interface AddressOptions {
  /** The whole address, the path included. */
  readonly publicUrl?: string | undefined;
  /** Addresses and networks of proxies whose `X-Forwarded-…` headers are believed. */
  readonly trustProxy?: readonly string[] | undefined;
  /** What everything is served under. */
  readonly prefix: string;
}

/**
 * What the client of a request calls this server, without a slash at the end: the public URL if there is one, else what
 * a proxy says that is trusted, else `http://` and what the client itself says.
 */
export function addressOf({ publicUrl, trustProxy = [], prefix }: AddressOptions): (request: Incoming) => string {
  if (publicUrl !== undefined) {
    const address = checkPublicUrl(publicUrl);
    return () => address;
  }
  const trusted = proxiesOf(trustProxy);
  return (request) => {
    const isTrusted = trustProxy.length > 0 && isAmong(trusted, request.socket.remoteAddress);
    const forwarded = (name: string, pattern: RegExp): string | undefined =>
      isTrusted ? lastOf(request, name, pattern) : undefined;
    const scheme = forwarded("x-forwarded-proto", /^https?$/i)?.toLowerCase() ?? "http";
    const host =
      forwarded("x-forwarded-host", /^(\[[\da-f:.]+\]|[\w.-]+)(:\d{1,5})?$/i) ?? request.headers.host ?? "localhost";
    return `${scheme}://${host}${prefix}`;
  };
}

/**
 * Where a request comes from: the address of its connection; behind proxies that are trusted, the last address of
 * `X-Forwarded-For` that is none of theirs. What stands before it may be invented.
 */
export function clientAddressOf(trustProxy: readonly string[] = []): (request: Incoming) => string | undefined {
  const trusted = proxiesOf(trustProxy);
  return (request) => {
    const { remoteAddress } = request.socket;
    if (trustProxy.length === 0 || !isAmong(trusted, remoteAddress)) return remoteAddress;
    const told = (request.headersDistinct["x-forwarded-for"] ?? []).flatMap((value) => value.split(","));
    let client = remoteAddress;
    for (const one of told.map((entry) => entry.trim()).toReversed()) {
      if (isIP(one) === 0) break;
      client = one;
      if (!isAmong(trusted, one)) break;
    }
    return client;
  };
}

/** A URL that others can be put together from. */
function checkPublicUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (
    !url ||
    !/^https?:$/.test(url.protocol) ||
    url.username ||
    url.password ||
    url.search ||
    url.hash ||
    !/^https?:\/\//i.test(text)
  ) {
    throw new InvalidArgumentError(
      `the public URL cannot be "${text}"`,
      'give what clients call the server, such as "https://queue.example.com" or "https://example.com/queue"',
    );
  }
  return url.href.replace(/\/+$/, "");
}

function proxiesOf(entries: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of entries) {
    const [address = "", bits, ...rest] = entry.split("/");
    const family = isIP(address);
    const most = family === 6 ? 128 : 32;
    if (family === 0 || rest.length > 0 || (bits !== undefined && (!/^\d{1,3}$/.test(bits) || Number(bits) > most))) {
      throw new InvalidArgumentError(
        `"${entry}" is not the address of a proxy`,
        'give an IP address or a network, such as "10.0.0.7" or "10.0.0.0/8"',
      );
    }
    list.addSubnet(address, Number(bits ?? most), family === 6 ? "ipv6" : "ipv4");
  }
  return list;
}

/** Where a socket listens for both, addresses of the fourth version are written as if they were of the sixth. */
function isAmong(list: BlockList, address = ""): boolean {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, "");
  return isIP(plain) !== 0 && list.check(plain, isIP(plain) === 6 ? "ipv6" : "ipv4");
}

/** What the nearest proxy says: it appends to what it was given, and what stands before may be anybody's. */
function lastOf(request: Incoming, name: string, pattern: RegExp): string | undefined {
  const last = request.headersDistinct[name]?.at(-1)?.split(",").at(-1)?.trim();
  return last !== undefined && pattern.test(last) ? last : undefined;
}
