import { type StateName, states } from "./scenes.js";
import { type Verb, nothing, verbs } from "./verbs.js";

/** Leases have ended, what was delayed is due and what expires has expired; or all of that lies ahead. */
export const ages = ["old", "young"] as const;
export type Age = (typeof ages)[number];

/** The transaction of the first verb, and who comes when; see transactions.ts. */
export const transactions = [
  "auto",
  "commit",
  "rollback",
  "savepoint",
  "prepared",
  "prepared rollback",
  "repeatable read",
  "numbered",
  "overlap",
] as const;
export type TransactionName = (typeof transactions)[number];

/** What time does between the verbs; see times.ts. */
export const times = ["none", "midnight", "lease", "expiry", "retention", "rotated", "ring"] as const;
export type TimeName = (typeof times)[number];

/** One point of the product. `second` and `third` may be absent. */
export interface Combination {
  readonly state: StateName;
  readonly age: Age;
  readonly first: Verb;
  readonly second: Verb | undefined;
  readonly third: Verb | undefined;
  readonly tx: TransactionName;
  readonly time: TimeName;
}

/** All verbs of a combination, in the order of their names in it. */
export const verbsOf = ({ first, second, third }: Combination): readonly Verb[] =>
  [first, second, third].filter((verb) => verb !== undefined);

/** What stands in PRODUCT to run it alone. */
export function format({ state, age, first, second, third, tx, time }: Combination): string {
  return [state, age, first.name, second?.name ?? "-", third?.name ?? "-", tx, time].join("/");
}

export const repeatLine = (combination: Combination): string =>
  `PRODUCT="${format(combination)}" npx vitest run test/isolation/product.test.ts`;

export function parse(text: string): Combination {
  const [state, age, first, second, third, tx, time, ...rest] = text.split("/");
  if (rest.length > 0 || time === undefined)
    throw new Error(`a combination is state/age/first/second/third/transaction/time, not ${text}`);
  const verb = (name: string | undefined): Verb | undefined =>
    name === "-"
      ? undefined
      : verbs[
          oneOf(
            "verb",
            name,
            verbs.map((v) => v.name),
          )
        ];
  return {
    state: stateNames[oneOf("state", state, stateNames)]!,
    age: ages[oneOf("age", age, ages)]!,
    first: verb(first) ?? fail("a combination has a first verb"),
    second: verb(second),
    third: verb(third),
    tx: transactions[oneOf("transaction", tx, transactions)]!,
    time: times[oneOf("time", time, times)]!,
  };
}

const stateNames = Object.keys(states) as StateName[];
/** PRODUCT_STATE: only this one is dealt. */
const dealtStates = stateNames.filter((name) => (process.env["PRODUCT_STATE"] ?? name) === name);

function oneOf(what: string, name: string | undefined, names: readonly string[]): number {
  const at = names.indexOf(name ?? "");
  return at >= 0 ? at : fail(`there is no ${what} "${name}"; there are ${names.join(", ")}`);
}

function fail(message: string): never {
  throw new Error(message);
}

/** Cards that are dealt by chance, each as often as the others. */
function deck<T>(random: (n: number) => number, cards: readonly T[]): () => T {
  let left: T[] = [];
  return () => {
    if (left.length === 0) left = [...cards];
    return left.splice(random(left.length), 1)[0]!;
  };
}

/**
 * Points of the product, without end: by chance, but each value of each dimension as often as the others; except verbs
 * and times that empty or rewrite tables, because then all sessions plan everything again, which takes longer than all
 * the rest.
 */
export function generator(random: (n: number) => number): () => Combination {
  const some = verbs.flatMap((verb) => (verb.locksTables ? [verb] : [verb, verb, verb]));
  const dealt = {
    state: deck(random, dealtStates),
    age: deck(random, ages),
    first: deck(random, some),
    second: deck(random, some),
    third: deck(random, some),
    tx: deck(random, transactions),
    time: deck(random, [
      ...times,
      ...times.filter((time) => time !== "rotated"),
      ...times.map(() => "none" as const),
      ...times.map(() => "none" as const),
    ]),
  };
  return () => {
    const tx = dealt.tx();
    const third = tx === "overlap" || random(2) === 0 ? dealt.third() : undefined;
    return normal({
      state: dealt.state(),
      age: dealt.age(),
      first: dealt.first(),
      second: dealt.second(),
      third,
      tx,
      time: dealt.time(),
    });
  };
}

/** All ordered pairs of verbs, by chance in all other respects, and then others without end. */
export function pairsFirst(random: (n: number) => number): () => Combination {
  const pairs = verbs.flatMap((first) => verbs.map((second) => ({ first, second })));
  const pair = deck(random, pairs);
  const next = generator(random);
  let left = pairs.length;
  return () => ({ ...next(), ...((left -= 1) >= 0 ? pair() : {}) });
}

/** A lease can end, or a job expire, between the verbs only where that lies ahead. */
function normal(combination: Combination): Combination {
  return combination.time === "lease" || combination.time === "expiry" ? { ...combination, age: "young" } : combination;
}

/** Combinations that are simpler in one respect, the greatest simplifications first. */
export function simpler(combination: Combination): Combination[] {
  const { state, age, first, second, third, tx, time } = combination;
  const tries: Partial<Combination>[] = [];
  if (second !== undefined || first !== nothing)
    tries.push({ first: nothing, second: undefined, third: undefined, ...(tx === "overlap" ? { tx: "commit" } : {}) });
  if (third !== undefined && tx !== "overlap") tries.push({ third: undefined }, { second: third, third: undefined });
  if (second !== undefined && third === undefined)
    tries.push({ second: undefined }, { first: second, second: undefined });
  if (third !== undefined && second !== undefined)
    tries.push({ first: second, second: third, third: undefined, ...(tx === "overlap" ? { tx: "commit" } : {}) });
  if (time !== "none") tries.push({ time: "none" });
  if (tx !== "auto") tries.push({ tx: "auto" });
  if (tx !== "auto" && tx !== "commit") tries.push({ tx: "commit" });
  if (tx === "prepared rollback" || tx === "savepoint") tries.push({ tx: "rollback" });
  if (state !== "plain") tries.push({ state: "plain" });
  if (!["plain", "groups"].includes(state)) tries.push({ state: "groups" });
  if (age === "young") tries.push({ age: "old" });
  return tries
    .map((part) => ({ ...combination, ...part }))
    .filter((simple) => format(normal(simple)) === format(simple));
}
