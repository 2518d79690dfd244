import type { JobId, JobState, Settlement } from "../../src/db/types.js";
import { type JobRow, type QueueEnd, readEnd, readJobs } from "./books.js";
import { type Combination, verbsOf } from "./combination.js";
import type { Faults } from "./faults.js";
import { type HandOut, checkJobs, checkReady, checkRunning, isFinal } from "./oracle.js";
import type { Scene } from "./scenes.js";
import type { Stage } from "./stage.js";
import { timeEffects } from "./times.js";

const maxRounds = 10;

/**
 * One worker claims and completes until nothing is left: first all that is ready now, then, with the clock beyond every
 * lease and delay and everything resumed and released, all the rest. Every job must end, and what had ended must stay
 * as it was. The queue is closed meanwhile, and must finish.
 */
export class Drain {
  readonly #stage: Stage;
  readonly #combination: Combination;
  readonly #scene: Scene;
  readonly #faults: Faults;
  readonly #handOuts: HandOut[];
  readonly #before: ReadonlyMap<JobId, JobState>;
  #jobs: readonly JobRow[];
  #hasMoved = false;
  /** The jobs as they were when nobody was handed out any more, and the clock had not moved. */
  ready: readonly JobRow[] = [];

  constructor(
    stage: Stage,
    combination: Combination,
    scene: Scene,
    before: readonly JobRow[],
    handOuts: HandOut[],
    faults: Faults,
  ) {
    this.#stage = stage;
    this.#combination = combination;
    this.#scene = scene;
    this.#faults = faults;
    this.#handOuts = handOuts;
    this.#jobs = before;
    this.#before = new Map(before.map(({ id, state }) => [id, state]));
  }

  /** Returns the jobs as they ended. */
  async run(): Promise<readonly JobRow[]> {
    const { engine } = this.#stage.keeper;
    const { queue } = this.#scene;
    const seconds = timeEffects[this.#combination.time].drainSeconds ?? 3600;
    if (verbsOf(this.#combination).some((verb) => verb.pauses)) await this.#resume();
    await this.#work();
    this.ready = this.#jobs = await readJobs(this.#stage, this.#scene);
    checkReady(this.#combination, this.#handOuts, this.#jobs, this.#faults);
    await engine.stageRelease(queue, "gate");
    let end = await readEnd(this.#stage, this.#scene);
    if (!end.closed) await engine.queueClose(queue);
    // What a queue's end lets go, such as its last stage, comes in a round of its own; and so does what a rate holds
    // back.
    for (let round = 0; round < maxRounds && !end.finished; round += 1) {
      if (round === 0 || end.live > 0) await this.#stage.clock.move(seconds);
      this.#hasMoved = true;
      await this.#tell();
      await engine.maintain();
      end = await readEnd(this.#stage, this.#scene);
      if (end.finished || (round >= 3 && end.live === 0)) break;
      await this.#work();
      end = await readEnd(this.#stage, this.#scene);
    }
    this.#jobs = await readJobs(this.#stage, this.#scene);
    this.#check(end);
    return this.#jobs;
  }

  #check({ finished, ready, delayed, staged }: QueueEnd): void {
    if (!finished) this.#faults.add("the queue does not finish");
    if (ready !== 0 || delayed !== 0 || staged !== 0)
      this.#faults.add("counts are left at the end", `ready ${ready}, delayed ${delayed}, staged ${staged}`);
    checkJobs(this.#combination, this.#jobs, this.#faults);
    const after = new Map(this.#jobs.map(({ id, state }) => [id, state]));
    for (const [id, state] of after)
      if (!isFinal(state)) this.#faults.add(`${this.#faults.name(id)} is ${state} after the drain`);
    for (const [id, state] of this.#before) {
      if (isFinal(state) && (after.get(id) ?? state) !== state) {
        this.#faults.add(`a job was ${state} and is now ${after.get(id)}`, this.#faults.name(id));
      }
      if (!isFinal(state) && !after.has(id)) this.#faults.add(`a job was ${state} and is gone`, this.#faults.name(id));
    }
  }

  async #work(): Promise<void> {
    const { engine } = this.#stage.keeper;
    const queues = this.#scene.dead === undefined ? [this.#scene.queue] : [this.#scene.queue, this.#scene.dead];
    const rows = new Map(this.#jobs.map((row) => [row.id, row]));
    // of those that ran at the last look, leases end when the clock moves
    const others = this.#hasMoved ? [] : this.#jobs.filter(({ state }) => state === "running");
    let done: Settlement[] = [];
    for (let left = 60; left > 0; left -= 1) {
      const { refused, claims } = await engine.settleAndClaim(done, [{ queues, limit: 100 }]);
      for (const id of refused)
        this.#faults.add("a completion is refused with nobody else at work", this.#faults.name(id));
      const { jobs, more, busy } = claims[0]!;
      if (jobs.length === 0 && !more && !busy) return;
      const claim = this.#handOuts.length;
      this.#handOuts.push(...jobs.map((job) => ({ job, claim })));
      for (const { id } of jobs) {
        const ended = this.#before.get(id);
        if (ended !== undefined && isFinal(ended))
          this.#faults.add(`a job was ${ended} and is handed out`, this.#faults.name(id));
      }
      const now = jobs.flatMap(({ id }) => rows.get(id) ?? []);
      checkRunning(this.#combination, [...others.filter((row) => !now.includes(row)), ...now], this.#faults);
      done = jobs.map(({ token, id }) => ({ token, outcome: "succeeded", jobs: [id] }));
    }
    this.#faults.add("the drain found no end");
  }

  /** What is suspended gets the signal it may wait for; whoever waits for another job hears of its end. */
  async #tell(): Promise<void> {
    const { engine } = this.#stage.keeper;
    for (const { id, state } of await readJobs(this.#stage, this.#scene))
      if (state === "suspended") await engine.tell(id, "go");
    await engine.noticesDeliver();
  }

  async #resume(): Promise<void> {
    const { engine } = this.#stage.keeper;
    const { queue } = this.#scene;
    for (const { type, group } of (await engine.pauses()).filter((pause) => pause.queue === queue)) {
      await engine.queueResume(queue, { ...(type ? { type } : {}), ...(group ? { group } : {}) });
    }
  }
}
