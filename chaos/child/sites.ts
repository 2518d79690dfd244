import pg from "pg";
import type { CellConnections } from "millrace";

/** The servers of a process: one, or one for each cell. */
export class Sites {
  readonly #pools: ReadonlyMap<string, pg.Pool>;
  /** What a client is given. */
  readonly connection: { readonly connection: pg.Pool } | { readonly cells: CellConnections };

  constructor({
    url,
    cells,
    max,
  }: {
    readonly url: string;
    readonly cells: Readonly<Record<string, string>> | undefined;
    readonly max: number;
  }) {
    this.#pools = new Map(Object.entries(cells ?? { "": url }).map(([name, at]) => [name, open(at, max)]));
    this.connection = cells ? { cells: Object.fromEntries(this.#pools) } : { connection: this.pool() };
  }

  /** Connections to the server of a cell, by the cell's name. */
  pool(name = ""): pg.Pool {
    return this.#pools.get(name)!;
  }

  /** Connections to the server of a job, and its id there. */
  of(handle: string): { readonly pool: pg.Pool; readonly id: string } {
    const [cell, id] = handle.includes(":") ? handle.split(":") : ["", handle];
    return { pool: this.pool(cell), id: id! };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.end()));
  }
}

function open(connectionString: string, max: number): pg.Pool {
  const pool = new pg.Pool({ connectionString, max, connectionTimeoutMillis: 10_000, query_timeout: 20_000 });
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}
