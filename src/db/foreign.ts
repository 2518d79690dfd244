import pg from "pg";
import { InvalidArgumentError, translateError } from "./errors.js";
import { type ConnectionPool, type QueryResult, type Queryable, inTransaction } from "./queryable.js";

type Method = (...given: never) => unknown;

/** By which the compiler knows each of them, and tells a transaction from a whole database. */
interface TransactionShapes {
  readonly pg: { query: Method; totalCount?: never; getRepository?: never };
  readonly postgresJs: { unsafe: Method; savepoint: Method };
  readonly drizzle: { execute: Method; select: Method; rollback: Method };
  readonly kysely: { executeQuery: Method; selectFrom: Method; readonly isTransaction: true };
  readonly knex: { raw: Method; commit: Method; rollback: Method };
  readonly prisma: { $queryRawUnsafe: Method; $connect?: never };
  readonly typeOrm: { query: Method; getRepository: Method; createQueryRunner?: never };
}

/**
 * A transaction of the caller: a `pg` client, or what postgres.js, Drizzle, Kysely, Knex, Prisma and TypeORM hand out
 * inside theirs. It is recognised by its shape, so none of these libraries is needed here.
 */
export type Transaction = TransactionShapes[keyof TransactionShapes];

/**
 * A database of the caller, in which a transaction can begin: a `pg` Pool, or that of postgres.js, Drizzle, Kysely,
 * Knex, Prisma or TypeORM.
 */
export type Database =
  | { connect: Method; readonly totalCount: number }
  | { begin: Method; unsafe: Method }
  | { transaction: Method }
  | { $transaction: Method };

/** Options of every call. */
export interface CallOptions {
  /** The transaction to use, and only it. Default: the call commits by itself. */
  readonly tx?: Transaction;
  /**
   * On Citus: an anchor, a table with one row in the schema of a tenant (`millrace cells anchor`), as `schema.table`.
   * The call is done in the cell of the node that the tenant lives on, in the same transaction. Default: where the
   * connection is.
   */
  readonly near?: string;
}

/** A call in a transaction of the caller's whose end somebody waits for. */
export interface FollowedCall extends CallOptions {
  /** Is told the number of the transaction, when the call is done. */
  readonly follow?: (xid: string) => void;
}

type Row = Readonly<Record<string, unknown>>;
type Run = (text: string, values: readonly unknown[]) => Promise<readonly Row[]>;
type Shape = Readonly<Record<string, unknown>>;

interface Library {
  readonly name: string;
  /** Is this of that library? The first that says yes is taken. */
  readonly fits: (tx: Shape) => boolean;
  /** Is it a transaction? Else it stands for the whole database, and each statement would commit by itself. */
  readonly isTransaction: (tx: Shape) => boolean;
  /** How it runs a statement with parameters. Absent when it does so as the engine asks. */
  readonly run?: (tx: never) => Run;
  /** How it does something in a transaction, which ends with it. */
  readonly begin: (db: never, work: (tx: Transaction) => Promise<unknown>) => Promise<unknown>;
}

type Work = (tx: Transaction) => Promise<unknown>;

const typeParsers = pg.types as { getTypeParser(type: number, format: "text"): (text: string) => unknown };
const has = (value: Shape, ...names: readonly string[]): boolean =>
  names.every((name) => typeof value[name] === "function");

