import { describe, expect, it } from "vitest";
import { SqsError } from "../../../src/server/sqs/wire/errors.js";
import type { WireRequest } from "../../../src/server/sqs/wire/request.js";
import { verifySignature } from "../../../src/server/sqs/wire/sigv4.js";
import { readRequest } from "../../../src/server/sqs/wire/wire.js";
import { keys } from "./canned-server.js";
import { get, jsonRequest, post } from "./requests.js";
import { presigned, signed } from "./sign.js";

const minute = 60_000;
const form = () => post("Action=SendMessage&MessageBody=hello+world", "/123456789012/q");

/** The code of Query and the status, or `taken`. */
function outcome(request: WireRequest, now = Date.now()): unknown {
  try {
    return verifySignature(request, keys, now) && "taken";
  } catch (error) {
    if (error instanceof SqsError) return [error.code, error.status];
    throw error;
  }
}

const withHeader = (request: WireRequest, name: string, ...values: string[]): WireRequest => ({
  ...request,
  headers: { ...request.headers, [name]: values },
});
const mismatch = ["SignatureDoesNotMatch", 403];
const incomplete = ["IncompleteSignature", 400];
const expired = ["RequestExpired", 400];

describe("signatures in a header", () => {
  it("are taken with no more than the host and the date", () => {
    expect(verifySignature(signed(form()), keys, Date.now())).toEqual({
      account: "123456789012",
      region: "eu-central-1",
    });
    expect(verifySignature(signed(form(), { key: keys[1]! }), keys, Date.now())).toEqual({
      account: "000000000000",
      region: "eu-central-1",
    });
  });

  it("fail when any part of the request is another", () => {
    const good = signed(form());
    expect(outcome(good)).toBe("taken");
    expect(outcome({ ...good, body: Buffer.from("Action=SendMessage&MessageBody=hello+worle") })).toEqual(mismatch);
    expect(outcome({ ...good, method: "GET" })).toEqual(mismatch);
    expect(outcome({ ...good, url: "/123456789012/other" })).toEqual(mismatch);
    expect(outcome({ ...good, url: `${good.url}?Action=PurgeQueue` })).toEqual(mismatch);
    expect(outcome(withHeader(good, "host", "localhost:9325"))).toEqual(mismatch);
    expect(outcome(withHeader(good, "host", "localhost:9324", "localhost:9324"))).toEqual(mismatch);
    expect(
      outcome(
        withHeader(good, "authorization", good.headers["authorization"]![0]!.replace("eu-central-1", "eu-central-2")),
      ),
    ).toEqual(mismatch);
  });

  it("tell what was signed, so that one sees what a proxy changed", () => {
    const { refusal } = readRequest(withHeader(signed(form()), "host", "inside:8080"), { keys }) as {
      refusal: { body: string };
    };
    expect(refusal.body).toContain(
      "The Canonical String for this request should have been\n'POST\n/123456789012/q\n\nhost:inside:8080\n",
    );
  });

  it("cover the header that names the action", () => {
    const headers = ["host", "x-amz-date", "x-amz-target"];
    const good = signed(jsonRequest("PurgeQueue", { QueueUrl: "q" }), { headers });
    expect(outcome(good)).toBe("taken");
    expect(outcome(withHeader(good, "x-amz-target", "AmazonSQS.DeleteQueue"))).toEqual(mismatch);
    expect(outcome(signed(jsonRequest("PurgeQueue", { QueueUrl: "q" })))).toEqual(mismatch);
  });

  it("are for 15 minutes either way", () => {
    const made = Date.UTC(2025, 5, 3, 4, 3, 8);
    const good = signed(form(), { date: "20250603T040308Z" });
    for (const off of [0, -15 * minute, 15 * minute]) expect(outcome(good, made + off)).toBe("taken");
    for (const off of [-15 * minute - 1, 15 * minute + 1, 24 * 60 * minute])
      expect(outcome(good, made + off)).toEqual(expired);
    expect(
      outcome(signed(form(), { date: "20250603T040308Z", scope: "20250602/eu-central-1/sqs/aws4_request" }), made),
    ).toEqual(mismatch);
  });

  it("with a Date header instead of X-Amz-Date", () => {
    const date = "20250603T040308Z";
    const { "x-amz-date": _, ...headers } = signed(withHeader(form(), "date", "Tue, 03 Jun 2025 04:03:08 GMT"), {
      date,
      headers: ["date", "host"],
    }).headers;
    expect(outcome({ ...form(), headers }, Date.UTC(2025, 5, 3, 4, 3, 8))).toBe("taken");
  });

  it("a copy within the window is taken, as AWS takes it; a changed or late copy is not", () => {
    const made = Date.UTC(2025, 5, 3, 4, 3, 8);
    const good = signed(form(), { date: "20250603T040308Z" });
    // Two equal polls of boto3 within one second are such copies: nothing tells them apart.
    expect(signed(form(), { date: "20250603T040308Z" }).headers).toEqual(good.headers);
    expect([outcome(good, made), outcome(good, made + minute)]).toEqual(["taken", "taken"]);
    expect(outcome(good, made + 16 * minute)).toEqual(expired);
    expect(outcome({ ...good, url: "/123456789012/r", path: "/123456789012/r" }, made)).toEqual(mismatch);
    expect(outcome(withHeader(good, "x-amz-date", "20250603T041808Z"), made + 16 * minute)).toEqual(mismatch);
  });

  it("with the hash of the body in a header: it must be the body's, and is waived without a body only [#19]", () => {
    const hash = "x-amz-content-sha256";
    const options = { payload: "UNSIGNED-PAYLOAD", headers: ["host", hash, "x-amz-date"] };
    const waived = signed(withHeader(form(), hash, "UNSIGNED-PAYLOAD"), options);
    expect(outcome(waived)).toEqual(mismatch);
    expect(outcome({ ...waived, body: Buffer.from("Action=PurgeQueue") })).toEqual(mismatch);
    expect(outcome({ ...waived, body: Buffer.alloc(0) })).toBe("taken");
    const look = signed(withHeader(get("/123456789012/q?Action=ListQueueTags"), hash, "UNSIGNED-PAYLOAD"), options);
    expect(outcome(look)).toBe("taken");
    expect(outcome({ ...look, body: Buffer.from("QueueUrl=other") })).toEqual(mismatch);
    const wrong = "0".repeat(64);
    expect(outcome(signed(withHeader(form(), hash, wrong), { payload: wrong }))).toEqual(mismatch);
    expect(outcome(withHeader(signed(form()), hash, "UNSIGNED-PAYLOAD"))).toEqual(mismatch);
    expect(
      outcome(
        signed(withHeader(form(), hash, "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"), {
          payload: "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
        }),
      ),
    ).toEqual(mismatch);
  });

  it("are refused by name when they are missing, malformed, or of nobody we know", () => {
    expect(outcome(form())).toEqual(["MissingAuthenticationToken", 403]);
    expect(outcome(signed(form(), { key: { accessKeyId: "AKIDNOBODY", secretAccessKey: "x" } }))).toEqual([
      "InvalidClientTokenId",
      403,
    ]);
    expect(outcome(signed(form(), { key: { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "x" } }))).toEqual(mismatch);
    const good = signed(form());
    const authorization = good.headers["authorization"]![0]!;
    for (const wrong of [
      "",
      "Bearer token",
      "AWS4-HMAC-SHA256",
      "AWS4-HMAC-SHA256 ",
      "AWS4-HMAC-SHA1 Credential=a/b/c/sqs/aws4_request",
      authorization.replace("Signature=", "Sig="),
      authorization.replace("SignedHeaders=", ""),
      authorization.replace("/sqs/", "/"),
      authorization.replace("eu-central-1", "eu central"),
      authorization.replace("eu-central-1", "<script>"),
    ])
      expect(outcome(withHeader(good, "authorization", wrong)), wrong).toEqual(incomplete);
    expect(outcome(withHeader(good, "authorization", authorization, authorization))).toEqual(incomplete);
    for (const date of ["", "yesterday", "2025-06-03T04:03:08Z", "20251340T000000Z"])
      expect(outcome(withHeader(good, "x-amz-date", date))).toEqual(incomplete);
    expect(outcome(signed(form(), { headers: ["x-amz-date"] }))).toEqual(mismatch);
    expect(
      outcome(signed(form(), { scope: `${good.headers["x-amz-date"]![0]!.slice(0, 8)}/eu-central-1/s3/aws4_request` })),
    ).toEqual(mismatch);
    for (const signature of [
      "0".repeat(64),
      "",
      "é".repeat(32),
      authorization.slice(-64).toUpperCase(),
      `${authorization.slice(-64)}0`,
    ])
      expect(outcome(withHeader(good, "authorization", authorization.slice(0, -64) + signature))).not.toBe("taken");
  });

  it("name themselves as each protocol does", () => {
    const json = readRequest(jsonRequest("ListQueues", {}), { keys }) as {
      refusal: { status: number; body: string; headers: Record<string, string> };
    };
    expect(json.refusal).toMatchObject({
      status: 403,
      headers: { "x-amzn-query-error": "MissingAuthenticationTokenException;Sender" },
    });
    const query = readRequest(form(), { keys }) as { refusal: { status: number; body: string } };
    expect(query.refusal).toMatchObject({
      status: 403,
      body: expect.stringContaining("<Code>MissingAuthenticationToken</Code>"),
    });
  });
});

