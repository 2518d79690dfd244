import { Anchors } from "./anchor.js";
import { checkText, shown } from "./check-options.js";
import { checkKeys } from "./encode.js";
import { InvalidArgumentError } from "./errors.js";
import { type FollowedCall, asQueryable } from "./foreign.js";
import { type ConnectionPool, type Queryable, inTransaction, runQuery } from "./queryable.js";
import { statementName } from "./schema-name.js";
import type { Json } from "./types.js";

type Rows = readonly Record<string, unknown>[];

/** A text with the schema in it, and the name that it is prepared under. */
interface Statement {
  readonly text: string;
  readonly name: string;
}

const callKeys = new Set(["tx", "near", "follow"]);

/**
 * The way of every verb to the database: a statement with its name, its values, and the caller's transaction or none.
 */
export class Statements {
  readonly #anchors = new Anchors();
  /** Each text that was used, as it is sent: they are few, and stand in the code. */
  readonly #known = new Map<string, Statement>();

  constructor(
    readonly pool: ConnectionPool,
    readonly schema: string,
    readonly prepare: boolean,
  ) {}

  /** The one place where the schema's name, checked to be a plain one, enters a statement: as `:function`. */
  rows(name: string, text: string, values: unknown[], call?: FollowedCall): Promise<Rows> {
    if (call) checkKeys(call, callKeys);
    for (const value of values) checkParameter(value);
    const db: Queryable = call?.tx === undefined ? this.pool : asQueryable(call.tx);
    if (call?.follow) return this.#followed(db, name, text, values, { near: call.near, follow: call.follow });
    if (call?.near !== undefined) return this.#anchors.run(db, call.near, this.#statement(name, text).text, values);
    return this.#run(db, name, text, values);
  }

  #run(db: Queryable, name: string, text: string, values: unknown[]): Promise<Rows> {
    const statement = this.#statement(name, text);
    return runQuery(db, statement.text, values, this.prepare ? statement.name : undefined);
  }

  #statement(name: string, text: string): Statement {
    let statement = this.#known.get(text);
    if (!statement) {
      const qualified = text.replaceAll(/(?<![:\w]):(?=[a-z_]+)/g, `${this.schema}.`);
      this.#known.set(text, (statement = { text: qualified, name: statementName(this.schema, name, qualified) }));
    }
    return statement;
  }

  /** The same statement tells the number of its transaction; but not one that ran elsewhere, in another transaction. */
  async #followed(
    db: Queryable,
    name: string,
    text: string,
    values: unknown[],
    { near, follow }: { readonly near: string | undefined; readonly follow: (xid: string) => void },
  ): Promise<Rows> {
    const xid = "pg_current_xact_id()::text as xid";
    const rows =
      near === undefined
        ? await this.#run(db, `${name}_xid`, `select told.*, ${xid} from (${text}) told`, values)
        : await this.#anchors.run(db, near, this.#statement(name, text).text, values);
    const [row] = near === undefined ? rows : await this.#run(db, "xid", `select ${xid}`, []);
    if (row) follow(String(row["xid"]));
    return rows;
  }

  /** The number that a statement answers with as `n`. */
  async count(name: string, text: string, values: unknown[], call: FollowedCall | undefined): Promise<number> {
    const [row] = await this.rows(name, text, values, call);
    return Number(row?.["n"]);
  }

  /** What a statement answers with as `value`. */
  async value<T = Json>(name: string, text: string, values: unknown[], call: FollowedCall | undefined): Promise<T> {
    const [row] = await this.rows(name, text, values, call);
    return (row?.["value"] ?? null) as T;
  }

  /** Several statements in one transaction: the caller's, or a new one. */
  inTransaction<T>(call: FollowedCall | undefined, work: (tx: Queryable) => Promise<T>): Promise<T> {
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
