import { actions } from "../../../src/server/sqs/wire/model.js";
import type { WireRequest } from "../../../src/server/sqs/wire/request.js";
import { get, jsonRequest, post, request } from "./requests.js";
import { samples } from "./samples.js";

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

/** Makes requests that are a little wrong, or very; the same ones for the same seed. */
export function bender(seed: number) {
  const random = randomOf(seed);
  const oneOf = <T>(values: readonly T[]): T => values[random(values.length)]!;

  function junk(depth: number): unknown {
    const kind = random(depth > 4 ? 6 : 9);
    if (kind === 0) return null;
    if (kind === 1) return random(2) === 0;
    if (kind === 2) return oneOf([0, -1, 1.5, 1e300, -0, 2 ** 31, 30]);
    if (kind < 6) return oneOf([...oddities, ...names, "String", "Binary", "aGk="]);
    if (kind === 6) return Array.from({ length: random(4) }, () => junk(depth + 1));
    return Object.fromEntries(
      Array.from({ length: random(5) }, () => [
        oneOf([...members, ...oddities, "Id", "MessageBody", "DataType", "StringValue", "BinaryValue"]),
        junk(depth + 1),
      ]),
    );
  }

  /** An input that starts as a good one, with some of its members replaced. */
  function bentInput(action: keyof typeof samples): unknown {
    const input: Record<string, unknown> = { ...samples[action].input };
    for (let count = random(3); count > 0; count--) input[oneOf(Object.keys(input))] = junk(0);
    return random(10) === 0 ? junk(0) : input;
  }

  function bentForm(): string {
    const name = (): string =>
      Array.from({ length: 1 + random(5) }, () =>
        oneOf([...wireNames, ...oddities, "1", "2", "Name", "Key", "Value", "Id"]),
      ).join(".");
    const pairs = Array.from({ length: random(12) }, () =>
      [name(), oneOf([...oddities, ...names])]
        .map((text) => (random(4) ? encodeURIComponent(text.toWellFormed()) : text))
        .join("="),
    );
    return [random(8) ? `Action=${oneOf(names)}` : "", random(3) ? "QueueUrl=q" : "", ...pairs].join(
      oneOf(["&", "&", "&", "&&", ";"]),
    );
  }

  function mutated(bytes: Buffer): Buffer {
    const copy = Buffer.from(bytes);
    for (let count = random(4); count > 0 && copy.length > 0; count--) copy[random(copy.length)] = random(256);
    return random(6) === 0 ? copy.subarray(0, random(copy.length + 1)) : copy;
  }

  function bentRequest(): WireRequest {
    const of = oneOf([
      () =>
        jsonRequest(
          oneOf(names),
          bentInput(oneOf(names) as keyof typeof samples),
          oneOf(["/", "/1", "/1/q", "//", "/1/q/x", "/%"]),
        ),
      () => post(bentForm(), oneOf(["/", "/1/q", "/../.."])),
      () => get(`${oneOf(["/", "/1/q"])}?${bentForm()}`),
      () =>
        request({
          method: oneOf(["GET", "POST", "HEAD", "PUT", ""]),
          url: oneOf(["", "*", "?", "/?Action", "/?%"]),
          body: Buffer.from(bentForm()),
        }),
    ])();
    const odd = oneOf([
      "content-type",
      "x-amz-target",
      "accept",
      "authorization",
      "x-amz-date",
      "host",
      "x-amz-content-sha256",
      "__proto__",
    ]);
    const headers = random(4)
      ? of.headers
      : {
          ...of.headers,
          [odd]: [
            oneOf([...oddities, "AWS4-HMAC-SHA256 Credential=a/b/c/d/e,SignedHeaders=,Signature=", "application/json"]),
          ],
        };
    return { ...of, headers, body: random(2) ? of.body : mutated(of.body) };
  }

  return { random, oneOf, bentRequest };
}
