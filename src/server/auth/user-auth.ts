import { ApiError } from "../api/problem.js";
import type { Exchange, Incoming } from "../http/exchange.js";
import { type Auth, type RateOptions, anyoneName, defaultRate, tooMany, wrongRate } from "./auth.js";
import { RateLimit } from "./rate.js";
import { type Role, mayAct } from "./roles.js";
import type { Identity } from "./tokens.js";

/** Whom the application has signed in: it said so when the request came, before anything else was looked at. */
export class UserAuth implements Auth {
  readonly isOpen = false;
  readonly isMounted = true;
  readonly #rate: RateLimit;
  readonly #wrong = new RateLimit(wrongRate.perSecond, wrongRate.burst);

  constructor(
    rate: RateOptions = defaultRate,
    readonly longestMs = 60_000,
  ) {
    this.#rate = new RateLimit(rate.perSecond, rate.burst);
  }

  admit({ request, user }: Exchange, needs: Role): Identity {
    if (!user)
      throw new ApiError("noUser", "nobody is signed in", "sign in to the application, and load the page again");
    refuseOtherSites(request);
    const waitSeconds = this.#rate.take(user.name);
    if (waitSeconds > 0) throw tooMany(waitSeconds, `"${user.name}" asks too often`);
    if (!mayAct(user.role, needs))
      throw new ApiError(
        "forbidden",
        `"${user.name}" is a ${user.role}; this needs the role ${needs}`,
        `have the application give them the role ${needs}`,
      );
    return user;
  }

  admitAnyone({ address }: Exchange): Identity {
    const waitSeconds = Math.max(this.#wrong.wait(address), this.#rate.take(anyoneName));
    if (waitSeconds > 0) throw tooMany(waitSeconds, "too many requests of this kind, or wrong ones from this address");
    return { name: anyoneName, role: "reader" };
  }

  noteWrong({ address }: Exchange): void {
    this.#wrong.take(address);
  }

  /** Until the answer has lasted as long as it may. */
  knows(): boolean {
    return true;
  }
}

/**
 * A browser sends the application's cookies with requests that pages of other sites make. It says of each where it
 * comes from (`Sec-Fetch-Site`), on plain HTTP too by its `Origin`; what says neither comes from no browser.
 * `X-Forwarded-Host` may be believed here: no page can set it for another site that has not allowed that.
 */
function refuseOtherSites({ headers }: Incoming): void {
  const { origin, host, [siteHeader]: site } = headers;
  const isOwn =
    site !== undefined
      ? site === "same-origin" || site === "none"
      : origin === undefined ||
        (URL.canParse(origin) && [host, headers["x-forwarded-host"]].includes(new URL(origin).host));
  if (!isOwn)
    throw new ApiError(
      "foreign",
      `pages of ${origin === undefined ? "other sites" : `"${origin.slice(0, 100)}"`} may not use this`,
      "open the dashboard itself; a proxy before it must pass Host on, or send X-Forwarded-Host",
    );
}

const siteHeader = "sec-fetch-site";
