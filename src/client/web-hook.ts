import { createHmac } from "node:crypto";
import { lookup } from "node:dns";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { BlockList, type LookupFunction, isIP } from "node:net";
import { InvalidArgumentError } from "../db/errors.js";

/** Where web hooks may be sent to. */
export interface WebHookOptions {
  /**
   * Names and addresses that may be asked, and no others: `"hooks.example.com"`, `"*.example.com"`, `"10.0.0.5"`.
   * Default: every host with a public address, and none with a private one.
   */
  readonly allowedHosts?: readonly string[];
}

/** What is sent: where to, what, and what makes it known again. */
export interface WebHookMessage {
  readonly url: string;
  readonly secret: string;
  /** The id of the job: the same for every attempt. */
  readonly id: string;
  readonly body: string;
}

/** How long a receiver may take. */
const timeoutMs = 10_000;

/** Addresses that only this machine, this network or this cloud can reach. */
const inside = new BlockList();
for (const [network, bits] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
] as const)
  inside.addSubnet(network, bits, "ipv4");
for (const [network, bits] of [
  ["::", 127],
  ["64:ff9b::", 96],
  ["fc00::", 7],
  ["fe80::", 10],
  ["ff00::", 8],
] as const)
  inside.addSubnet(network, bits, "ipv6");

/** Whether an address is private; one of IPv4 written as IPv6 too. */
export const isInside = (address: string): boolean => inside.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");

/** It cannot be sent, now or later: the attempt is the last. */
export class WebHookRefusedError extends Error {
  override readonly name = "WebHookRefusedError";
}

/** Check the options once. */
export function checkAllowedHosts(hosts: readonly string[] | undefined): void {
  if (hosts === undefined) return;
  if (!Array.isArray(hosts) || hosts.some((host) => typeof host !== "string" || !/^(\*\.)?[\w.:[\]-]+$/.test(host)))
    throw new InvalidArgumentError(
      "allowedHosts is a list of names of hosts",
      'give ["hooks.example.com", "*.example.com"]',
    );
}

function isAllowed(host: string, allowed: readonly string[]): boolean {
  return allowed.some((one) =>
    one.startsWith("*.") ? host.endsWith(one.slice(1).toLowerCase()) : host === one.toLowerCase(),
  );
}

/**
 * What a receiver checks it by, as Standard Webhooks has it: the SHA-256 HMAC of id, time and body, with the secret.
 * One that begins with `whsec_` is base64.
 */
export function signatureOf({ secret, id, body }: Omit<WebHookMessage, "url">, timestamp: number): string {
  const key = secret.startsWith("whsec_") ? Buffer.from(secret.slice("whsec_".length), "base64") : secret;
  return `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`;
}

/**
 * Send it, once. A redirect is not followed: it is a failure as any other answer than 2xx. The address is looked up
 * once, and what was looked up is what is connected to.
 */
export async function sendWebHook(
  message: WebHookMessage,
  { allowedHosts }: WebHookOptions = {},
  signal?: AbortSignal,
): Promise<number> {
  const url = new URL(message.url);
  const host = url.hostname.replaceAll(/^\[|\]$/g, "").toLowerCase();
  if (allowedHosts && !isAllowed(host, allowedHosts))
    throw new WebHookRefusedError(`the host ${host} is not among those that web hooks may be sent to`);
  const mayBeInside = allowedHosts !== undefined;
  if (!mayBeInside && isIP(host) !== 0 && isInside(host))
    throw new WebHookRefusedError(`${host} is a private address; name it in allowedHosts to allow it`);
  const timestamp = Math.floor(Date.now() / 1000);
  const ask = url.protocol === "https:" ? httpsRequest : httpRequest;
  const status = await new Promise<number>((resolve, reject) => {
    const asked = ask(
      url,
      {
        method: "POST",
        agent: false,
        lookup: mayBeInside ? lookup : publicLookup,
        signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])]),
        headers: {
          "content-type": "application/json",
          "content-length": Buffer.byteLength(message.body),
          "user-agent": "millrace",
          "webhook-id": message.id,
          "webhook-timestamp": String(timestamp),
          "webhook-signature": signatureOf(message, timestamp),
        },
      },
      (response) => {
        response.destroy(); // what it says is of no interest, and may be endless
        resolve(response.statusCode ?? 0);
      },
    );
    asked.on("error", reject);
    asked.end(message.body);
  });
  if (status < 200 || status > 299)
    throw new Error(
      `the web hook at ${url.origin} answered ${status}${status >= 300 && status < 400 ? ", which is not followed" : ""}`,
    );
  return status;
}

/** A name that leads inside is refused when it is looked up, so that nothing can change in between. */
const publicLookup: LookupFunction = (name, options, done) =>
  lookup(name, { ...options, all: true }, (error, addresses) => {
    const found = addresses?.find(({ address }) => isInside(address));
    if (error) done(error, "");
    else if (found)
      done(new WebHookRefusedError(`${name} has a private address; name it in allowedHosts to allow it`), "");
    else if (options.all) done(null, addresses);
    else done(null, addresses[0]!.address, addresses[0]!.family);
  });
