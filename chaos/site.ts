import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { migrate } from "millrace";
import { Network } from "./network.js";
import { ChaosServer } from "./server.js";

/** So long may anything take that has to come in the end. */
export const patienceMs = 120_000;

/** Where handlers leave what they did. */
export const books = `
  create schema chaos;
  create table chaos.effect (job bigint not null, attempt int not null, pid int not null, at timestamptz not null default clock_timestamp());
  create table chaos.ledger (job bigint not null);`;

/** A server with the schema and the books, and the way to it. */
export class Site {
  readonly server: ChaosServer;
  #network: Network | undefined;
  #pool: pg.Pool | undefined;

  /** `name`: what the cell is called whose server this is; empty where there is one server. */
  constructor(
    readonly name: string,
    settings?: Readonly<Record<string, string>>,
    folder?: string,
  ) {
    this.server = new ChaosServer(settings, folder);
  }

  async open(): Promise<void> {
    await this.server.start();
    this.#network = await Network.open(this.server.port);
    await migrate(this.pool);
    await this.sql(books);
  }

  /** The way that processes take to the server. */
  get network(): Network {
    if (!this.#network) throw new Error("the world is not made yet");
    return this.#network;
  }

  get url(): string {
    return this.network.url;
  }

  /** Connections of the suite itself. */
  get pool(): pg.Pool {
    if (!this.#pool) {
      this.#pool = new pg.Pool({
        connectionString: this.url,
        max: 5,
        connectionTimeoutMillis: 10_000,
        query_timeout: 60_000,
      });
      this.#pool.on("error", () => {});
      this.#pool.on("connect", (client) => client.on("error", () => {}));
    }
    return this.#pool;
  }

  async sql<Row extends object = Record<string, unknown>>(text: string, values: unknown[] = []): Promise<Row[]> {
    return (await this.pool.query(text, values)).rows as Row[];
  }

  /** The same while the server may be gone: tried again until it answers. */
  async sqlInTheEnd<Row extends object = Record<string, unknown>>(
    text: string,
    values: unknown[] = [],
  ): Promise<Row[]> {
    for (const end = Date.now() + patienceMs; ;) {
      try {
        return await this.sql<Row>(text, values);
      } catch (error) {
        if (Date.now() > end) throw error;
        await sleep(100);
      }
    }
  }

  /** The server comes back under another port; whoever goes through the network does not see that. */
  async restart(): Promise<void> {
    await this.server.start();
    this.network.target = this.server.port;
  }

  async remove(): Promise<void> {
    await this.#pool?.end().catch(() => {});
    this.#network?.close();
    await this.server.remove();
  }
}
