import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { Engine, type WorkerOptions } from "millrace";
import type { Network } from "./network.js";
import { Child, type JobInput, type ProducerArguments, type Surroundings, type WorkerArguments } from "./processes.js";
import type { ChaosServer } from "./server.js";
import { Site, patienceMs } from "./site.js";

export interface WorldOptions {
  /** Settings of the servers. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Names of cells, each on a server of its own. Default: one server, and no cells. */
  readonly cells?: readonly string[];
  /** Where the server keeps its data. Default: a temporary folder. */
  readonly folder?: string;
  /** Twelve times as much of everything. */
  readonly isLong: boolean;
}

export interface Production extends Pick<
  ProducerArguments,
  "cells" | "groups" | "fingerprints" | "lingerMs" | "prepare"
> {
  /** How many jobs; twelve times as many in a long run. */
  readonly jobs: number;
  readonly perSecond?: number;
  readonly types?: readonly string[];
  readonly input?: JobInput;
  readonly options?: ProducerArguments["options"];
  readonly url?: string;
}

const defaultLease = "2s";

/** One scenario's own servers, networks, processes, and the books on what they did. */
export class World implements AsyncDisposable {
  /** Nearly always one; several when the scenario has cells. */
  readonly sites: readonly Site[];
  readonly isLong: boolean;
  /** Ids of jobs whose storing was confirmed, and of those whose transaction was rolled back. */
  readonly acknowledged = new Set<string>();
  readonly undone = new Set<string>();
  readonly children: Child[] = [];
  /** Things worth a word in the table. */
  readonly remarks: string[] = [];
  readonly #closing: (() => Promise<void> | void)[] = [];

  private constructor({ isLong, settings, folder, cells = [""] }: WorldOptions) {
    this.sites = cells.map((name) => new Site(name, settings, folder));
    this.isLong = isLong;
  }

  static async create(options: WorldOptions): Promise<World> {
    const world = new World(options);
    try {
      await Promise.all(world.sites.map((site) => site.open()));
    } catch (error) {
      await world[Symbol.asyncDispose]();
      throw error;
    }
    return world;
  }

  /** The server of one cell. */
  site(name: string): Site {
    const site = this.sites.find((one) => one.name === name);
    if (!site) throw new Error(`there is no cell ${name}`);
    return site;
  }

  /** How to get to each cell; nothing when the scenario has none. */
  get cells(): Record<string, string> | undefined {
    if (this.#first.name === "") return undefined;
    return Object.fromEntries(this.sites.map(({ name, url }) => [name, url]));
  }

  get #first(): Site {
    return this.sites[0]!;
  }

  get server(): ChaosServer {
    return this.#first.server;
  }

  /** The way that processes take to the server. */
  get network(): Network {
    return this.#first.network;
  }

  get url(): string {
    return this.#first.url;
  }

  /** Connections of the suite itself. */
  get pool(): pg.Pool {
    return this.#first.pool;
  }

  get engine(): Engine {
    return new Engine({ pool: this.pool });
  }

  /** The server comes back; whoever goes through the network does not see that its port is another. */
  async restart(): Promise<void> {
    await this.#first.restart();
  }

  /** How many of something: more in a long run. */
  many(n: number): number {
    return this.isLong ? n * 12 : n;
  }

  async sql<Row extends object = Record<string, unknown>>(text: string, values: unknown[] = []): Promise<Row[]> {
    return this.#first.sql<Row>(text, values);
  }

  /** The same while the server may be gone: tried again until it answers. */
  async sqlInTheEnd<Row extends object = Record<string, unknown>>(
    text: string,
    values: unknown[] = [],
  ): Promise<Row[]> {
    return this.#first.sqlInTheEnd<Row>(text, values);
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
    const { url, cells } = this;
    return { url, ...(cells ? { cells } : {}), options: { lease: defaultLease, pollInterval: "200ms", ...options } };
  }

  producer(
    { jobs, perSecond = 400, types = ["plain", "exact"], input, options = {}, url = this.url, ...more }: Production,
    surroundings?: Surroundings,
  ): Child {
    const { cells } = this;
    const argument: ProducerArguments = {
      url,
      ...(cells ? { cells } : {}),
      jobs: this.many(jobs),
      perSecond,
      types,
      input: input ?? null,
      options,
      ...more,
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
    return this.#total("select count(*)::int as n from chaos.effect");
  }

  /** Wait until no job waits or runs any more, for as long as there are fewer and fewer. */
  async drained(): Promise<void> {
    let fewest = Infinity;
    for (let end = Date.now() + patienceMs; ; await sleep(200)) {
      const open = await this.#total(
        "select count(*)::int as n from millrace.jobs where state not in ('succeeded', 'failed', 'expired', 'cancelled')",
      );
      if (open === 0) return;
      if (open < fewest) [fewest, end] = [open, Date.now() + patienceMs];
      if (Date.now() > end) throw new Error(`waited in vain: ${open} jobs have not ended`);
    }
  }

  /** What a count says over all servers. */
  async #total(text: string): Promise<number> {
    const rows = await Promise.all(this.sites.map((site) => site.sqlInTheEnd<{ n: number }>(text)));
    return rows.reduce((sum, [row]) => sum + (row?.n ?? Infinity), 0);
  }

  #keep(child: Child): Child {
    this.children.push(child);
    return child;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.children) if (!child.hasEnded) child.kill("SIGKILL");
    await Promise.all(this.children.map((child) => child.exit));
    for (const close of this.#closing) await close();
    await Promise.all(this.sites.map((site) => site.remove()));
  }
}
