import { ApiError } from "../api/problem.js";
import type { Exchange } from "../http/exchange.js";
import type { Role } from "./roles.js";
import type { Identity } from "./tokens.js";

/** Who may ask for what: by tokens (`TokenAuth`), or by whom the application has signed in (`UserAuth`). */
export interface Auth {
  /** Nobody is asked who they are. */
  readonly isOpen: boolean;
  /** The application has signed in whoever asks. */
  readonly isMounted: boolean;
  /** After this long an answer that lasts ends, so that whoever reads it is asked again who they are. Default never. */
  readonly longestMs?: number;
  /** Whoever asks, when they may ask for this. Throws otherwise. */
  admit(exchange: Exchange, needs: Role): Identity;
  /** Whoever asks for what has the right in its path. */
  admitAnyone(exchange: Exchange): Identity;
  /** What was asked for in such a path was wrong. */
  noteWrong(exchange: Exchange): void;
  /** Whether whoever asked is still known. */
  knows(exchange: Exchange): boolean;
}

/** How often one who asks may do so, and an address may be wrong. */
export interface RateOptions {
  /** In the long run. */
  readonly perSecond: number;
  /** At once, after a quiet time. */
  readonly burst: number;
}

export const defaultRate: RateOptions = { perSecond: 1000, burst: 2000 };
/** Wrong tokens from one address: enough for a mistake in a configuration, too few to guess with. */
export const wrongRate: RateOptions = { perSecond: 5, burst: 100 };

/** Those who need no token, as the audit names them. No token has such a name. */
export const anyoneName = "(anyone)";

export function tooMany(waitSeconds: number, message: string): ApiError {
  return new ApiError("tooMany", message, "wait for as long as Retry-After says", {
    "retry-after": String(Math.ceil(waitSeconds)),
  });
}
