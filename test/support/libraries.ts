import { sql } from "drizzle-orm";
import { type NodePgDatabase, drizzle as drizzleOnPg } from "drizzle-orm/node-postgres";
import { type PostgresJsDatabase, drizzle as drizzleOnPostgresJs } from "drizzle-orm/postgres-js";
import knex, { type Knex } from "knex";
import {
  CamelCasePlugin,
  CompiledQuery,
  type ControlledTransaction,
  Kysely,
  type KyselyPlugin,
  PostgresDialect,
  type Transaction as KyselyTransaction,
} from "kysely";
import pg from "pg";
import postgres from "postgres";
import { DataSource, type EntityManager, type QueryRunner } from "typeorm";
import type { Database, Transaction } from "../../src/db/foreign.js";
import { type PrismaTransaction, openPrisma } from "./prisma.js";

/** A library connected to a database. */
export interface Connected<Tx extends Transaction = Transaction> {
  /** What stands for the whole database: handing it over as a transaction would be a mistake. */
  readonly database: Database;
  /** Run `work` in a transaction: committed when it returns, rolled back when it throws. */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** The same inside a transaction, by a savepoint; absent where the library has none. */
  nested?<T>(tx: Tx, work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Run a statement of the application's own. */
  write(tx: Tx, statement: string): Promise<unknown>;
  close(): Promise<unknown>;
}

/** A library whose transactions Millrace takes, set up as its users set it up. */
export interface Library {
  readonly name: string;
  connect(url: string): Promise<Connected>;
}

const library = <Tx extends Transaction>(
  name: string,
  connect: (url: string) => Promise<Connected<Tx>> | Connected<Tx>,
): Library => ({
  name,
  connect: async (url) => await connect(url),
});

function newPool(url: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: 4 });
  pool.on("error", () => {});
  return pool;
}

const pgClient = library<pg.PoolClient>("pg", (url) => {
  const pool = newPool(url);
  const between = async <T>(
    client: pg.PoolClient,
    [begin, commit, rollback]: readonly [string, string, string],
    work: () => Promise<T>,
  ): Promise<T> => {
    await client.query(begin);
    try {
      const result = await work();
      await client.query(commit);
      return result;
    } catch (error) {
      await client.query(rollback);
      throw error;
    }
  };
  return {
    database: pool,
    async transaction(work) {
      const client = await pool.connect();
      try {
        return await between(client, ["begin", "commit", "rollback"], () => work(client));
      } finally {
        client.release();
      }
    },
    nested: (client, work) => between(client, ["savepoint s", "release s", "rollback to s"], () => work(client)),
    write: (client, statement) => client.query(statement),
    close: () => pool.end(),
  };
});

const postgresJs = (name: string, options: postgres.Options<Record<string, never>> = {}): Library =>
  library<postgres.TransactionSql>(name, (url) => {
    const database = postgres(url, { max: 4, onnotice: () => {}, ...options }) as unknown as postgres.Sql;
    return {
      database,
      transaction: <T>(work: (tx: postgres.TransactionSql) => Promise<T>) => database.begin(work) as Promise<T>,
      nested: <T>(tx: postgres.TransactionSql, work: (tx: postgres.TransactionSql) => Promise<T>) =>
        tx.savepoint(work) as Promise<T>,
      write: (tx, statement) => tx.unsafe(statement),
      close: () => database.end(),
    };
  });

type DrizzleDatabase = NodePgDatabase | PostgresJsDatabase;
type DrizzleTransaction = Parameters<Parameters<NodePgDatabase["transaction"]>[0]>[0];

const drizzle = (
  name: string,
  open: (url: string) => { readonly database: DrizzleDatabase; readonly close: () => Promise<unknown> },
): Library =>
  library<DrizzleTransaction>(name, (url) => {
    const { database, close } = open(url);
    return {
      database,
      transaction: (work) => (database as NodePgDatabase).transaction(work),
      nested: (tx, work) => tx.transaction(work),
      write: async (tx, statement) => tx.execute(sql.raw(statement)),
      close,
    };
  });

const kysely = (name: string, plugins: KyselyPlugin[] = []): Library =>
  library<KyselyTransaction<unknown>>(name, (url) => {
    const database = new Kysely<unknown>({ dialect: new PostgresDialect({ pool: newPool(url) }), plugins });
    return {
      database,
      transaction: (work) => database.transaction().execute(work),
      write: (tx, statement) => tx.executeQuery(CompiledQuery.raw(statement)),
      close: () => database.destroy(),
    };
  });

