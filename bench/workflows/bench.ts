import { SystemProcess } from "../compare/process.ts";
import type { Postgres } from "../compare/servers.ts";
import type { Commands } from "./commands.ts";
import type { Options, Sizes } from "./options.ts";
import type { Results } from "./results.ts";
import { type SystemEntry, systems } from "./systems/index.ts";

const script = new URL("child.ts", import.meta.url);

/** A database of its own for one measurement, and the process of its system. */
export interface Place {
  readonly database: string;
  readonly child: SystemProcess<Commands>;
}

/** What measurements work with: sizes, the server, systems and places. */
export class Bench {
  readonly sizes: Sizes;
  readonly postgres: Postgres;
  readonly #chosen: readonly string[];
  readonly #templates = new Map<string, Promise<string>>();

  constructor({ sizes, systems: chosen }: Options, postgres: Postgres) {
    this.sizes = sizes;
    this.#chosen = chosen;
    this.postgres = postgres;
  }

  /** The systems that take part. */
  systems(does: SystemEntry["does"]): string[] {
    return systems
      .filter((system) => this.#chosen.includes(system.name) && (system.does === does || system.does === "both"))
      .filter(({ missing }) => missing?.() === undefined)
      .map(({ name }) => name);
  }

  /**
   * Measure in alternating rounds, so that a slow moment of the machine hits all: each round begins with another
   * system. One that fails is left out of the rounds that follow.
   */
  async rounds(
    names: readonly string[],
    most: number,
    results: Results,
    measure: (system: string, round: number) => Promise<void>,
  ): Promise<void> {
    const failed = new Set<string>();
    const startedAt = performance.now();
    for (let round = 0; round < most; round += 1) {
      if (round > 0 && performance.now() - startedAt > this.sizes.scenarioSeconds * 1000) break;
      for (let turn = 0; turn < names.length; turn += 1) {
        const system = names[(turn + round) % names.length]!;
        if (failed.has(system)) continue;
        try {
          await measure(system, round);
        } catch (error) {
          results.fail(system, error);
          failed.add(system);
        }
      }
    }
  }

  /** A fresh database with the system in it, for as long as `work` takes; with a snapshot held open in it, or without. */
  async in<T>(system: string, held: boolean, work: (place: Place) => Promise<T>): Promise<T> {
    const { postgres } = this;
    let template = this.#templates.get(system);
    if (!template) this.#templates.set(system, (template = this.#setUp(system)));
    const database = await postgres.create(await template);
    const child = this.#start(system, database);
    try {
      return await postgres.with(database, async (sleeper) => {
        if (held) await sleeper.query("begin isolation level repeatable read; select count(*) from pg_class");
        return work({ database, child });
      });
    } finally {
      await child.end();
      await postgres.drop(database);
    }
  }

  async #setUp(system: string): Promise<string> {
    const database = await this.postgres.create();
    const child = this.#start(system, database);
    try {
      await child.call("setup", {});
    } finally {
      await child.end();
    }
    return database;
  }

  #start(system: string, database: string): SystemProcess<Commands> {
    return new SystemProcess<Commands>(system, this.postgres.urlOf(database), this.sizes.callSeconds, [], script);
  }
}
