import { describe, expect, it } from "vitest";
import { actions } from "../../../src/server/sqs/wire/model.js";
import type { WireRequest } from "../../../src/server/sqs/wire/request.js";
import { type WireAnswer, readRequest, writeOutput } from "../../../src/server/sqs/wire/wire.js";
import { keys } from "./canned-server.js";
import { get, jsonRequest, post, request } from "./requests.js";
import { samples } from "./samples.js";
import { presigned, signed } from "./sign.js";

const seed = Number(process.env["FUZZ_SEED"] ?? Date.now() % 1_000_000);
const ms = Number(process.env["FUZZ_SECONDS"] ?? 2) * 1000;

/** Numbers below a bound, the same ones for the same seed. */
function randomOf(start: number): (below: number) => number {
  let state = start >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const random = randomOf(seed);
const oneOf = <T>(values: readonly T[]): T => values[random(values.length)]!;

const names = Object.keys(actions);
const members = [...new Set(Object.values(actions).flatMap(({ input }) => Object.keys(input)))];
const wireNames = [
  "Attribute",
  "Tag",
  "TagKey",
  "AttributeName",
  "MessageAttribute",
  "SendMessageBatchRequestEntry",
  "DeleteMessageBatchRequestEntry",
  ...members,
];
const oddities = [
  "",
  "__proto__",
  "constructor",
  "toString",
  "0",
  "-1",
  "1",
  "99999999999",
  "NaN",
  "null",
  "a.b",
  "a=b&c",
  "%",
  "%ff",
  "\u0000",
  "\uD800",
  "😀",
  "é",
  "{",
  "]",
  "<a>",
  "&#0;",
];

function junk(depth: number): unknown {
  const kind = random(depth > 4 ? 6 : 9);
  if (kind === 0) return null;
  if (kind === 1) return random(2) === 0;
  if (kind === 2) return oneOf([0, -1, 1.5, 1e300, -0, 2 ** 31, 30]);
  if (kind < 6) return oneOf([...oddities, ...names, "String", "Binary", "aGk="]);
  if (kind === 6) return Array.from({ length: random(4) }, () => junk(depth + 1));
  return Object.fromEntries(
    Array.from({ length: random(5) }, () => [oneOf([...members, ...oddities, "Id", "MessageBody", "DataType", "StringValue", "BinaryValue"]), junk(depth + 1)]),
  );
}

/** An input that starts as a good one, with some of its members replaced. */
function bentInput(action: keyof typeof samples): unknown {
  const input: Record<string, unknown> = { ...samples[action].input };
  for (let count = random(3); count > 0; count--) input[oneOf(Object.keys(input))] = junk(0);
  return random(10) === 0 ? junk(0) : input;
}

function bentForm(): string {
  const name = (): string => Array.from({ length: 1 + random(5) }, () => oneOf([...wireNames, ...oddities, "1", "2", "Name", "Key", "Value", "Id"])).join(".");
  const pairs = Array.from({ length: random(12) }, () =>
    [name(), oneOf([...oddities, ...names])].map((text) => (random(4) ? encodeURIComponent(text.toWellFormed()) : text)).join("="),
  );
  return [random(8) ? `Action=${oneOf(names)}` : "", random(3) ? "QueueUrl=q" : "", ...pairs].join(oneOf(["&", "&", "&", "&&", ";"]));
}

function mutated(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  for (let count = random(4); count > 0 && copy.length > 0; count--) copy[random(copy.length)] = random(256);
  return random(6) === 0 ? copy.subarray(0, random(copy.length + 1)) : copy;
}

function bentRequest(): WireRequest {
  const of = oneOf([
    () => jsonRequest(oneOf(names), bentInput(oneOf(names) as keyof typeof samples), oneOf(["/", "/1", "/1/q", "//", "/1/q/x", "/%"])),
    () => post(bentForm(), oneOf(["/", "/1/q", "/../.."])),
    () => get(`${oneOf(["/", "/1/q"])}?${bentForm()}`),
    () => request({ method: oneOf(["GET", "POST", "HEAD", "PUT", ""]), url: oneOf(["", "*", "?", "/?Action", "/?%"]), body: Buffer.from(bentForm()) }),
  ])();
  const odd = oneOf(["content-type", "x-amz-target", "accept", "authorization", "x-amz-date", "host", "x-amz-content-sha256", "__proto__"]);
  const headers = random(4)
    ? of.headers
    : { ...of.headers, [odd]: [oneOf([...oddities, "AWS4-HMAC-SHA256 Credential=a/b/c/d/e,SignedHeaders=,Signature=", "application/json"])] };
  return { ...of, headers, body: random(2) ? of.body : mutated(of.body) };
}

function check({ status, headers, body }: WireAnswer): void {
  expect([400, 403, 404]).toContain(status);
  expect(body).not.toMatch(/\bat .*\.[jt]s\b|node_modules|TypeError|undefined/);
  if (headers["content-type"] === "application/x-amz-json-1.0") {
    expect(JSON.parse(body)).toMatchObject({ __type: expect.any(String), message: expect.any(String) });
    expect(headers["x-amzn-query-error"]).toMatch(/^[\w.]+;Sender$/);
  } else if (headers["content-type"] === "application/json") expect(JSON.parse(body)).toHaveProperty("Error");
  else expect(body).toMatch(/^(<\?xml version="1.0"\?><ErrorResponse .*<\/ErrorResponse>|<UnknownOperationException\/>\n)$/s);
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
    signed(post("Action=SendMessage&MessageBody=hello+world&QueueUrl=q"), { date, headers: ["content-type", "host", "x-amz-date"] }),
    signed(jsonRequest("SendMessage", { QueueUrl: "q", MessageBody: "hello" }), { date, headers: all }),
    signed(get("/123456789012/q?Action=SendMessage&MessageBody=hello"), { date }),
    presigned(get("/123456789012/q?Action=SendMessage&MessageBody=hello"), "900", { date }),
  ];

  it.each(originals.map((original, index) => [index, original] as const))("%i is taken as it is, and with any bit flipped refused", (_, original) => {
    expect(readRequest(original, { keys }, at)).toHaveProperty("call");
    for (const changed of everyFlip(original)) {
      const read = readRequest(changed, { keys }, at);
      if ("call" in read) expect.fail(`taken: ${JSON.stringify({ ...changed, body: changed.body.toString("latin1") })}`);
      check(read.refusal);
    }
  });

  /** The request with each bit of its body, target, method and signed headers flipped in turn. */
  function* everyFlip(original: WireRequest): Generator<WireRequest> {
    for (const body of flips(original.body)) yield { ...original, body };
    for (const method of flips(Buffer.from(original.method))) yield { ...original, method: method.toString("latin1") };
    for (const bytes of flips(Buffer.from(original.url))) {
      const url = bytes.toString("latin1");
      // `%2f` is `%2F`, and nobody signs the difference.
      if (url.replace(/%../g, (escaped) => escaped.toUpperCase()) !== original.url) yield { ...original, url, path: url.replace(/\?.*/s, "") };
    }
    for (const [name, values] of Object.entries(original.headers))
      for (const value of flips(Buffer.from(values![0]!))) yield { ...original, headers: { ...original.headers, [name]: [value.toString("latin1")] } };
  }

  function* flips(bytes: Buffer): Generator<Buffer> {
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const copy = Buffer.from(bytes);
      copy[bit >> 3]! ^= 1 << (bit & 7);
      yield copy;
    }
  }
});
