import { randomUUID } from "node:crypto";
import type pg from "pg";
import type { FlowWhen, JobId } from "../../src/db/types.js";

/** What a handler tells of one call of it. */
export interface Call {
  /** The work of a step is done; what it gives is another thing each time. */
  did(step: string): string;
  saw(step: string, value: string): void;
  undid(step: string): void;
  heard(values: readonly string[]): void;
}

/** What was asked for, what handlers did and saw, and what is wrong with that. */
export class DurableBooks {
  readonly runs = new Map<JobId, { readonly signals: number; readonly fails: boolean }>();
  readonly rewound = new Set<JobId>();
  /** Somebody has tried to cancel them. */
  readonly cancelled = new Set<JobId>();
  readonly flows: {
    readonly id: JobId;
    readonly jobs: readonly { readonly id: JobId; readonly after: readonly JobId[]; readonly when: FlowWhen }[];
  }[] = [];
  readonly violations = new Set<string>();
  /** How often the work of a step was done again. */
  again = 0;
  /** Calls and what they saw, in the order in which it happened. */
  #now = 0;
  readonly #seen = new Map<string, { readonly value: string; readonly at: number }>();
  readonly #done = new Set<string>();
  readonly #undone = new Map<JobId, string[]>();
  readonly #heard = new Map<JobId, string>();
  readonly #later: Promise<void>[] = [];

  /** Something that has to be done before everything can end. */
  later(work: Promise<void>): void {
    this.#later.push(work);
  }

  async settled(): Promise<void> {
    await Promise.all(this.#later);
  }

  begin(id: JobId): Call {
    const began = (this.#now += 1);
    return {
      did: (step) => {
        const key = `${id} ${step}`;
        if (this.#done.has(key)) this.again += 1;
        this.#done.add(key);
        const seen = this.#seen.get(key);
        // a call that has lost its lease may do it again, but not one that began when its value was there
        if (seen && seen.at < began && !this.rewound.has(id))
          this.violations.add("a step was done again that was done");
        return randomUUID();
      },
      saw: (step, value) => {
        const key = `${id} ${step}`;
        const seen = this.#seen.get(key);
        if (seen && seen.value !== value && !this.rewound.has(id)) this.violations.add("a step gave two values");
        if (!seen) this.#seen.set(key, { value, at: (this.#now += 1) });
      },
      undid: (step) => {
        const undone = this.#undone.get(id) ?? [];
        if (!undone.includes(step)) undone.push(step);
        this.#undone.set(id, undone);
      },
      heard: (values) => {
        const text = values.join();
        if (this.#heard.has(id) && this.#heard.get(id) !== text) this.violations.add("a run heard different signals");
        this.#heard.set(id, text);
      },
    };
  }

  /** When everything has ended. */
  async look(pool: pg.Pool): Promise<string[]> {
    const found: string[] = [];
    const wrong = (what: string, jobs: readonly unknown[]): void => {
      if (jobs.length > 0) found.push(`${jobs.length} ${what}, such as ${JSON.stringify(jobs[0])}`);
    };
    const rows = async (text: string, values: unknown[] = []): Promise<Record<string, string>[]> =>
      (await pool.query(text, values)).rows as Record<string, string>[];
    const states = new Map((await rows("select id, state from millrace.jobs")).map(({ id, state }) => [id!, state!]));
    wrong(
      "runs that have not ended",
      [...this.cancelled].filter((id) => !["succeeded", "failed", "cancelled"].includes(states.get(id) ?? "")),
    );
    const runs = [...this.runs].filter(([id]) => !this.cancelled.has(id));
    wrong(
      "runs that have not ended as they should",
      runs
        .filter(([id, { fails }]) => states.get(id) !== (fails ? "failed" : "succeeded"))
        .map(([id]) => [id, states.get(id)]),
    );
    wrong(
      "runs that have not heard each signal once, in order",
      runs.flatMap(([id, { signals }]) => {
        const wanted = Array.from({ length: signals }, (_, n) => n).join();
        return this.#heard.get(id) === wanted ? [] : [[id, this.#heard.get(id), wanted]];
      }),
    );
    wrong(
      "runs that have not undone all, the newest first",
      runs.flatMap(([id, { fails }]) => {
        const undone = (this.#undone.get(id) ?? []).join();
        // two and three are done beside each other
        const isRight = fails ? /^four,(two,three|three,two),one$/.test(undone) : undone === "";
        return isRight || this.rewound.has(id) ? [] : [[id, undone]];
      }),
    );
    wrong(
      "steps that have started a child twice",
      await rows(`select j.parent, j.parent_key, j.parent_n from millrace.job j where j.parent_key is not null
                   group by 1, 2, 3 having count(*) > 1`),
    );
    const jobs = this.flows.flatMap((flow) => flow.jobs);
    wrong(
      "jobs of flows that do not exist",
      jobs.filter(({ id }) => !states.has(id)),
    );
    wrong(
      "jobs of flows that began although they should not, or did not",
      jobs.flatMap(({ id, after, when }) => {
        const isBad = after.some((other) => states.get(other) !== "succeeded");
        const begins = after.length === 0 || when === "ended" || isBad === (when === "failed");
        return begins === (states.get(id) !== "cancelled")
          ? []
          : [[id, states.get(id), when, after.map((o) => states.get(o))]];
      }),
    );
    wrong(
      "jobs that began before those had ended that they wait for",
      await rows(`select e.waiter from millrace.edge e join millrace.jobs p on p.id = e.target
                    join millrace.attempts a on a.job_id = e.waiter
                   where a.started_at < p.finished_at and p.state <> 'cancelled'`),
    );
    wrong(
      "flows that have not ended as their jobs",
      this.flows.flatMap(({ id, jobs: members }) => {
        const hasFailed = members.some((job) => states.get(job.id) === "failed");
        return states.get(id) === (hasFailed ? "failed" : "succeeded") ? [] : [[id, states.get(id)]];
      }),
    );
    return found;
  }
}
