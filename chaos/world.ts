import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { Engine, type WorkerOptions, migrate } from "millrace";
import { Network } from "./network.js";
import { Child, type JobInput, type ProducerArguments, type Surroundings, type WorkerArguments } from "./processes.js";
import { ChaosServer } from "./server.js";

export interface WorldOptions {
  /** Settings of the server. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Where the server keeps its data. Default: a temporary folder. */
  readonly folder?: string;
  /** Twelve times as much of everything. */
  readonly isLong: boolean;
}

export interface Production {
  /** How many jobs; twelve times as many in a long run. */
  readonly jobs: number;
  readonly perSecond?: number;
  readonly types?: readonly string[];
  readonly input?: JobInput;
  readonly options?: ProducerArguments["options"];
  readonly groups?: number;
  readonly url?: string;
  readonly prepare?: boolean;
}

/** So long may anything take that has to come in the end. */
const patienceMs = 120_000;
const defaultLease = "2s";

/** Where handlers leave what they did. */
export const books = `
  create schema chaos;
  create table chaos.effect (job bigint not null, attempt int not null, pid int not null, at timestamptz not null default clock_timestamp());
  create table chaos.ledger (job bigint not null);`;

/** One scenario's own server, network, processes, and the books on what they did. */
export class World implements AsyncDisposable {
  readonly server: ChaosServer;
  readonly isLong: boolean;
  /** Ids of jobs whose storing was confirmed, and of those whose transaction was rolled back. */
  readonly acknowledged = new Set<string>();
  readonly undone = new Set<string>();
  readonly children: Child[] = [];
  /** Things worth a word in the table. */
  readonly remarks: string[] = [];
  readonly #closing: (() => Promise<void> | void)[] = [];
  #network: Network | undefined;
  #pool: pg.Pool | undefined;

  private constructor(options: WorldOptions) {
    this.server = new ChaosServer(options.settings, options.folder);
    this.isLong = options.isLong;
  }

  static async create(options: WorldOptions): Promise<World> {
    const world = new World(options);
    try {
      await world.server.start();
      world.#network = await Network.open(world.server.port);
      await migrate(world.pool);
      await world.sql(books);
    } catch (error) {
      await world[Symbol.asyncDispose]();
      throw error;
    }
    return world;
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

  get engine(): Engine {
    return new Engine({ pool: this.pool });
  }

  /** How many of something: more in a long run. */
  many(n: number): number {
    return this.isLong ? n * 12 : n;
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

  /** Something to be undone at the end. */
  onClose(close: () => Promise<void> | void): void {
    this.#closing.unshift(close);
  }

  worker(options: WorkerOptions = {}, more: Partial<WorkerArguments> = {}, surroundings?: Surroundings): Child {
    return this.#keep(new Child("worker", { ...this.#workerArguments(options), ...more }, surroundings));
  }

  /** A worker whose handlers are made of steps, or are jobs of flows. */
  durableWorker(options: WorkerOptions = {}): Child {
    return this.#keep(new Child("durable-worker", this.#workerArguments(options)));
  }

  #workerArguments(options: WorkerOptions): WorkerArguments {
    return { url: this.url, options: { lease: defaultLease, pollInterval: "200ms", ...options } };
  }

  producer(
    {
      jobs,
      perSecond = 400,
      types = ["plain", "exact"],
      input,
      options = {},
      groups,
      url = this.url,
      prepare = true,
    }: Production,
    surroundings?: Surroundings,
  ): Child {
    const argument: ProducerArguments = {
      url,
      jobs: this.many(jobs),
      perSecond,
      types,
      input: input ?? null,
      options,
      ...(groups === undefined ? {} : { groups }),
      prepare,
    };
    const child = this.#keep(new Child("producer", argument, surroundings));
    child.onSaid = ({ event, ids = [] }) => {
      if (event === "acknowledged") for (const id of ids) this.acknowledged.add(id);
      if (event === "undone") for (const id of ids) this.undone.add(id);
    };
    return child;
  }

  /** Wait until something is so. */
  async until(what: string, isSo: () => boolean | Promise<boolean>, forMs = patienceMs): Promise<void> {
    for (const end = Date.now() + forMs; !(await isSo());) {
      if (Date.now() > end) throw new Error(`waited in vain: ${what}`);
      await sleep(50);
    }
  }

  /** How many jobs have run so far. */
  async executions(): Promise<number> {
    const [row] = await this.sqlInTheEnd<{ n: number }>("select count(*)::int as n from chaos.effect");
    return row?.n ?? 0;
  }

  /** Wait until no job waits or runs any more, for as long as there are fewer and fewer. */
  async drained(): Promise<void> {
    let fewest = Infinity;
    for (let end = Date.now() + patienceMs; ; await sleep(200)) {
      const [row] = await this.sqlInTheEnd<{ open: number }>(
        "select count(*)::int as open from millrace.jobs where state not in ('succeeded', 'failed', 'expired', 'cancelled')",
      );
      const open = row?.open ?? Infinity;
      if (open === 0) return;
      if (open < fewest) [fewest, end] = [open, Date.now() + patienceMs];
      if (Date.now() > end) throw new Error(`waited in vain: ${open} jobs have not ended`);
    }
  }

  #keep(child: Child): Child {
    this.children.push(child);
    return child;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.children) if (!child.hasEnded) child.kill("SIGKILL");
    await Promise.all(this.children.map((child) => child.exit));
    for (const close of this.#closing) await close();
    await this.#pool?.end().catch(() => {});
    this.#network?.close();
    await this.server.remove();
  }
}
