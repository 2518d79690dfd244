import { checkText, shown } from "./check-options.js";
import { checkKeys } from "./encode.js";
import { InvalidArgumentError } from "./errors.js";
import { type CallOptions, asQueryable } from "./foreign.js";
import { type ConnectionPool, type Queryable, inTransaction, runQuery } from "./queryable.js";
import { statementPrefix } from "./schema-name.js";
import type { Json } from "./types.js";

const callKeys = new Set(["tx"]);

/**
 * The way of every verb to the database: a statement with its name, its values, and the caller's transaction or none.
 */
export class Statements {
  constructor(
    readonly pool: ConnectionPool,
    readonly schema: string,
    readonly prepare: boolean,
  ) {}

  /** The one place where the schema's name, checked to be a plain one, enters a statement: as `:function`. */
  rows(name: string, text: string, values: unknown[], call?: CallOptions): Promise<readonly Record<string, unknown>[]> {
    if (call) checkKeys(call, callKeys);
    for (const value of values) checkParameter(value);
    const db: Queryable = call?.tx === undefined ? this.pool : asQueryable(call.tx);
    const qualified = text.replaceAll(/(?<![:\w]):(?=[a-z_]+)/g, `${this.schema}.`);
    return runQuery(
      db,
      qualified,
      values,
      this.prepare ? `${statementPrefix(this.schema)}.${name}/${values.length}` : undefined,
    );
  }

  /** The number that a statement answers with as `n`. */
  async count(name: string, text: string, values: unknown[], call: CallOptions | undefined): Promise<number> {
    const [row] = await this.rows(name, text, values, call);
    return Number(row?.["n"]);
  }

  /** What a statement answers with as `value`. */
  async value<T = Json>(name: string, text: string, values: unknown[], call: CallOptions | undefined): Promise<T> {
    const [row] = await this.rows(name, text, values, call);
    return (row?.["value"] ?? null) as T;
  }

  /** Several statements in one transaction: the caller's, or a new one. */
  inTransaction<T>(call: CallOptions | undefined, work: (tx: Queryable) => Promise<T>): Promise<T> {
    return inTransaction(this.pool, call?.tx === undefined ? undefined : asQueryable(call.tx), work);
  }
}

/**
 * A parameter, or a list of them, that PostgreSQL would not hold as it is, or that the driver would make something else
 * of: an object becomes JSON there.
 */
function checkParameter(value: unknown): void {
  if (Array.isArray(value)) for (const one of value) checkScalar(one);
  else checkScalar(value);
}

function checkScalar(value: unknown): void {
  if (typeof value === "string") checkText(value, "a value");
  else if (
    (typeof value === "object" && value !== null && !(value instanceof Date) && !ArrayBuffer.isView(value)) ||
    typeof value === "function" ||
    typeof value === "symbol"
  )
    throw new InvalidArgumentError(
      `a value cannot be ${shown(value)}`,
      "give a text, a number, or what the documentation asks for",
    );
}
