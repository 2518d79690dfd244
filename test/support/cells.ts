import pg from "pg";
import { afterAll, beforeAll } from "vitest";
import { Engine } from "../../src/db/engine.js";
import { migrate } from "../../src/db/migrate.js";
import { type EmbeddedServer, startEmbeddedServer } from "../../src/embedded/server.js";

/** A cell on a server of its own. */
export interface TestCell {
  readonly name: string;
  readonly url: string;
  readonly pool: pg.Pool;
  readonly engine: Engine;
}

/** Servers of their own, one for each cell, with the schema installed; gone after the file. */
export function useCells(...names: readonly string[]): ReadonlyMap<string, TestCell> {
  const cells = new Map<string, TestCell>();
  const servers: EmbeddedServer[] = [];
  beforeAll(async () => {
    const started = await Promise.all(
      names.map(() => startEmbeddedServer({ settings: { fsync: "off", max_connections: "100" } })),
    );
    servers.push(...started);
    for (const [i, name] of names.entries()) {
      const { url } = started[i]!;
      const pool = new pg.Pool({ connectionString: url, max: 30, options: "-c search_path=millrace,public" });
      pool.on("error", () => {});
      pool.on("connect", (client) => client.on("error", () => {}));
      cells.set(name, { name, url, pool, engine: new Engine({ pool }) });
    }
    await Promise.all([...cells.values()].map(({ pool }) => migrate(pool)));
  }, 60_000);
  afterAll(async () => {
    await Promise.all([...cells.values()].map(({ pool }) => pool.end()));
    await Promise.all(servers.map((server) => server.stop("immediate")));
  });
  return cells;
}
