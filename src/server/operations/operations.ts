import { problemOf } from "../api/problem.js";
import type { Auth } from "../auth/auth.js";
import { type Exchange, type Part, answer } from "../http/exchange.js";
import type { ServedCell } from "../cells.js";
import type { Live } from "../live/live.js";
import type { ServerMetrics } from "./metrics.js";

export const operationPaths: readonly string[] = ["/healthz", "/readyz", "/metrics"];

const readyMs = 1000;
const patienceMs = 5000;

export interface OperationParts {
  readonly served: () => Promise<readonly ServedCell[]>;
  readonly auth: Auth;
  readonly live: Live;
  readonly metrics: ServerMetrics;
  /** True from the moment somebody wants the server to stop. */
  readonly isStopping: () => boolean;
}

/** What orchestrators, load balancers and Prometheus ask for. */
export function operationsPart({ served, auth, live, metrics, isStopping }: OperationParts): Part {
  const ready = readiness(served);
  return async (exchange) => {
    const { path, request } = exchange;
    if (request.method !== "GET" && request.method !== "HEAD")
      return say(exchange, 405, "use GET\n", { allow: "GET, HEAD" });
    if (path === "/healthz") return say(exchange, 200, "ok\n");
    if (path === "/readyz") {
      const problem = isStopping() ? "stopping" : await ready();
      return problem === undefined
        ? say(exchange, 200, "ok\n")
        : say(exchange, 503, `${problem}\n`, { "retry-after": "1" });
    }
    try {
      auth.admit(exchange, "reader");
      const text = await metrics.text(live, served);
      return answer(
        exchange,
        200,
        { "content-type": "text/plain; version=0.0.4; charset=utf-8", "cache-control": "no-store" },
        text,
      );
    } catch (error) {
      const found = problemOf(error, exchange.id);
      if (!found) throw error;
      return say(exchange, found.problem.status, `${found.problem.detail}\n`, found.headers);
    }
  };
}

function say(exchange: Exchange, status: number, text: string, headers: Readonly<Record<string, string>> = {}): void {
  answer(
    exchange,
    status,
    { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store", ...headers },
    text,
  );
}

/** Why no work can be taken, if so, in no cell: asked of the database once a second at most, however many ask. */
function readiness(served: OperationParts["served"]): () => Promise<string | undefined> {
  let known: { readonly at: number; readonly problem: Promise<string | undefined> } | undefined;
  return async () => {
    if (!known || performance.now() - known.at > readyMs) {
      const late = new Promise<string>((resolve) =>
        setTimeout(() => resolve("the database does not answer"), patienceMs).unref(),
      );
      // Whoever asks need not be known, so that they are not told where the database is.
      const look = served()
        .then((cells) => Promise.any(cells.map(({ engine }) => engine.check())))
        .then(() => undefined, problemText);
      known = { at: performance.now(), problem: Promise.race([look, late]) };
    }
    return known.problem;
  };
}

function problemText(thrown: unknown): string {
  const { code } = (thrown instanceof AggregateError ? thrown.errors[0] : thrown) as { readonly code?: string };
  if (code === "MR009") return "the database is not available";
  return code === "MR008" ? "the schema does not fit this release" : "the database cannot be used";
}
