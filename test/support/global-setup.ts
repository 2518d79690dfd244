import pg from "pg";
import type { TestProject } from "vitest/node";
import { migrate } from "../../src/db/migrate.js";
import { startEmbeddedServer } from "../../src/embedded/server.js";
import { buildIfStale } from "./build.js";
import { inDatabase, onServer } from "./server.js";
import { writeToMemory } from "./temporary-folder.js";

declare module "vitest" {
  interface ProvidedContext {
    serverUrl: string;
    /**
     * A database with the schema in it, from which those of the test files are copied: that takes a tenth of the time
     * of a migration.
     */
    template: string;
  }
}

/**
 * The package is built, and there is one server per run: the one DATABASE_URL names, or an embedded PostgreSQL that is
 * gone afterwards.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  buildIfStale();
  const clear = writeToMemory();
  const server = process.env["DATABASE_URL"]
    ? undefined
    : await startEmbeddedServer({
        settings: {
          max_connections: "300",
          fsync: "off",
          shared_buffers: "256MB",
          max_wal_size: "2GB",
          max_prepared_transactions: "20",
        },
      });
  const url = server?.url ?? process.env["DATABASE_URL"]!;
  const template = `test_template_${process.pid}`;
  await onServer(url, `create database ${template}`);
  const pool = new pg.Pool({ connectionString: inDatabase(url, template) });
  await migrate(pool);
  await pool.end();
  project.provide("serverUrl", url);
  project.provide("template", template);
  return async () => {
    if (server) await server.stop();
    else await onServer(url, `drop database if exists ${template}`);
    clear();
  };
}