const libraries: readonly Library[] = [
  {
    name: "postgres.js",
    fits: (tx) => typeof tx === "function" && has(tx, "unsafe"),
    isTransaction: (tx) => has(tx, "savepoint"),
    begin: (db: { begin(work: Work): Promise<unknown> }, work) => db.begin(work),
    // Its options may rename columns, change what is inside JSON, and turn types off, so the values are taken as the
    // server sent them.
    run:
      (tx: { unsafe(text: string, values: readonly unknown[]): { raw(): Promise<RawRows> } }) =>
      async (text, values) => {
        const rows = await tx.unsafe(text, values).raw();
        const columns = rows.columns.map(({ name, type }) => ({
          name,
          parse: typeParsers.getTypeParser(type, "text"),
        }));
        return rows.map((row) =>
          Object.fromEntries(columns.map(({ name, parse }, i) => [name, row[i] ? parse(row[i].toString()) : null])),
        );
      },
  },
  {
    name: "Prisma",
    fits: (tx) => has(tx, "$queryRawUnsafe"),
    isTransaction: (tx) => !has(tx, "$connect"),
    begin: (db: { $transaction(work: Work): Promise<unknown> }, work) => db.$transaction(work),
    run:
      (tx: { $queryRawUnsafe(text: string, ...values: readonly unknown[]): Promise<readonly Row[]> }) =>
      (text, values) =>
        tx.$queryRawUnsafe(text, ...values),
  },
  {
    name: "TypeORM",
    fits: (tx) => has(tx, "query") && (has(tx, "getRepository") || (has(tx, "startTransaction") && "manager" in tx)),
    isTransaction: (tx) => has(tx, "startTransaction") || Boolean(tx["queryRunner"]),
    begin: (db: { transaction(work: Work): Promise<unknown> }, work) => db.transaction(work),
    run: (tx: { query: Run }) => (text, values) => tx.query(text, values),
  },
  {
    name: "Kysely",
    fits: (tx) => has(tx, "executeQuery", "selectFrom"),
    isTransaction: (tx) => tx["isTransaction"] === true,
    begin: (db: { transaction(): { execute(work: Work): Promise<unknown> } }, work) => db.transaction().execute(work),
    // Plugins may rename columns, and change what is inside JSON.
    run:
      (tx: { withoutPlugins(): { executeQuery(query: object): Promise<QueryResult> } }) => async (sql, parameters) => {
        const query = { kind: "RawNode", sqlFragments: [sql], parameters: [] };
        return (await tx.withoutPlugins().executeQuery({ sql, parameters, query, queryId: { queryId: "millrace" } }))
          .rows;
      },
  },
  {
    name: "Knex",
    fits: (tx) => typeof tx === "function" && has(tx, "raw", "transaction"),
    isTransaction: (tx) => tx["isTransaction"] === true,
    begin: (db: { transaction(work: Work): Promise<unknown> }, work) => db.transaction(work),
    run: (tx: { raw(sql: string, bindings: readonly unknown[]): Promise<QueryResult> }) => async (text, values) => {
      const bindings: unknown[] = [];
      const sql = text.replace(/\$(\d+)/g, (_, n: string) => (bindings.push(values[Number(n) - 1]), "?"));
      try {
        return (await tx.raw(sql, bindings)).rows;
      } catch (error) {
        if (error instanceof Error) error.message = withoutStatement(error.message, sql);
        throw error;
      }
    },
  },
  {
    name: "Drizzle",
    fits: (tx) => has(tx, "execute", "select", "transaction"),
    isTransaction: (tx) => has(tx, "rollback"),
    begin: (db: { transaction(work: Work): Promise<unknown> }, work) => db.transaction(work),
    run: (tx: { execute(query: object): Promise<QueryResult | readonly Row[]> }) => async (sql, params) => {
      const query = { getSQL: () => query, toQuery: () => ({ sql, params }), shouldOmitSQLParens: () => false };
      const result = await tx.execute(query);
      return "rows" in result ? result.rows : result;
    },
  },
  {
    name: "pg",
    fits: (tx) => has(tx, "query"),
    isTransaction: (tx) => !("totalCount" in tx),
    begin: (pool: ConnectionPool, work) => inTransaction(pool, undefined, work),
  },
];

function libraryOf(value: unknown): Library | undefined {
  return (typeof value === "object" && value !== null) || typeof value === "function"
    ? libraries.find(({ fits }) => fits(value as Shape))
    : undefined;
}

/** Do something in a transaction of a database of the caller: a `pg` Pool, or that of any library that `tx` knows. */
export async function inTransactionOf<T>(db: Database, work: (tx: Transaction) => Promise<T>): Promise<T> {
  const library = libraryOf(db);
  if (!library || library.isTransaction(db)) {
    throw new InvalidArgumentError(
      library ? "this is a transaction already" : "this is not a database Millrace knows",
      "pass a pg Pool, or the database of postgres.js, Drizzle, Kysely, Knex, Prisma or TypeORM",
    );
  }
  return (await library.begin(db as never, work)) as T;
}

