import { describe, expect, it } from "vitest";
import type { WireRequest } from "../../../src/server/sqs/wire/request.js";
import { type WireAnswer, readRequest, writeOutput } from "../../../src/server/sqs/wire/wire.js";
import { bender } from "./bent.js";
import { keys } from "./canned-server.js";
import { get, jsonRequest, post } from "./requests.js";
import { samples } from "./samples.js";
import { presigned, signed } from "./sign.js";

const seed = Number(process.env["FUZZ_SEED"] ?? Date.now() % 1_000_000);
const ms = Number(process.env["FUZZ_SECONDS"] ?? 2) * 1000;

const { random, bentRequest } = bender(seed);

function check({ status, headers, body }: WireAnswer): void {
  expect([400, 403, 404]).toContain(status);
  expect(body).not.toMatch(/\bat .*\.[jt]s\b|node_modules|TypeError|undefined/);
  if (headers["content-type"] === "application/x-amz-json-1.0") {
    expect(JSON.parse(body)).toMatchObject({ __type: expect.any(String), message: expect.any(String) });
    expect(headers["x-amzn-query-error"]).toMatch(/^[\w.]+;Sender$/);
  } else if (headers["content-type"] === "application/json") expect(JSON.parse(body)).toHaveProperty("Error");
  else
    expect(body).toMatch(
      /^(<\?xml version="1.0"\?><ErrorResponse .*<\/ErrorResponse>|<UnknownOperationException\/>\n)$/s,
    );
}

describe(`any request at all (FUZZ_SEED=${seed})`, () => {
  it("is read or refused in a way clients understand, and never anything else", () => {
    const outcomes = { called: 0, refused: 0 };
    for (const end = performance.now() + ms; performance.now() < end;) {
      const of = bentRequest();
      const read = readRequest(of, random(4) ? "open" : { keys });
      if ("refusal" in read) check(read.refusal);
      else writeOutput(read.call, samples[read.call.action].output as never);
      outcomes["call" in read ? "called" : "refused"]++;
    }
    expect(({} as Record<string, unknown>)["DataType"]).toBeUndefined();
    // Both roads are really taken, or this proves little.
    expect(outcomes.called).toBeGreaterThan(50);
    expect(outcomes.refused).toBeGreaterThan(50);
  });
});

describe(`a signed request (FUZZ_SEED=${seed})`, () => {
  const at = Date.UTC(2025, 5, 3, 4, 3, 8);
  const date = "20250603T040308Z";
  const all = ["content-type", "host", "x-amz-date", "x-amz-target"];
  const originals = [
    signed(post("Action=SendMessage&MessageBody=hello+world&QueueUrl=q"), {
      date,
      headers: ["content-type", "host", "x-amz-date"],
    }),
    signed(jsonRequest("SendMessage", { QueueUrl: "q", MessageBody: "hello" }), { date, headers: all }),
    signed(get("/123456789012/q?Action=SendMessage&MessageBody=hello"), { date }),
    presigned(get("/123456789012/q?Action=SendMessage&MessageBody=hello"), "900", { date }),
  ];

  it.each(originals.map((original, index) => [index, original] as const))(
    "%i is taken as it is, and with any bit flipped refused",
    (_, original) => {
      expect(readRequest(original, { keys }, at)).toHaveProperty("call");
      for (const changed of everyFlip(original)) {
        const read = readRequest(changed, { keys }, at);
        if ("call" in read)
          expect.fail(`taken: ${JSON.stringify({ ...changed, body: changed.body.toString("latin1") })}`);
        check(read.refusal);
      }
    },
  );

  /** The request with each bit of its body, target, method and signed headers flipped in turn. */
  function* everyFlip(original: WireRequest): Generator<WireRequest> {
    for (const body of flips(original.body)) yield { ...original, body };
    for (const method of flips(Buffer.from(original.method))) yield { ...original, method: method.toString("latin1") };
    for (const bytes of flips(Buffer.from(original.url))) {
      const url = bytes.toString("latin1");
      // `%2f` is `%2F`, and nobody signs the difference.
      if (url.replace(/%../g, (escaped) => escaped.toUpperCase()) !== original.url)
        yield { ...original, url, path: url.replace(/\?.*/s, "") };
    }
    for (const [name, values] of Object.entries(original.headers))
      for (const value of flips(Buffer.from(values![0]!)))
        yield { ...original, headers: { ...original.headers, [name]: [value.toString("latin1")] } };
  }

  function* flips(bytes: Buffer): Generator<Buffer> {
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const copy = Buffer.from(bytes);
      copy[bit >> 3]! ^= 1 << (bit & 7);
      yield copy;
    }
  }
});
