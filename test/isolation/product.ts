import type { JobId } from "../../src/db/types.js";
import { readAudit, readBooks, readJobs } from "./books.js";
import { type Combination, format } from "./combination.js";
import { Drain } from "./drain.js";
import { type Fault, Faults } from "./faults.js";
import {
  type HandOut,
  checkBooks,
  checkDepth,
  checkInputs,
  checkJobs,
  checkOrder,
  checkOutcomes,
  checkPromises,
  checkRates,
  checkStops,
} from "./oracle.js";
import { setScene } from "./scenes.js";
import { Stage } from "./stage.js";
import { timeEffects } from "./times.js";
import { type Outcome, meet } from "./transactions.js";

/** What was seen of one combination. */
export interface Report {
  readonly combination: Combination;
  readonly outcomes: readonly Outcome[];
  readonly faults: readonly Fault[];
  /**
   * The state of each job, by its name: after the verbs, after maintenance, when nothing was ready any more, and at the
   * end.
   */
  readonly states: ReadonlyMap<string, readonly string[]>;
}

/** After so many combinations, or years, the database is replaced: it has grown, or its ids come to an end. */
const maxCombinations = 1500;
const lastYear = 2080;

/** Runs combinations, one after another, each as if it were the first. */
export class Product {
  readonly #stage: Stage;
  #runs = 0;

  private constructor(stage: Stage) {
    this.#stage = stage;
  }

  static async open(): Promise<Product> {
    return new Product(await Stage.open());
  }

  close(): Promise<void> {
    return this.#stage.close();
  }

  /** How many ring children of tickets were emptied so far. */
  get emptied(): number {
    return this.#stage.emptied;
  }

  /** Combinations with a prepared transaction need a server that allows them. */
  can({ tx }: Combination): boolean {
    return this.#stage.canPrepare || !tx.startsWith("prepared");
  }

  /**
   * Never throws for what a combination does; what breaks the stage itself is a fault of it too, and the next one has a
   * new database.
   */
  async run(combination: Combination): Promise<Report> {
    try {
      return await this.#run(combination);
    } catch (error) {
      await this.#stage.renew();
      this.#runs = 0;
      const text = `${(error as Error).message} ${(error as Error).stack?.split("\n").find((line) => line.includes("/test/isolation/")) ?? ""}`;
      return {
        combination,
        outcomes: [],
        states: new Map(),
        faults: [{ kind: `the rest was not run: ${(error as Error).message}`, text: `the rest was not run: ${text}` }],
      };
    }
  }

  async #run(combination: Combination): Promise<Report> {
    const stage = this.#stage;
    const { clock, keeper } = stage;
    const time = timeEffects[combination.time];
    this.#runs += 1;
    await stage.clear(hash(format(combination)));
    await time.beforeScene?.(stage);
    const scene = await setScene(
      keeper.engine,
      clock,
      async (text, values) => (await keeper.client.query(text, values)).rows,
      "q",
      combination,
    );
    const faults = new Faults(scene);
    await time.beforeFirst?.(stage);
    const outcomes = await meet(stage, combination, scene, async () => void (await time.between?.(stage)));
    stage.emptied += outcomes.reduce((sum, { told }) => sum + (told?.emptied ?? 0), 0);
    const atOnce = await readJobs(stage, scene, true);
    checkOutcomes(combination, outcomes, atOnce, faults);
    checkJobs(combination, atOnce, faults);
    checkBooks(await readBooks(stage, scene), "at once", faults);
    await keeper.engine.maintain(); // expiry and due times count from the next maintenance on
    const jobs = await readJobs(stage, scene);
    checkJobs(combination, jobs, faults);
    checkBooks(await readBooks(stage, scene), "after maintenance", faults);
    for (const { type } of await readAudit(stage, scene)) faults.add("the engine says that its counts are wrong", type);
    checkDepth(combination, scene, await keeper.engine.queueDepth(scene.queue), jobs, faults);
    checkPromises(combination, scene, outcomes, jobs, faults);
    checkStops(combination, scene, outcomes, jobs, faults);

    const handOuts: HandOut[] = scene.claimed.map((job) => ({
      job,
      claim: scene.claimed.findIndex(({ token }) => token === job.token),
    }));
    for (const { told, kept } of outcomes) {
      const claim = handOuts.length;
      if (kept) handOuts.push(...(told?.claimed ?? []).map((job) => ({ job, claim })));
    }
    const drain = new Drain(stage, combination, scene, jobs, handOuts, faults);
    const after = await drain.run();
    const late = new Set<JobId>(
      outcomes
        .filter((outcome) => isOpenForLong(outcome) || outcome.verb.joinsLater)
        .flatMap(({ told }) => (told?.enqueued ?? []).map(({ id }) => id)),
    );
    checkOrder(combination, scene, handOuts, after, late, faults);
    checkRates(combination, handOuts, after, faults);
    checkInputs(outcomes, handOuts, after, faults);
    if (this.#runs >= maxCombinations || (await clock.move(0)).getUTCFullYear() >= lastYear) {
      await stage.renew();
      this.#runs = 0;
    }
    const looks = [atOnce, jobs, drain.ready, after];
    const ids = new Set(looks.flatMap((rows) => rows.map(({ id }) => id)));
    const states = new Map(
      [...ids].map((id) => [
        `${id} ${faults.name(id)}`,
        looks.map((rows) => rows.find((row) => row.id === id)?.state ?? "-"),
      ]),
    );
    return { combination, outcomes, faults: faults.all, states };
  }
}

/** Its transaction did not end with it. */
const isOpenForLong = ({ startedAt, endedAt }: Outcome): boolean => endedAt > startedAt + 1;

/** Some number for a text, always the same (FNV-1a). */
function hash(text: string): number {
  let value = 2_166_136_261;
  for (const char of text) value = Math.imul(value ^ char.codePointAt(0)!, 16_777_619) >>> 0;
  return value;
}

/** The steps of a combination, for whoever wants to understand it. */
export function tell({ combination, outcomes, faults, states }: Report): string {
  const lines = outcomes.map(({ verb, told, error, kept, waited }) => {
    const short = JSON.stringify({
      ...told,
      ...(told?.claimed ? { claimed: told.claimed.map(({ id, group, attempt }) => ({ id, group, attempt })) } : {}),
    });
    return `  ${verb.name}${waited ? " (waited)" : ""}${kept ? "" : " (not kept)"}: ${error ? `${(error as { code?: string }).code} ${error.message}` : short}`;
  });
  const jobs = [...states].map(([name, seen]) => `  ${name}: ${seen.join(", ")}`);
  return [format(combination), ...lines, ...jobs, ...faults.map(({ text }) => `  ✗ ${text}`)].join("\n");
}
