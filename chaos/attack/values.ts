import fc from "fast-check";

/**
 * Values are made with marks in them, so that a counterexample can be read: `@q0` is a queue of the run, `@t0` a type,
 * `@long:9` nine letters, `@deep:9` nine lists in each other, `@raw:1e400` a number that only JSON's text can hold.
 * `Run.fill` puts the real thing in their place.
 */
export const marks = {
  queue: fc.constantFrom("@q0", "@q1", "@q2"),
  type: fc.constantFrom("@t0", "@t1"),
  long: fc.constantFrom("@long:129", "@long:201", "@long:501", "@long:9000", "@long:300000", "@long:1100000"),
  deep: fc.constantFrom("@deep:3", "@deep:499", "@deep:501", "@deep:3000", "@deep:20000"),
  raw: fc.constantFrom(
    "@raw:1e400",
    "@raw:-1e400",
    "@raw:1e-400",
    "@raw:1e100000",
    "@raw:-0",
    "@raw:123456789012345678901234567890",
    "@raw:0.10000000000000000000000001",
  ),
};

const oddTexts = [
  "", " ", "a b", "é", "漢字", "💥", "\u0000", "a\u0000b", "\ud800", "x\udc00", "\u001b[31m", "\u2028", "\r\n", "\t", "'", '"', "\\", "\\u0000", "%", "%s", "$1", "{}", "[]", "{",
  "null", "true", "NaN", "Infinity", "-infinity", "now", "1", "-1", "1e9", "1e400", "0x10", "__proto__", "constructor", "toString", "(", "[a-", "(a+)+$", "..", "/", "*",
]; // prettier-ignore

const oddNumbers = [
  0, -0, 1, -1, 2, 3, 10, 11, 0.5, 0.001, 0.0009, 1e-9, 5e-324, 100, 101, 1000, 1001, 10_000, 10_001, 86_400, 1e6,
  2_147_483, 2_147_484, 1e9, 1e9 + 1, 1e10, 1e13, 1e16, 2 ** 31 - 1,
  2 ** 31, 2 ** 32, 2 ** 53, 2 ** 63, 1e38, 1e300, -1e300, 1.7976931348623157e308,
]; // prettier-ignore

const times = [
  "2026-01-01T00:00:00Z", "2030-02-28T23:59:59.999999Z", "1970-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59-23:59",
  "2026-02-30T00:00:00Z", "280000-01-01T00:00:00Z", "-004712-01-01T00:00:00Z", "infinity", "-infinity", "2026-01-01T00:00:00+14:00", "24:00", "2026-13-01", "tomorrow", "epoch", "allballs",
]; // prettier-ignore

export const text: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...oddTexts) },
  { weight: 2, arbitrary: fc.string({ unit: "binary", maxLength: 12 }) },
  {
    weight: 1,
    arbitrary: fc.string({
      unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
      maxLength: 6,
    }),
  },
  { weight: 1, arbitrary: marks.long },
);
export const number: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...oddNumbers) },
  { weight: 2, arbitrary: fc.integer({ min: 0, max: 100 }) },
  { weight: 1, arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }) },
  { weight: 1, arbitrary: marks.raw },
);
export const whole: fc.Arbitrary<number> = fc.oneof(
  fc.integer({ min: 0, max: 50 }),
  fc.integer(),
  fc.constantFrom(0, -1, 2 ** 31 - 1, -(2 ** 31)),
);
export const time: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...times),
  fc
    .date({ min: new Date("2026-11-01"), max: new Date("2200-01-01"), noInvalidDate: true })
    .map((date) => date.toISOString()),
);
export const name: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom("a", "b", "gpu", "acme", "E_CODE") },
  { weight: 1, arbitrary: text },
);
export const flag = fc.boolean();

const leaf: fc.Arbitrary<unknown> = fc.oneof(
  text,
  number,
  time,
  flag,
  fc.constant(null),
  marks.queue,
  marks.type,
  fc.constantFrom("@id", "@token"),
  marks.deep,
);

/** Anything that JSON can say. */
export const json: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    { weight: 4, arbitrary: leaf },
    { weight: 1, arbitrary: fc.array(tie("value"), { maxLength: 4 }) },
    { weight: 2, arbitrary: fc.dictionary(text, tie("value"), { maxKeys: 4, noNullPrototype: true }) },
  ),
})).value;

/** Mostly the right kind of value, sometimes anything. */
export const mostly = (right: fc.Arbitrary<unknown>, times_ = 8): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: times_, arbitrary: right }, { weight: 1, arbitrary: json });

/**
 * An object with a few of these members, each mostly right; sometimes with a member nobody knows, and sometimes no
 * object.
 */
export function some(members: Readonly<Record<string, fc.Arbitrary<unknown>>>, most = 5): fc.Arbitrary<unknown> {
  const known = fc
    .uniqueArray(fc.constantFrom(...Object.keys(members)), { maxLength: most })
    .chain((keys) =>
      fc.record(Object.fromEntries(keys.map((key) => [key, mostly(members[key]!)])), { noNullPrototype: true }),
    );
  return fc.oneof(
    { weight: 12, arbitrary: known },
    { weight: 1, arbitrary: fc.tuple(known, text, json).map(([object, key, value]) => ({ ...object, [key]: value })) },
    { weight: 1, arbitrary: json },
  );
}
