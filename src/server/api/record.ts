import type { Identity } from "../auth/tokens.js";
import { clip } from "../http/clip.js";
import type { Exchange } from "../http/exchange.js";
import { maxObjectCharacters } from "../http/limits.js";
import type { ApiParts, Call, Mill, Route } from "./route.js";
import { DatabaseUnavailableError } from "../../db/errors.js";
import { exactText } from "../../db/exact-json.js";
import type { Json } from "../../db/types.js";
import { bounded } from "../bounded.js";
import { problemOf } from "./problem.js";

/** Of one value that the audit shows before and after. */
const maxValueCharacters = 1000;

/** How what was done comes on record: `Call.act` and `Call.pretend` of one request. */
export function recorder(
  route: Route,
  exchange: Exchange,
  identity: Identity,
  { engine }: Mill,
  { log }: ApiParts,
  body: unknown,
): Pick<Call, "act" | "pretend"> {
  const entry = (object: string, result: string, count?: number) => ({
    who: identity.name,
    action: `${route.method} ${route.path}`,
    object: clip(object, maxObjectCharacters),
    result,
    ...(count === undefined ? {} : { count }),
    address: exchange.address,
    requestId: exchange.id,
    because: reasonOf(body),
  });
  return {
    async act(object, work, settings) {
      try {
        return await bounded(engine, async (tx) => {
          const before = settings && (await engine.server.settings(settings, { tx }));
          const done = await work(tx);
          const what = typeof object === "string" ? object : object(done);
          const after = settings && (await engine.server.settings(settings, { tx }));
          const change = changeOf(before ?? null, after ?? null);
          await engine.server.auditAdd({ ...entry(what, "done", countOf(done)), ...change }, { tx });
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

/** Why, where the request says so. */
function reasonOf(body: unknown): string | null {
  const because = (body as { because?: unknown } | null | undefined)?.because;
  return typeof because === "string" && because !== "" ? because : null;
}

type Settings = Readonly<Record<string, Json>> | null;

/** Only what differs, and of long values how long they are. Of what was not there, or is not there any more, null. */
function changeOf(before: Settings, after: Settings): { readonly before?: Settings; readonly after?: Settings } {
  const keys = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  const changed = [...keys].filter((key) => exactText(before?.[key]) !== exactText(after?.[key]));
  if (changed.length === 0) return {};
  const part = (all: Settings) =>
    all && Object.fromEntries(changed.filter((key) => key in all).map((key) => [key, short(all[key]!)]));
  return { before: part(before), after: part(after) };
}

function short(value: Json): Json {
  const { length } = exactText(value) ?? "";
  return length > maxValueCharacters ? `(${length.toLocaleString("en")} letters)` : value;
}
