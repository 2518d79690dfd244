import type { TestProject } from "vitest/node";
import { startEmbeddedServer } from "../../src/embedded/server.js";
import { buildIfStale } from "./build.js";

declare module "vitest" {
  interface ProvidedContext {
    serverUrl: string;
  }
}

/** The package is built, and there is one server per run: the one DATABASE_URL names, or an embedded PostgreSQL that is gone afterwards. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  buildIfStale();
  const given = process.env["DATABASE_URL"];
  if (given) {
    project.provide("serverUrl", given);
    return async () => {};
  }
  const server = await startEmbeddedServer({ settings: { max_connections: "300", fsync: "off", shared_buffers: "256MB", max_wal_size: "2GB" } });
  project.provide("serverUrl", server.url);
  return () => server.stop();
}
