import { randomUUID } from "node:crypto";
import type { WireRequest } from "../../../src/server/sqs/wire/request.js";

/** A request, made up of what matters to a test. */
export function request(of: Partial<WireRequest>): WireRequest {
  const url = of.url ?? of.path ?? "/";
  return {
    id: randomUUID(),
    method: "POST",
    url,
    path: url.replace(/\?.*/s, ""),
    headers: {},
    body: Buffer.alloc(0),
    ...of,
  };
}

export function get(url: string): WireRequest {
  return request({ method: "GET", url });
}

export function post(body: string, path = "/"): WireRequest {
  return request({
    path,
    headers: { host: ["localhost"], "content-type": ["application/x-www-form-urlencoded"] },
    body: Buffer.from(body),
  });
}

export function jsonRequest(action: string, input: unknown, path = "/"): WireRequest {
  const headers = {
    host: ["localhost"],
    "content-type": ["application/x-amz-json-1.0"],
    "x-amz-target": [`AmazonSQS.${action}`],
  };
  return request({ path, headers, body: Buffer.from(JSON.stringify(input)) });
}
