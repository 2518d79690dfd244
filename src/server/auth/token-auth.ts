import { ApiError } from "../api/problem.js";
import type { Exchange } from "../http/exchange.js";
import { type Auth, type RateOptions, anyoneName, defaultRate, tooMany, wrongRate } from "./auth.js";
import { refuseForeign } from "./loopback.js";
import { RateLimit } from "./rate.js";
import { type Role, mayAct } from "./roles.js";
import { type Identity, type TokenEntry, findToken } from "./tokens.js";

/** Who may ask for what: tokens, or, on this machine only, everybody. */
export class TokenAuth implements Auth {
  readonly isMounted = false;
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
  admit(exchange: Exchange, needs: Role): Identity {
    const identity =
      this.#entries === undefined ? this.#anybody(exchange.request) : this.#bearer(exchange, this.#entries);
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
  admitAnyone({ request, address }: Exchange): Identity {
    if (this.#entries === undefined) refuseForeign(request);
    const waitSeconds = Math.max(this.#wrong.wait(address), this.#rate.take(anyoneName));
    if (waitSeconds > 0) throw tooMany(waitSeconds, "too many requests of this kind, or wrong ones from this address");
    return { name: anyoneName, role: "reader" };
  }

  /** What was asked for in a path that needs no token was wrong. */
  noteWrong({ address }: Exchange): void {
    this.#wrong.take(address);
  }

  #anybody(request: Exchange["request"]): Identity {
    refuseForeign(request);
    return { name: "local", role: "admin" };
  }

  #bearer({ request, address }: Exchange, entries: readonly TokenEntry[]): Identity {
    const found = tokenOwner(request, entries);
    if (found) return found;
    const waitSeconds = this.#wrong.take(address);
    if (waitSeconds > 0) throw tooMany(waitSeconds, "too many wrong tokens from this address");
    throw new ApiError(
      "noToken",
      tokenOf(request) === undefined ? "there is no token" : "nobody has this token",
      'send "Authorization: Bearer TOKEN"; "millrace tokens new" makes one',
      { "www-authenticate": 'Bearer realm="millrace"' },
    );
  }
}

function tokenOf(request: Exchange["request"]): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? "")?.[1];
}

function tokenOwner(request: Exchange["request"], entries: readonly TokenEntry[]): Identity | undefined {
  const token = tokenOf(request);
  return token === undefined ? undefined : findToken(entries, token);
}
