import { InvalidArgumentError } from "./errors.js";
import type { QueryResult, Queryable } from "./queryable.js";

/**
 * A transaction of the caller: a `pg` client, or what postgres.js, Drizzle, Kysely, Knex, Prisma and TypeORM hand out inside theirs.
 * It is recognised by its shape, so none of these libraries is needed here.
 */
export type Transaction = Queryable | object;

type Run = (text: string, values: readonly unknown[]) => Promise<readonly Record<string, unknown>[]>;
type Method = (...args: never[]) => unknown;
type Shape = Record<string, unknown>;

const has = (value: Shape, ...names: readonly string[]): boolean => names.every((name) => typeof value[name] === "function");
const call = <T>(target: Shape, name: string, ...args: readonly unknown[]): Promise<T> => (target[name] as Method).apply(target, args as never[]) as Promise<T>;

/** What each library's transaction looks like, and how it runs a statement with parameters. The first that fits is taken. */
const libraries: readonly { readonly name: string; readonly fits: (tx: Shape) => boolean; readonly run: (tx: Shape) => Run }[] = [
  {
    name: "postgres.js",
    fits: (tx) => typeof tx === "function" && has(tx, "unsafe", "savepoint"),
    run: (tx) => (text, values) => call(tx, "unsafe", text, values),
  },
  {
    name: "Prisma",
    fits: (tx) => has(tx, "$queryRawUnsafe"),
    run: (tx) => (text, values) => call(tx, "$queryRawUnsafe", text, ...values),
  },
  {
    name: "TypeORM",
    fits: (tx) => has(tx, "query") && (has(tx, "getRepository") || (has(tx, "startTransaction") && "manager" in tx)),
    run: (tx) => (text, values) => call(tx, "query", text, values),
  },
  {
    name: "Kysely",
    fits: (tx) => has(tx, "executeQuery", "selectFrom"),
    run: (tx) => async (sql, parameters) => {
      const query = { kind: "RawNode", sqlFragments: [sql], parameters: [] };
      const { rows } = await call<QueryResult>(tx, "executeQuery", { sql, parameters, query, queryId: { queryId: "millrace" } });
      return rows;
    },
  },
  {
    name: "Knex",
    fits: (tx) => typeof tx === "function" && has(tx, "raw", "transaction"),
    run: (tx) => async (text, values) => {
      const bindings: unknown[] = [];
      const sql = text.replace(/\$(\d+)/g, (_, n: string) => (bindings.push(values[Number(n) - 1]), "?"));
      return (await call<QueryResult>(tx, "raw", sql, bindings)).rows;
    },
  },
  {
    name: "Drizzle",
    fits: (tx) => has(tx, "execute", "select", "transaction"),
    run: (tx) => async (sql, params) => {
      const query = { getSQL: () => query, toQuery: () => ({ sql, params }), shouldOmitSQLParens: () => false };
      const result = await call<QueryResult | readonly Record<string, unknown>[]>(tx, "execute", query);
      return "rows" in result ? result.rows : result;
    },
  },
];

/** A transaction as the engine uses it. A `pg` client is one already; the others are wrapped. */
export function asQueryable(tx: Transaction): Queryable {
  const shape = tx as Shape;
  const library = typeof tx === "object" || typeof tx === "function" ? libraries.find(({ fits }) => fits(shape)) : undefined;
  if (library) return new ForeignTransaction(library.run(shape));
  if (tx !== null && typeof tx === "object" && has(shape, "query")) return tx as Queryable;
  throw new InvalidArgumentError(
    "tx is not a transaction Millrace knows",
    "pass a pg client, or the transaction object of postgres.js, Drizzle, Kysely, Knex, Prisma or TypeORM",
  );
}

/** Drivers differ in how they write arrays, JSON and numbers, so every parameter goes as text and is cast in the statement. */
class ForeignTransaction implements Queryable {
  readonly #run: Run;

  constructor(run: Run) {
    this.#run = run;
  }

  async query({ text, values }: { readonly text: string; readonly values: unknown[] }): Promise<QueryResult> {
    const sql = text.replace(/(\$\d+)::(?!bytea\b)/g, "$1::text::");
    return { rows: await this.#run(sql, values.map(toParameter)) };
  }
}

function toParameter(value: unknown): unknown {
  if (value === null || value === undefined || typeof value === "string" || value instanceof Uint8Array) return value ?? null;
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return `{${value.map((item) => `"${String(item).replaceAll(/["\\]/g, "\\$&")}"`).join(",")}}`;
  return String(value);
}
