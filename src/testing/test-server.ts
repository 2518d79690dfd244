import pg from "pg";
import { migrate } from "../db/migrate.js";
import { type EmbeddedServer, startEmbeddedServer } from "../embedded/server.js";

const template = "millrace_template";
let shared: Promise<EmbeddedServer> | undefined;
let databases = 0;

/**
 * Start an embedded PostgreSQL for many tests, in the global setup of a test runner, and give its `url` to
 * `createTestMill`. Without one each process of the runner starts its own, which takes two seconds.
 *
 * @example
 * ```ts
 * // global-setup.ts of vitest
 * import { startTestServer } from "millrace/testing";
 *
 * export default async function setup() {
 *   const server = await startTestServer();
 *   process.env.TEST_DATABASE_URL = server.url; // createTestMill({ url: process.env.TEST_DATABASE_URL })
 *   return () => server.stop();
 * }
 * ```
 */
export async function startTestServer(): Promise<EmbeddedServer> {
  return startEmbeddedServer({ settings: { fsync: "off", synchronous_commit: "off", max_connections: "300" } });
}

/**
 * A database of its own on the server that all tests of this process share. The server stays until the process ends,
 * and does not keep it from ending.
 */
export async function newDatabase(): Promise<{ server: EmbeddedServer; url: string; drop: () => Promise<void> }> {
  const server = await sharedServer();
  const name = `test_${(databases += 1)}`;
  await run(server, `create database ${name} template ${template}`); // a tenth of the time of a migration
  return {
    server,
    url: urlOf(server, name),
    drop: () => run(server, `drop database if exists ${name} with (force)`),
  };
}

async function sharedServer(): Promise<EmbeddedServer> {
  shared ??= startShared();
  try {
    return await shared;
  } catch (error) {
    shared = undefined;
    throw error;
  }
}

async function startShared(): Promise<EmbeddedServer> {
  const server = await startTestServer();
  server.unref();
  await run(server, `create database ${template}`);
  const pool = new pg.Pool({ connectionString: urlOf(server, template), max: 1 });
  await migrate(pool);
  await pool.end();
  return {
    ...server,
    async stop(mode) {
      shared = undefined; // where a test stops it, the next one gets another
      await server.stop(mode);
    },
  };
}

function urlOf(server: EmbeddedServer, database: string): string {
  const url = new URL(server.url);
  url.pathname = `/${database}`;
  return url.href;
}

async function run(server: EmbeddedServer, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
