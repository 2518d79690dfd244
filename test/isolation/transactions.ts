import type { Combination } from "./combination.js";
import type { Scene } from "./scenes.js";
import type { Actor, Stage } from "./stage.js";
import { type Told, type Verb, verbs } from "./verbs.js";

/** What became of one verb. */
export interface Outcome {
  readonly verb: Verb;
  readonly told: Told | undefined;
  readonly error: Error | undefined;
  /** Its transaction has committed, so that what it told holds. */
  readonly kept: boolean;
  /** It had to wait for somebody. */
  readonly waited: boolean;
  /** When it started, and when its transaction had ended; in steps of this meeting. */
  readonly startedAt: number;
  readonly endedAt: number;
}

type Ended = { readonly told: Told } | { readonly error: Error };

/** A verb under way. */
interface Running {
  readonly verb: Verb;
  readonly settled: Promise<Ended>;
  readonly startedAt: number;
  endedAt: number;
  waited: boolean;
}

/**
 * Let the verbs of a combination meet. The first runs as its transaction says; the others each on a connection of their
 * own, one after the other, committing by themselves:
 *
 * - auto: all three, one after the other;
 * - commit, rollback: the first stays open until the others have ended, or wait;
 * - savepoint: it is undone to a savepoint after the second; its transaction then enqueues a job, and commits after the
 *   third;
 * - prepared (rollback): it is prepared before the others come, and ended after them;
 * - repeatable read: its snapshot is taken before the second, it runs after it and after time has passed, and commits
 *   after the third;
 * - numbered: the same in read committed, with a transaction number instead of a snapshot;
 * - overlap: as commit, but the third stays open until the second has ended, or waits for it.
 *
 * Time passes after the first verb; where that comes after the second, after both. Returns what became of each, the
 * first verb first.
 */
export async function meet(
  stage: Stage,
  combination: Combination,
  scene: Scene,
  timePasses: () => Promise<void>,
): Promise<Outcome[]> {
  return new Meeting(stage, combination, scene, timePasses).run();
}

class Meeting {
  readonly #stage: Stage;
  readonly #combination: Combination;
  readonly #scene: Scene;
  readonly #timePasses: () => Promise<void>;
  #second: Running | undefined;
  #third: Running | undefined;
  #thirdKept = true;
  #steps = 0;

  constructor(stage: Stage, combination: Combination, scene: Scene, timePasses: () => Promise<void>) {
    this.#stage = stage;
    this.#combination = combination;
    this.#scene = scene;
    this.#timePasses = timePasses;
  }

  async run(): Promise<Outcome[]> {
    const { tx, first, second, third } = this.#combination;
    const { a, c } = this.#stage;
    const isLateFirst = tx === "repeatable read" || tx === "numbered";
    const outcomes: Outcome[] = [];
    if (tx !== "auto") await a.begin(tx === "repeatable read" ? "repeatable read" : "read committed");
    try {
      if (tx === "repeatable read") await a.client.query("select from pg_class limit 1");
      if (tx === "numbered") await a.client.query("select pg_current_xact_id()");
      if (isLateFirst) {
        this.#second = await this.#start(second, this.#stage.b);
        await this.#timePasses();
      }
      if (tx === "savepoint") await a.client.query("savepoint before");
      const running = (await this.#start(first, a))!;
      const ended = await running.settled;
      let kept = !("error" in ended) && !tx.includes("rollback") && tx !== "savepoint";
      let isPrepared = false;
      if (tx.startsWith("prepared") && !("error" in ended)) {
        isPrepared = await a.prepare();
        if (!isPrepared) kept = false;
      }
      if (!isLateFirst) {
        await this.#timePasses();
        this.#second = await this.#start(second, this.#stage.b);
      }
      const after = tx === "savepoint" ? await this.#undo() : undefined;
      const isBroken = "error" in ((await after?.settled) ?? ended);
      if (tx === "overlap" && third) await c.begin("read committed");
      this.#third = await this.#start(third, c);
      if (isPrepared) await a.endPrepared(kept ? "commit" : "rollback");
      else if (a.isInTransaction) await a.end(isBroken || tx === "rollback" ? "rollback" : "commit");
      if (tx !== "auto") running.endedAt = this.#step();
      if (tx === "overlap" && this.#second) await this.#stage.endsOrWaits(this.#second.settled, this.#stage.b);
      outcomes.push(outcomeOf(running, ended, kept));
      if (after) outcomes.push(outcomeOf({ ...after, endedAt: running.endedAt }, await after.settled, !isBroken));
      return [...outcomes, ...(await this.#ends())];
    } finally {
      if (a.isInTransaction) await a.end("rollback");
    }
  }

  /** Whatever still waits goes on; the third's transaction, when it has one, ends as soon as its verb has. */
  async #ends(): Promise<Outcome[]> {
    const { c } = this.#stage;
    const thirdEnds = async (): Promise<void> => {
      const ended = await this.#third?.settled;
      if (!this.#third || !c.isInTransaction) return;
      this.#thirdKept = ended !== undefined && !("error" in ended);
      await c.end(this.#thirdKept ? "commit" : "rollback");
      this.#third.endedAt = this.#step();
    };
    await this.#stage.inTime("a verb never ended", Promise.all([this.#second?.settled, thirdEnds()]));
    const outcomes: Outcome[] = [];
    if (this.#second) outcomes.push(outcomeOf(this.#second, await this.#second.settled, true));
    if (this.#third) outcomes.push(outcomeOf(this.#third, await this.#third.settled, this.#thirdKept));
    return outcomes;
  }

  #step(): number {
    this.#steps += 1;
    return this.#steps;
  }

  /** Start a verb; returns when it has ended, or waits for a lock. */
  async #start(verb: Verb | undefined, actor: Actor): Promise<Running | undefined> {
    if (verb === undefined) return undefined;
    const settled = verb.run(actor, this.#scene).then(
      (told) => ({ told }),
      (error: unknown) => ({ error: error as Error }),
    );
    const running: Running = { verb, settled, startedAt: this.#step(), endedAt: 0, waited: false };
    void settled.then(() => (running.endedAt = this.#step()));
    running.waited = await this.#stage.endsOrWaits(settled, actor);
    return running;
  }

  /** Back to the savepoint. What the transaction does next, it does for good. */
  async #undo(): Promise<Running> {
    const { a } = this.#stage;
    await a.client.query("rollback to before");
    return (await this.#start(afterSavepoint, a))!;
  }
}

/** What a transaction does after it went back to a savepoint. */
const afterSavepoint: Verb = { ...verbs.find(({ name }) => name === "enqueue")!, name: "enqueue after the savepoint" };

function outcomeOf({ verb, waited, startedAt, endedAt }: Running, ended: Ended, kept: boolean): Outcome {
  const how =
    "error" in ended
      ? { told: undefined, error: ended.error, kept: false }
      : { told: ended.told, error: undefined, kept };
  return { verb, ...how, waited, startedAt, endedAt };
}