const kyselyControlled = library<ControlledTransaction<unknown, string[]>>("Kysely, controlled", (url) => {
  const database = new Kysely<unknown>({ dialect: new PostgresDialect({ pool: newPool(url) }) });
  return {
    database,
    async transaction(work) {
      const tx = await database.startTransaction().execute();
      try {
        const result = await work(tx);
        await tx.commit().execute();
        return result;
      } catch (error) {
        await tx.rollback().execute();
        throw error;
      }
    },
    async nested(tx, work) {
      const inner = await tx.savepoint("s").execute();
      try {
        return await work(inner);
      } catch (error) {
        await inner.rollbackToSavepoint("s").execute();
        throw error;
      }
    },
    write: (tx, statement) => tx.executeQuery(CompiledQuery.raw(statement)),
    close: () => database.destroy(),
  };
});

const knexLibrary = (name: string, config: Knex.Config = {}): Library =>
  library<Knex.Transaction>(name, (url) => {
    const database = knex({ client: "pg", connection: url, pool: { min: 0, max: 4 }, ...config });
    return {
      database,
      transaction: <T>(work: (tx: Knex.Transaction) => Promise<T>) => database.transaction(work),
      nested: <T>(tx: Knex.Transaction, work: (tx: Knex.Transaction) => Promise<T>) => tx.transaction(work),
      write: async (tx, statement) => tx.raw(statement),
      close: () => database.destroy(),
    };
  });

/** Names of columns in camel case, as the guides for Knex show it. */
const camelRows = (response: { rows?: Record<string, unknown>[] }): unknown => {
  const camel = (row: Record<string, unknown>): Record<string, unknown> =>
    Object.fromEntries(
      Object.entries(row).map(([key, value]) => [
        key.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
        value,
      ]),
    );
  if (response?.rows) response.rows = response.rows.map(camel);
  return response;
};

const prisma = library<PrismaTransaction>("Prisma", (url) => {
  const database = openPrisma(url);
  return {
    database,
    transaction: (work) => database.$transaction(work),
    nested: (tx, work) => tx.$transaction(work),
    write: (tx, statement) => tx.$executeRawUnsafe(statement),
    close: () => database.$disconnect(),
  };
});

const typeOrmManager = library<EntityManager>("TypeORM, its manager", async (url) => {
  const database = await new DataSource({ type: "postgres", url, poolSize: 4 }).initialize();
  return {
    database,
    transaction: (work) => database.transaction(work),
    nested: (tx, work) => tx.transaction(work),
    write: (tx, statement) => tx.query(statement),
    close: () => database.destroy(),
  };
});

const typeOrmRunner = library<QueryRunner>("TypeORM, its query runner", async (url) => {
  const database = await new DataSource({ type: "postgres", url, poolSize: 4 }).initialize();
  const between = async <T>(runner: QueryRunner, work: (tx: QueryRunner) => Promise<T>): Promise<T> => {
    await runner.startTransaction();
    try {
      const result = await work(runner);
      await runner.commitTransaction();
      return result;
    } catch (error) {
      await runner.rollbackTransaction();
      throw error;
    }
  };
  return {
    database: database.manager,
    async transaction(work) {
      const runner = database.createQueryRunner();
      try {
        return await between(runner, work);
      } finally {
        await runner.release();
      }
    },
    nested: between,
    write: (tx, statement) => tx.query(statement),
    close: () => database.destroy(),
  };
});

export const libraries: readonly Library[] = [
  pgClient,
  postgresJs("postgres.js"),
  postgresJs("postgres.js with names in camel case, not knowing the server's types", {
    transform: postgres.camel,
    fetch_types: false,
    prepare: false,
  }),
  drizzle("Drizzle on pg", (url) => {
    const pool = newPool(url);
    return { database: drizzleOnPg(pool), close: () => pool.end() };
  }),
  drizzle("Drizzle on postgres.js", (url) => {
    const client = postgres(url, { max: 4, onnotice: () => {} });
    return { database: drizzleOnPostgresJs(client), close: () => client.end() };
  }),
  kysely("Kysely"),
  kysely("Kysely with names in camel case", [new CamelCasePlugin()]),
  kyselyControlled,
  knexLibrary("Knex"),
  knexLibrary("Knex with names in camel case", { postProcessResponse: camelRows }),
  prisma,
  typeOrmManager,
  typeOrmRunner,
];
