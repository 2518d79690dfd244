import { ApiError } from "../api/problem.js";
import type { Incoming } from "../http/exchange.js";

/** This machine, by name or address. */
export function isLoopback(host: string): boolean {
  const plain = host.replace(/^\[|\]$/g, "").toLowerCase();
  return (
    plain === "localhost" ||
    plain.endsWith(".localhost") ||
    plain === "::1" ||
    /^127(\.\d{1,3}){3}$/.test(plain) ||
    plain === "::ffff:127.0.0.1"
  );
}

/**
 * Without tokens, everybody on this machine may do everything, and so may a page in their browser: a name of the page's
 * own that points to 127.0.0.1 (Host), or a form sent from elsewhere (Origin). Both are refused.
 */
export function refuseForeign(request: Incoming): void {
  const { host = "", origin } = request.headers;
  const url = URL.canParse(`http://${host}`) ? new URL(`http://${host}`) : undefined;
  if (!url || host === "" || !isLoopback(url.hostname))
    throw new ApiError(
      "foreign",
      `this server does not answer to "${host.slice(0, 100)}"`,
      "use localhost or 127.0.0.1, or start the server with tokens",
    );
  if (origin !== undefined && (!URL.canParse(origin) || new URL(origin).host !== url.host))
    throw new ApiError(
      "foreign",
      `pages of "${origin.slice(0, 100)}" may not use this server`,
      "open the dashboard of this server, or start it with tokens",
    );
}
