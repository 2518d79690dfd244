import { ApiError } from "../api/problem.js";
import type { Exchange } from "../http/exchange.js";
import { refuseForeign } from "./loopback.js";
import { RateLimit } from "./rate.js";
import { type Role, mayAct } from "./roles.js";
import { type Identity, type TokenEntry, findToken } from "./tokens.js";

/** How often a token may ask, and an address may be wrong. */
export interface RateOptions {
  readonly perSecond: number;
  readonly burst: number;
}

const defaultRate: RateOptions = { perSecond: 1000, burst: 2000 };
/** Wrong tokens from one address: enough for a mistake in a configuration, too few to guess with. */
const wrongRate: RateOptions = { perSecond: 5, burst: 100 };

/** Those who need no token, as the audit names them. No token has such a name. */
const anyoneName = "(anyone)";

/** Who may ask for what: tokens, or, on this machine only, everybody. */
export class Auth {
  #entries: readonly TokenEntry[] | undefined;
  readonly #rate: RateLimit;
  readonly #wrong = new RateLimit(wrongRate.perSecond, wrongRate.burst);

  constructor(entries: readonly TokenEntry[] | undefined, rate: RateOptions = defaultRate) {
    this.#entries = entries;
    this.#rate = new RateLimit(rate.perSecond, rate.burst);
  }

  /** No tokens were given. */
  get isOpen(): boolean {
    return this.#entries === undefined;
  }

  /** Other tokens from now on. */
  replace(entries: readonly TokenEntry[]): void {
    this.#entries = entries;
  }

  /** Whether whoever asked is still known: for answers that may last longer than their token. */
  knows({ request }: Exchange): boolean {
    return this.#entries === undefined || tokenOwner(request, this.#entries) !== undefined;
  }

  /** Whoever asks, when they may ask for this. */
  admit({ request }: Exchange, needs: Role): Identity {
    const identity = this.#entries === undefined ? this.#anybody(request) : this.#bearer(request, this.#entries);
    const waitSeconds = this.#rate.take(identity.name);
    if (waitSeconds > 0) throw tooMany(waitSeconds, `"${identity.name}" asks too often`);
    if (!mayAct(identity.role, needs))
      throw new ApiError(
        "forbidden",
        `"${identity.name}" is a ${identity.role}; this needs the role ${needs}`,
        `use a token of the role ${needs}`,
      );
    return identity;
  }

  /**
   * Whoever asks for what needs no token, because the path has the right in it. All of them together are one who asks;
   * an address that was wrong too often has to wait.
   */
  admitAnyone({ request }: Exchange): Identity {
    if (this.#entries === undefined) refuseForeign(request);
    const waitSeconds = Math.max(this.#wrong.wait(addressOf(request)), this.#rate.take(anyoneName));
    if (waitSeconds > 0) throw tooMany(waitSeconds, "too many requests of this kind, or wrong ones from this address");
    return { name: anyoneName, role: "reader" };
  }

  /** What was asked for in a path that needs no token was wrong. */
  noteWrong({ request }: Exchange): void {
    this.#wrong.take(addressOf(request));
  }

  #anybody(request: Exchange["request"]): Identity {
    refuseForeign(request);
    return { name: "local", role: "admin" };
  }

  #bearer(request: Exchange["request"], entries: readonly TokenEntry[]): Identity {
    const found = tokenOwner(request, entries);
    if (found) return found;
    const waitSeconds = this.#wrong.take(addressOf(request));
    if (waitSeconds > 0) throw tooMany(waitSeconds, "too many wrong tokens from this address");
    throw new ApiError(
      "noToken",
      tokenOf(request) === undefined ? "there is no token" : "nobody has this token",
      'send "Authorization: Bearer TOKEN"; "millrace tokens new" makes one',
      { "www-authenticate": 'Bearer realm="millrace"' },
    );
  }
}

const addressOf = (request: Exchange["request"]): string => request.socket.remoteAddress ?? "";

function tokenOf(request: Exchange["request"]): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? "")?.[1];
}

function tokenOwner(request: Exchange["request"], entries: readonly TokenEntry[]): Identity | undefined {
  const token = tokenOf(request);
  return token === undefined ? undefined : findToken(entries, token);
}

function tooMany(waitSeconds: number, message: string): ApiError {
  return new ApiError("tooMany", message, "wait for as long as Retry-After says", {
    "retry-after": String(Math.ceil(waitSeconds)),
  });
}
