import { createHash } from "node:crypto";
import { InvalidArgumentError } from "../../db/errors.js";
import { exactText } from "../../db/exact-json.js";
import type { Queryable } from "../../db/queryable.js";
import type { Json, NewJob } from "../../db/types.js";
import { bounded } from "../bounded.js";
import { ApiError } from "./problem.js";
import type { Call } from "./route.js";

/**
 * Enqueue; with an Idempotency-Key once, and whoever asks again with the same key and body within a day gets the first
 * answer. Keys and fingerprints wait for whoever else uses them just now, and not for long; all other jobs wait for
 * nobody, and need no transaction of their own.
 */
export async function enqueueOnce<T>(
  call: Call,
  jobs: readonly NewJob[],
  enqueue: (options?: { readonly tx: Queryable }) => Promise<T>,
): Promise<T> {
  const { exchange, identity, mill, waits } = call;
  const key = keyOf(call);
  if (key === undefined)
    return jobs.every((job) => job.fingerprint === undefined)
      ? enqueue()
      : waits(() => bounded(mill.engine, (tx) => enqueue({ tx })));
  const request = createHash("sha256")
    .update(`${exchange.path}\n${exactText(call.body)}`)
    .digest("hex");
  // A key is its sender's own: nobody learns of, or gets in the way of, what others did.
  const once = (tx: Queryable) =>
    mill.engine.server.once(`${identity.name} ${key}`, request, () => enqueue({ tx }) as Promise<Json>, { tx });
  const found = await waits(() => bounded(mill.engine, once));
  if (!found)
    throw new ApiError(
      "keyReused",
      `the Idempotency-Key "${key}" was used for another request`,
      "use a new key for each request",
    );
  if (!found.isNew) exchange.response.setHeader("idempotency-replayed", "true");
  return found.answer as T;
}

function keyOf({ exchange }: Call): string | undefined {
  const key = exchange.request.headers["idempotency-key"];
  if (key === undefined || (typeof key === "string" && /^[\x21-\x7e]{1,255}$/.test(key))) return key;
  throw new InvalidArgumentError(
    "the Idempotency-Key cannot be used",
    "give 1 to 255 printable characters without spaces",
  );
}