/** A transaction as the engine uses it. A `pg` client is one already; the others are wrapped. */
export function asQueryable(tx: Transaction): Queryable {
  const shape = tx as Shape;
  const library = libraryOf(tx);
  if (!library) {
    throw new InvalidArgumentError(
      "tx is not a transaction Millrace knows",
      "pass a pg client, or the transaction object of postgres.js, Drizzle, Kysely, Knex, Prisma or TypeORM",
    );
  }
  if (!library.isTransaction(shape)) {
    throw new InvalidArgumentError(
      `tx is a whole database of ${library.name}, not a transaction`,
      "pass what the library gave you when the transaction began, or leave tx out",
    );
  }
  return library.run ? new ForeignTransaction(library.run(tx as never)) : (tx as Queryable);
}

class ForeignTransaction implements Queryable {
  readonly #run: Run;

  constructor(run: Run) {
    this.#run = run;
  }

  async query({ text, values }: { readonly text: string; readonly values: unknown[] }): Promise<QueryResult> {
    try {
      const rows = await this.#run(toStatement(text), (values as Parameter[]).map(toParameter));
      return { rows: rows.map(toRow) };
    } catch (error) {
      const fromServer = serverError(error);
      const translated = translateError(fromServer);
      throw translated === fromServer ? error : translated;
    }
  }
}

/**
 * Drivers differ in how they write arrays, JSON and numbers, so every parameter goes as text and is cast in the
 * statement. A function that returns nothing goes to FROM: as a column it would have the type void, which Prisma cannot
 * read.
 */
function toStatement(text: string): string {
  return text.replace(/(\$\d+)::(?!bytea\b)/g, "$1::text::").replace(/^select (?=\w+\.\w+\([^()]*\)$)/, "select from ");
}

type Parameter = string | number | bigint | boolean | Date | Uint8Array | readonly string[] | null | undefined;

function toParameter(value: Parameter): string | Uint8Array | null {
  if (value === null || value === undefined || typeof value === "string" || value instanceof Uint8Array)
    return value ?? null;
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value))
    return `{${value.map((item: string) => `"${item.replaceAll(/["\\]/g, "\\$&")}"`).join(",")}}`;
  return String(value);
}

/**
 * A row as `pg` gives it: large integers as text, and the server's names where the library was set up to write them as
 * jobId or job-id.
 */
function toRow(row: Row): Row {
  const serverName = (name: string): string =>
    name
      .replaceAll("-", "_")
      .replaceAll(/(?!^)[A-Z]/g, "_$&")
      .toLowerCase();
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [serverName(name), typeof value === "bigint" ? String(value) : value]),
  );
}

/** Knex writes the statement, with its values, before the server's message. */
function withoutStatement(message: string, sql: string): string {
  const end = `${sql.slice(sql.lastIndexOf("?") + 1)} - `;
  const at = message.lastIndexOf(end);
  return at < 0 ? message : message.slice(at + end.length);
}

/** What the server said, inside what the library threw: Drizzle has it as the cause, Prisma in its own form. */
function serverError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { code, cause, meta } = error as Error & { readonly code?: string; readonly meta?: PrismaMeta };
  const said = meta?.driverAdapterError?.cause ?? meta;
  const saidCode = said?.originalCode ?? said?.code;
  if (saidCode !== undefined)
    return Object.assign(new Error(said?.originalMessage ?? said?.message, { cause: error }), {
      code: saidCode,
      hint: said?.hint,
    });
  return code === undefined && cause instanceof Error ? cause : error;
}

/** Rows of postgres.js as the server sent them. */
interface RawRows extends ReadonlyArray<readonly (Buffer | null)[]> {
  readonly columns: readonly { readonly name: string; readonly type: number }[];
}

/** What Prisma tells of an error, with the server's words in one of two forms. */
interface PrismaMeta extends PrismaSaid {
  readonly driverAdapterError?: { readonly cause?: PrismaSaid };
}

interface PrismaSaid {
  readonly code?: string;
  readonly message?: string;
  readonly originalCode?: string;
  readonly originalMessage?: string;
  readonly hint?: string;
}
