import { setTimeout as sleep } from "node:timers/promises";
import type { Millrace } from "millrace";
import { Ways, client, queueIn } from "../cells/ways.js";
import type { Child } from "../processes.js";
import type { Scenario } from "../scenario.js";
import type { World } from "../world.js";
import { survived } from "./server.js";

/** The connection's time limit, and what a busy machine may add to it. */
const patienceMs = 3000;
const slackMs = 2000;
const returnMs = 15_000;
/** On a machine that does other things too, no more than this can be asked for; what was measured is told. */
const leastRatio = 0.8;

/** The other cells go on, enqueues to it fail by its name, and it is served again when it is back. */
export const cellKilled: Scenario = {
  name: "one of three cells killed, then frozen, and brought back",
  cells: ["a", "b", "c"],
  isCrowded: true,
  async run(world) {
    const ways = await Ways.open(world);
    const { cells } = ways;
    const mill = client(world, cells, patienceMs);
    const queues: string[] = [];
    for (const name of ["a", "b", "c"]) queues.push(await queueIn(mill, name, "work"));
    const workers = [1, 2].map(() => world.worker({ queues }, { cells, effectCells: world.cells! }));
    const producers = queues.map((queue) =>
      world.producer({ jobs: 2500, perSecond: 50, input: { sleepMs: 50 }, options: { queue }, cells }),
    );
    const blows = new Blows(world, ways, mill, queues[1]!);
    for (let done = 0; done < world.many(1); done += 1) {
      await blows.strike(
        "killed",
        () => world.site("b").server.crash(),
        () => blows.restart(),
      );
      await blows.strike(
        "frozen",
        () => ways.of("b").freeze(),
        () => ways.of("b").thaw(),
      );
    }
    await Promise.all(producers.map(({ exit }) => exit));
    await world.drained();
    survived(workers);
    feltOnlyBy(producers);
    blows.tell();
  },
};

class Blows {
  readonly #ratios: number[] = [];
  readonly #returns: number[] = [];
  readonly #refusals: number[] = [];

  constructor(
    readonly world: World,
    readonly ways: Ways,
    readonly mill: Millrace,
    readonly queue: string,
  ) {}

  async restart(): Promise<void> {
    const site = this.world.site("b");
    await site.restart();
    this.ways.of("b").target = site.server.port;
  }

  async strike(what: string, hurt: () => unknown, heal: () => unknown): Promise<void> {
    const windowMs = 8000;
    await this.world.until("all cells are served", async () => (await this.#ranIn("b", 1000)) > 20);
    await sleep(windowMs);
    const before = await this.#others(windowMs);
    // the next one finds an open connection
    this.world.acknowledged.add((await this.mill.enqueue("plain", null, { queue: this.queue })).id);
    await hurt();
    const since = Date.now();
    let refused: number;
    let ratio: number;
    try {
      refused = await this.#mustRefuse(what);
      await sleep(since + windowMs - Date.now());
      ratio = (await this.#others(windowMs)) / before;
    } finally {
      await heal();
    }
    const healed = Date.now();
    await this.world.until(
      `the cell that was ${what} is served again`,
      async () => (await this.#ranIn("b", Date.now() - healed)) > 0,
      returnMs,
    );
    this.#ratios.push(ratio);
    this.#returns.push(Date.now() - healed);
    this.#refusals.push(refused);
    if (ratio < leastRatio)
      throw new Error(`while one cell was ${what}, the others ran ${Math.round(ratio * 100)} % of before`);
  }

  /** How many jobs began in the last milliseconds. */
  async #ranIn(cell: string, ms: number): Promise<number> {
    const [row] = await this.world
      .site(cell)
      .sqlInTheEnd<{ n: number }>(
        "select count(*)::int as n from chaos.effect where at > clock_timestamp() - $1::float8 * interval '1 ms'",
        [ms],
      );
    return row?.n ?? 0;
  }

  async #others(ms: number): Promise<number> {
    return (await this.#ranIn("a", ms)) + (await this.#ranIn("c", ms));
  }

  /** Everything that is enqueued fails in time, and says which cell it is: on connections that are open, and on new. */
  async #mustRefuse(what: string): Promise<number> {
    let longest = 0;
    for (let tries = 0; tries < 3; tries += 1) {
      const since = Date.now();
      const error = await Promise.race([
        this.mill.enqueue("plain", null, { queue: this.queue }).then(
          () => undefined,
          (refusal: unknown) => refusal,
        ),
        sleep(patienceMs + slackMs).then(() => new Error("nothing was said")),
      ]);
      if (!String(error).includes('cell "b"'))
        throw new Error(`an enqueue to the cell that was ${what} ended with: ${String(error)}`);
      longest = Math.max(longest, Date.now() - since);
    }
    return longest;
  }

  tell(): void {
    const range = (values: readonly number[], digits: number): string =>
      [Math.min(...values), Math.max(...values)].map((value) => value.toFixed(digits)).join(" to ");
    const seconds = (values: readonly number[]): string =>
      range(
        values.map((ms) => ms / 1000),
        1,
      );
    this.world.remarks.push(
      `the others ran at ${range(this.#ratios, 2)} of their rate, enqueues failed within ${seconds(this.#refusals)} s, it was served ${seconds(this.#returns)} s after its return`,
    );
  }
}

/** Only who enqueues to the cell that fails is told so. */
function feltOnlyBy([a, b, c]: readonly Child[]): void {
  if (b!.of("error").length === 0) throw new Error("no enqueue met the absent cell: the blows hit nobody");
  const others = [...a!.of("error"), ...c!.of("error")];
  if (others.length > 0) throw new Error(`enqueues to other cells failed: ${others[0]!.message}`);
}
