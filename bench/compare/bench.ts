import type { Options, Sizes } from "./options.ts";
import { Place } from "./place.ts";
import type { Results } from "./results.ts";
import type { Postgres, RedisServer } from "./servers.ts";
import { type SystemEntry, systems } from "./systems/index.ts";

/** One thing to measure. */
export interface Scenario {
  readonly name: string;
  readonly title: string;
  run(bench: Bench, results: Results): Promise<void>;
}

/** What scenarios work with: sizes, servers, systems and places for their jobs. */
export class Bench {
  readonly sizes: Sizes;
  readonly postgres: Postgres;
  readonly redis: RedisServer | undefined;
  readonly #chosen: readonly string[];
  readonly #templates = new Map<string, string>();

  constructor(options: Options, postgres: Postgres, redis: RedisServer | undefined) {
    this.sizes = options.sizes;
    this.#chosen = options.systems;
    this.postgres = postgres;
    this.redis = redis;
  }

  /** The systems to measure, in one store or in both. */
  systems(store?: SystemEntry["store"]): string[] {
    return systems
      .filter(
        (system) =>
          this.#chosen.includes(system.name) &&
          (store === undefined || system.store === store) &&
          (system.store === "postgres" || this.redis),
      )
      .map(({ name }) => name);
  }

  /** Millrace alone, if it was chosen. */
  millrace(): string[] {
    return this.systems().filter((system) => system === "millrace");
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
    for (let round = 0; round < Math.min(most, this.sizes.rounds); round += 1) {
      if (round > 0 && performance.now() - startedAt > this.sizes.scenarioSeconds * 1000) break;
      for (let turn = 0; turn < names.length; turn += 1) {
        const system = names[(turn + round) % names.length]!;
        if (!failed.has(system) && !(await succeeds(system, results, () => measure(system, round)))) failed.add(system);
      }
    }
  }

  /** Measure all at the same time: only for what does not load the machine. */
  async together(
    names: readonly string[],
    results: Results,
    measure: (system: string) => Promise<void>,
  ): Promise<void> {
    await Promise.all(names.map((system) => succeeds(system, results, () => measure(system))));
  }

  /** A fresh place, set up for the system. Close it with `await using`. */
  async place(system: string, queues: readonly string[] = []): Promise<Place> {
    const { callSeconds } = this.sizes;
    if (systems.find(({ name }) => name === system)?.store === "redis") {
      await this.redis!.clear();
      return new Place({ system, url: this.redis!.url, callSeconds });
    }
    const database =
      queues.length > 0 ? await this.#setUp(system, queues) : await this.postgres.create(await this.#template(system));
    return this.#placeIn(system, database);
  }

  #placeIn(system: string, database: string): Place {
    const { postgres } = this;
    return new Place({
      system,
      url: postgres.urlOf(database),
      postgres,
      database,
      callSeconds: this.sizes.callSeconds,
    });
  }

  async #template(system: string): Promise<string> {
    let template = this.#templates.get(system);
    if (template === undefined) this.#templates.set(system, (template = await this.#setUp(system, [])));
    return template;
  }

  async #setUp(system: string, queues: readonly string[]): Promise<string> {
    const database = await this.postgres.create();
    await this.#placeIn(system, database).call("setup", { queues });
    return database;
  }
}

async function succeeds(system: string, results: Results, work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    results.fail(system, error);
    return false;
  }
}
