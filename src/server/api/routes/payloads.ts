import { once } from "node:events";
import { z } from "../../zod.js";
import { InvalidArgumentError } from "../../../db/errors.js";
import { bounded } from "../../bounded.js";
import { checkValue } from "../check.js";
import { fromJson, toJsonText } from "../json.js";
import { streamedJob, toNewJob } from "../new-job.js";
import { ApiError } from "../problem.js";
import { type Call, route } from "../route.js";
import { enqueued } from "../schemas.js";
import { noJob, traced } from "./jobs.js";

const pieceBytes = 1_048_576;

export const payloadRoutes = [
  route({
    method: "POST",
    path: "/jobs/stream",
    role: "producer",
    summary:
      "enqueue one job whose payload is the body, of any content type and up to the payload limit; `job` is the rest of it, as JSON",
    query: z.strictObject({ job: z.string().max(16_384) }),
    answer: enqueued,
    async handle(call) {
      const { mill, query, wake, identity, shares } = call;
      const { request, body } = call.exchange;
      if (body && !body.isExact)
        throw new InvalidArgumentError(
          "the application has parsed the body, and what was sent is not known any more",
          "mount the handler before parsers of bodies, or have them keep the bytes (rawBody)",
        );
      if (request.headers["idempotency-key"] !== undefined)
        throw new InvalidArgumentError(
          "a stream cannot be compared with an earlier one, so that an Idempotency-Key would promise too much",
          "give the job a fingerprint",
        );
      const job = traced(call, toNewJob(checkValue(streamedJob, parsed(query.job), "job")));
      await mill.inputs.check([job]);
      const size = Number(request.headers["content-length"] ?? Number.NaN);
      if (!Number.isSafeInteger(size))
        throw new InvalidArgumentError("the length of the payload is not known", "send Content-Length");
      if (!shares.uploads.take(identity.name))
        throw new ApiError("busy", "too many payloads are on their way already", "try again", {
          "retry-after": "1",
          connection: "close",
        });
      try {
        const contentType = job.contentType ?? request.headers["content-type"];
        const typed = { ...job, ...(contentType === undefined ? {} : { contentType }) };
        const answer = await bounded(mill.engine, (tx) =>
          mill.engine.enqueueStream(typed, size, body ? [body.bytes] : request, { tx }),
        );
        wake(job.queue ?? "default");
        return answer;
      } finally {
        shares.uploads.give(identity.name);
      }
    },
  }),
  route({
    method: "GET",
    path: "/jobs/{id}/payload",
    role: "reader",
    summary:
      "the bytes of a job: its payload, or its input or result as JSON; a part of them with Range, or with offset and length",
    query: z.strictObject({
      part: z.enum(["payload", "input", "result"]).default("payload"),
      offset: z.coerce.number().int().min(0).optional(),
      length: z.coerce.number().int().min(1).optional(),
    }),
    answer: { raw: "application/octet-stream" },
    async handle(call) {
      const { mill, params, query } = call;
      const id = params["id"]!;
      const found = await mill.engine.get(id);
      if (!found) throw noJob(id);
      if (query.part !== "payload") {
        const bytes = Buffer.from(toJsonText(found.job[query.part]));
        return send(call, bytes.length, "json", async (offset, length) => bytes.subarray(offset, offset + length));
      }
      if (found.job.payloadSize === null)
        throw new ApiError("noRoute", `job ${id} has no payload`, "ask for part=input or part=result");
      return send(
        call,
        found.job.payloadSize,
        "bin",
        async (offset, length) => (await mill.engine.payloadRead(id, offset, length)) ?? new Uint8Array(),
      );
    },
  }),
];

/** Whatever it is, a browser keeps it as a file and runs nothing of it. */
async function send(
  {
    exchange,
    params,
    query,
  }: Call<{ readonly part: string; readonly offset?: number | undefined; readonly length?: number | undefined }>,
  size: number,
  kind: string,
  read: (offset: number, length: number) => Promise<Uint8Array>,
): Promise<void> {
  const { request, response, signal } = exchange;
  const asked = rangeOf(request.headers.range, size);
  const first = query.offset ?? asked?.first ?? 0;
  const end = Math.min(
    size,
    query.length !== undefined ? first + query.length : query.offset === undefined && asked ? asked.end : size,
  );
  if (first > 0 && first >= size)
    throw new ApiError("range", `there are ${size} bytes, and ${first} is beyond them`, "ask for what there is", {
      "content-range": `bytes */${size}`,
    });
  const isPart = first > 0 || end < size;
  response.writeHead(isPart ? 206 : 200, {
    "content-type": "application/octet-stream",
    "content-length": String(end - first),
    "content-disposition": `attachment; filename="job-${params["id"]}-${query.part}.${kind}"`,
    "content-security-policy": "sandbox; default-src 'none'",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    "accept-ranges": "bytes",
    ...(isPart ? { "content-range": `bytes ${first}-${end - 1}/${size}` } : {}),
  });
  if (request.method === "HEAD") return;
  for (let offset = first; offset < end && !signal.aborted;) {
    const bytes = await read(offset, Math.min(pieceBytes, end - offset));
    // removed meanwhile: cut the connection, or the next answer would be taken for the rest
    if (bytes.length === 0) throw new Error(`the payload of job ${params["id"]} ended at ${offset}, before its size`);
    offset += bytes.length;
    if (!response.write(bytes)) await once(response, "drain", { signal }).catch(() => {});
  }
  response.end();
}

/** One range of bytes; several at once are answered with everything, as HTTP allows. */
function rangeOf(
  header: string | undefined,
  size: number,
): { readonly first: number; readonly end: number } | undefined {
  const [, from = "", to = ""] = /^bytes=(\d*)-(\d*)$/.exec(header ?? "") ?? [];
  if (from === "" && to === "") return undefined;
  if (from === "") return { first: Math.max(0, size - Number(to)), end: size };
  const first = Number(from);
  const end = to === "" ? size : Math.min(size, Number(to) + 1);
  if (first >= size || end <= first)
    throw new ApiError("range", `there are ${size} bytes, and no such range of them`, "ask for what there is", {
      "content-range": `bytes */${size}`,
    });
  return { first, end };
}

const parsed = (job: string): unknown =>
  fromJson(Buffer.from(job), "job", 'give an object such as {"type":"resize"}, percent-encoded');
