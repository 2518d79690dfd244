import type { Identity } from "../auth/tokens.js";
import { clip } from "../http/clip.js";
import type { Exchange } from "../http/exchange.js";
import { mostObjectCharacters } from "../http/limits.js";
import type { ApiParts, Call, Mill, Route } from "./route.js";
import { DatabaseUnavailableError } from "../../db/errors.js";
import { bounded } from "../bounded.js";
import { problemOf } from "./problem.js";

/** How what was done comes on record: `Call.act` and `Call.pretend` of one request. */
export function recorder(
  route: Route,
  exchange: Exchange,
  identity: Identity,
  { engine }: Mill,
  { log }: ApiParts,
): Pick<Call, "act" | "pretend"> {
  const entry = (object: string, result: string, count?: number) => ({
    who: identity.name,
    action: `${route.method} ${route.path}`,
    object: clip(object, mostObjectCharacters),
    result,
    ...(count === undefined ? {} : { count }),
    address: exchange.request.socket.remoteAddress ?? "",
    requestId: exchange.id,
  });
  return {
    async act(object, work) {
      try {
        return await bounded(engine, async (tx) => {
          const done = await work(tx);
          const what = typeof object === "string" ? object : object(done);
          await engine.server.auditAdd(entry(what, "done", countOf(done)), { tx });
          return done;
        });
      } catch (error) {
        if (error instanceof DatabaseUnavailableError) throw error; // there is nowhere to note it
        if (typeof object !== "string") throw error; // nobody knows what it would have been done to
        const result = problemOf(error, exchange.id)?.problem.code ?? "error";
        await engine.server
          .auditAdd(entry(object, result))
          .catch((lost) =>
            log("warn", "could not record an act that failed", { id: exchange.id, error: String(lost) }),
          );
        throw error;
      }
    },
    async pretend(work) {
      let pretended: { readonly done: Awaited<ReturnType<typeof work>> } | undefined;
      const back = new Error("taken back");
      await bounded(engine, async (tx) => {
        pretended = { done: await work(tx) };
        throw back;
      }).catch((error) => {
        if (error !== back) throw error;
      });
      return pretended!.done;
    },
  };
}

/** How many were touched, where the act says so. */
function countOf(done: unknown): number | undefined {
  if (typeof done === "number") return done;
  const count = (done as { count?: unknown } | null | undefined)?.count;
  return typeof count === "number" ? count : undefined;
}