describe("signatures over query strings", () => {
  it("are taken escaped by the rules, and as sent, when a plus is a space", () => {
    const url = "/123456789012/q?Action=SendMessage&MessageBody=hello+w%C3%B6rld%2b!";
    expect(outcome(signed(get(url), { query: "Action=SendMessage&MessageBody=hello%20w%C3%B6rld%2B%21" }))).toBe(
      "taken",
    );
    expect(outcome(signed(get(url)))).toBe("taken");
    expect(outcome(signed(get(url), { query: "Action=SendMessage&MessageBody=hello%2Bw%C3%B6rld%2B%21" }))).toEqual(
      mismatch,
    );
    expect(outcome(signed(get("/?b=2&a=1&a=0&c"), { query: "a=0&a=1&b=2&c=" }))).toBe("taken");
  });

  it("cover the path, escaped once more", () => {
    const odd = get("/123456789012/a%20b?Action=PurgeQueue");
    expect(outcome(signed({ ...odd, path: "/123456789012/a%2520b" }))).toBe("taken");
    expect(outcome(signed({ ...odd, path: "/123456789012/a%20b" }))).toEqual(mismatch);
  });
});

describe("presigned URLs", () => {
  const date = "20250603T040308Z";
  const made = Date.UTC(2025, 5, 3, 4, 3, 8);
  const url = () => presigned(get("/123456789012/q?Action=SendMessage&MessageBody=hi"), "3600", { date });

  it("are good until they expire, and not long before they were made", () => {
    for (const off of [0, 59 * minute, -15 * minute]) expect(outcome(url(), made + off)).toBe("taken");
    for (const off of [60 * minute + 1, -16 * minute]) expect(outcome(url(), made + off)).toEqual(expired);
    expect(readRequest(url(), { keys }, made)).toMatchObject({
      call: { action: "SendMessage", input: { MessageBody: "hi" }, account: "123456789012" },
    });
  });

  it("must not have a body that nobody signed: it could name another action", () => {
    const unsigned = { date, payload: "UNSIGNED-PAYLOAD" };
    const post = {
      ...form(),
      url: "/123456789012/q?Action=SendMessage&MessageBody=hi&X-Amz-Content-Sha256=UNSIGNED-PAYLOAD",
      body: Buffer.alloc(0),
    };
    const good = presigned(post, "3600", unsigned);
    expect(outcome(good, made)).toBe("taken");
    expect(outcome({ ...good, body: Buffer.from("Action=DeleteQueue") }, made)).toEqual(mismatch);
  });

  it("fail when changed, when a body is added, and when incomplete", () => {
    const good = url();
    expect(outcome({ ...good, url: good.url.replace("=hi", "=ho") }, made)).toEqual(mismatch);
    expect(outcome({ ...good, url: good.url.replace("3600", "3601") }, made)).toEqual(mismatch);
    expect(outcome({ ...good, body: Buffer.from("x") }, made)).toEqual(mismatch);
    for (const name of ["Algorithm", "Credential", "Date", "Expires", "SignedHeaders", "Signature"])
      expect(outcome({ ...good, url: good.url.replace(new RegExp(`X-Amz-${name}=[^&]*&?`), "") }, made), name).toEqual(
        incomplete,
      );
    for (const expires of ["604801", "-1", "1e3", ""])
      expect(outcome(presigned(get("/1/q?Action=PurgeQueue"), expires, { date }), made)).toEqual(incomplete);
    expect(outcome({ ...good, url: `${good.url}&X-Amz-Security-Token=added` }, made)).toEqual(mismatch);
  });
});
