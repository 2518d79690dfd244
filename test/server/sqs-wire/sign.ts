import { createHash, createHmac } from "node:crypto";
import type { WireRequest } from "../../../src/server/sqs/wire/request.js";
import type { AccessKey } from "../../../src/server/sqs/wire/sigv4.js";
import { keys } from "./canned-server.js";

/** How to sign: everything a client could do otherwise. */
export interface SignOptions {
  readonly key?: AccessKey;
  /** `20250603T040308Z` */
  readonly date?: string;
  readonly scope?: string;
  readonly headers?: readonly string[];
  readonly payload?: string;
  /** The query string as it is signed, where that differs. */
  readonly query?: string;
}

const sha256 = (text: string | Buffer): string => createHash("sha256").update(text).digest("hex");

function signatureOf(
  request: WireRequest,
  { key, date, scope, headers, payload, query }: Required<SignOptions>,
): string {
  const lines = headers.map((name) => `${name}:${request.headers[name]?.join(",") ?? ""}\n`).join("");
  const canonical = [request.method, request.path, query, lines, headers.join(";"), payload].join("\n");
  const signing = scope
    .split("/")
    .reduce<string | Buffer>(
      (secret, part) => createHmac("sha256", secret).update(part).digest(),
      `AWS4${key.secretAccessKey}`,
    );
  return createHmac("sha256", signing)
    .update(["AWS4-HMAC-SHA256", date, scope, sha256(canonical)].join("\n"))
    .digest("hex");
}

function withDefaults(request: WireRequest, options: SignOptions): Required<SignOptions> {
  const date = options.date ?? new Date().toISOString().replace(/[-:]|\.\d+/g, "");
  const [, search = ""] = request.url.split("?");
  return {
    key: keys[0]!,
    date,
    scope: `${date.slice(0, 8)}/eu-central-1/sqs/aws4_request`,
    headers: ["host", "x-amz-date"],
    payload: sha256(request.body),
    query: search.split("&").sort().join("&"),
    ...options,
  };
}

/** Sign with a header, as kombu does: the host and the date, and nothing else. */
export function signed(request: WireRequest, options: SignOptions = {}): WireRequest {
  const all = withDefaults(request, options);
  const dated = { ...request, headers: { host: ["localhost:9324"], ...request.headers, "x-amz-date": [all.date] } };
  const authorization = `AWS4-HMAC-SHA256 Credential=${all.key.accessKeyId}/${all.scope}, SignedHeaders=${all.headers.join(";")}, Signature=${signatureOf(dated, all)}`;
  return { ...dated, headers: { ...dated.headers, authorization: [authorization] } };
}

/** Sign in the query string. */
export function presigned(request: WireRequest, expires: string, options: SignOptions = {}): WireRequest {
  const all = withDefaults(request, { headers: ["host"], ...options });
  const credential = encodeURIComponent(`${all.key.accessKeyId}/${all.scope}`);
  const fields = `X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=${credential}&X-Amz-Date=${all.date}&X-Amz-Expires=${expires}&X-Amz-SignedHeaders=${all.headers.join("%3B")}`;
  const url = `${request.url}${request.url.includes("?") ? "&" : "?"}${fields}`;
  const hosted = { ...request, url, headers: { host: ["localhost:9324"], ...request.headers } };
  const signature = signatureOf(hosted, { ...all, query: withDefaults(hosted, {}).query });
  return { ...hosted, url: `${url}&X-Amz-Signature=${signature}` };
}
