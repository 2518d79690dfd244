import { createHash } from "node:crypto";
import { InvalidArgumentError } from "../../db/errors.js";
import type { Queryable } from "../../db/queryable.js";
import type { Json } from "../../db/types.js";
import { ApiError } from "./problem.js";
import type { Call } from "./route.js";

/** Do it; with an Idempotency-Key do it once, and give the first answer to whoever asks again with the same key and body within a day. */
export async function onceFor<T>({ exchange, identity, mill, body }: Call, plain: () => Promise<T>, work: (tx: Queryable) => Promise<T>): Promise<T> {
  const key = exchange.request.headers["idempotency-key"];
  if (key === undefined) return plain();
  if (typeof key !== "string" || !/^[\x21-\x7e]{1,255}$/.test(key))
    throw new InvalidArgumentError("the Idempotency-Key cannot be used", "give 1 to 255 printable characters without spaces");
  const request = createHash("sha256")
    .update(`${exchange.path}\n${JSON.stringify(body)}`)
    .digest("hex");
  // A key is its sender's own: nobody learns of, or gets in the way of, what others did.
  const found = await mill.engine.server.once(`${identity.name} ${key}`, request, work as (tx: Queryable) => Promise<Json>);
  if (!found) throw new ApiError("keyReused", `the Idempotency-Key "${key}" was used for another request`, "use a new key for each request");
  if (!found.isNew) exchange.response.setHeader("idempotency-replayed", "true");
  return found.answer as T;
}
