import { checkList } from "../check-options.js";
import { asDate } from "../decode.js";
import {
  checkCallbackToken,
  checkId,
  checkToken,
  encodeHeld,
  encodeIds,
  encodeOptions,
  encodeSteps,
  toJson,
  toJsonList,
} from "../encode.js";
import { InvalidArgumentError, LeaseLostError } from "../errors.js";
import type { CallOptions } from "../foreign.js";
import { bounds } from "../limits.js";
import type { Answered, DecisionNote, EnqueueOptions, Held, JobId, RunRead, RunSteps, StepRecord } from "../types.js";
import { AccessVerbs } from "./access.js";

type Row = Readonly<Record<string, unknown>>;

/** Durable work: what runs have done, what they wait for, and what they are told (`sql/steps`). */
export abstract class StepVerbs extends AccessVerbs {
  /** Note what runs have done, of many jobs at once. Returns the ids of those that their token no longer holds. */
  async stepsPut(runs: readonly RunSteps[], call?: CallOptions): Promise<JobId[]> {
    checkList(runs, "runs");
    const texts = runs.map(
      ({ token, job, steps }) =>
        `{"token":"${checkToken(token)}","job":"${checkId(job)}","steps":${encodeSteps(steps)}}`,
    );
    const [row] = await this.db.rows(
      "steps_put",
      "select to_json(:steps_put($1::json)::text[]) as refused",
      [`[${texts.join(",")}]`],
      call,
    );
    return (row?.["refused"] ?? []) as JobId[];
  }

  /** All that runs remember, in the order in which it was noted. Jobs without anything are left out. */
  async stepsGet(jobs: readonly JobId[], call?: CallOptions): Promise<Map<JobId, StepRecord[]>> {
    const rows = await this.db.rows(
      "steps_get",
      "select run from :steps_get($1::bigint[]) run",
      [encodeIds(jobs)],
      call,
    );
    return new Map(
      rows.map(({ run }) => {
        const { job, steps } = run as { job: JobId; steps: readonly Row[] };
        return [job, steps.map(decodeStep)];
      }),
    );
  }

  /**
   * The same with their sizes, until so many bytes were read: of each job that was looked at, what its run remembers.
   * Ask again for the others. @internal
   */
  async runsGet(jobs: readonly JobId[], maxBytes: number, call?: CallOptions): Promise<Map<JobId, RunRead>> {
    const rows = await this.db.rows(
      "runs_get",
      "select run from :steps_get($1::bigint[], $2::bigint) run",
      [encodeIds(jobs), maxBytes],
      call,
    );
    const found = new Map<JobId, RunRead>(jobs.map((job) => [job, { records: [], bytes: 0 }]));
    for (const { run } of rows) {
      const { job, left, bytes, steps } = run as { job: JobId; left?: true; bytes: number; steps: readonly Row[] };
      if (left) found.delete(job);
      else found.set(job, { records: steps.map(decodeStep), bytes });
    }
    return found;
  }

  /**
   * Enqueue children of a job for one of its steps, once: asked again, it tells what was started. `wake` wakes workers
   * of their queues. Returns their ids.
   */
  async stepStart(
    job: Held,
    key: string,
    children: readonly (Omit<EnqueueOptions, "payload"> & { readonly type: string; readonly input?: unknown })[],
    { detached = false, wake = false, ...call }: CallOptions & { detached?: boolean; wake?: boolean } = {},
  ): Promise<JobId[]> {
    checkList(children, "children");
    const inputs = toJsonList(
      children.map(({ input }) => input ?? null),
      "input",
      bounds.inputBytes,
    );
    const options = children.map(({ input: _, ...child }) => {
      if ("payload" in child) throw new InvalidArgumentError("a child takes no payload", "give it a reference");
      return encodeOptions(child);
    });
    const [row] = await this.db.rows(
      "step_start",
      "select to_json(:step_start($1::uuid, $2::bigint, $3::text, $4::json, $5::json, $6::boolean, $7::boolean)::text[]) as jobs",
      [...encodeHeld(job), key, inputs, `[${options.join(",")}]`, detached, wake],
      call,
    );
    if (!row?.["jobs"]) throw new LeaseLostError([job.id]);
    return row["jobs"] as JobId[];
  }

  /** The callback token of a step of a job: the same each time it is asked for. */
  async stepToken(job: Held, key: string, name: string, seconds: number, call?: CallOptions): Promise<string> {
    const [row] = await this.db.rows(
      "step_token",
      "select :step_token($1::uuid, $2::bigint, $3::text, $4::text, $5::float8) as token",
      [...encodeHeld(job), key, name, seconds],
      call,
    );
    if (!row?.["token"]) throw new LeaseLostError([job.id]);
    return row["token"] as string;
  }

  /** End the wait that a callback token was given out for. Returns the job and the name of the signal it was sent. */
  async answer(token: string, value?: unknown, call?: CallOptions): Promise<Answered> {
    return (await this.#answer(token, value, false, call))!;
  }

  /** The same, where several cells are asked: null when another one gave the token out, and a transaction goes on. */
  async answerOurs(token: string, value?: unknown, call?: CallOptions): Promise<Answered | null> {
    return this.#answer(token, value, true, call);
  }

  #answer(token: string, value: unknown, asks: boolean, call: CallOptions | undefined): Promise<Answered | null> {
    return this.db.value(
      "job_answer",
      "select :job_answer($1::text, $2::json, $3::boolean) as value",
      [
        checkCallbackToken(token),
        value === undefined ? null : toJson(value, "value of a signal", bounds.stepBytes),
        asks,
      ],
      call,
    );
  }

  /** Send a signal to a job. With an `id` it counts once. Returns whether it is new. */
  async tell(
    job: JobId,
    name: string,
    value?: unknown,
    { id, ...call }: CallOptions & { readonly id?: string } = {},
  ): Promise<boolean> {
    const [row] = await this.db.rows(
      "job_tell",
      "select :job_tell($1::bigint, $2::text, $3::json, $4::text) as is_new",
      [
        checkId(job),
        name,
        value === undefined ? null : toJson(value, "value of a signal", bounds.stepBytes),
        id ?? null,
      ],
      call,
    );
    return row?.["is_new"] === true;
  }

  /**
   * Let a run go back to a step: what it has done from then on is void, and done again. One that has failed or expired
   * gets another attempt. Returns its queue.
   */
  async rewind(job: JobId, to: string, { by, because, ...call }: CallOptions & DecisionNote = {}): Promise<string> {
    const [row] = await this.db.rows(
      "job_rewind",
      "select :job_rewind($1::bigint, $2::text, $3::text, $4::text) as queue",
      [checkId(job), to, by ?? null, because ?? null],
      call,
    );
    return String(row?.["queue"]);
  }

  /**
   * Let runs go back to a step, those of the given jobs that have done it and can; the others are left alone. Returns
   * how many, and the queues whose workers may be woken.
   */
  async rewindMany(
    ids: readonly JobId[],
    to: string,
    { by, because, dryRun = false, ...call }: CallOptions & DecisionNote & { readonly dryRun?: boolean } = {},
  ): Promise<{ readonly count: number; readonly queues: readonly string[] }> {
    const [row] = await this.db.rows(
      "job_rewind_many",
      "select rewound, to_json(queues) as queues from :job_rewind_many($1::bigint[], $2::text, $3::text, $4::text, $5::boolean)",
      [encodeIds(ids), to, by ?? null, because ?? null, dryRun],
      call,
    );
    return { count: Number(row!["rewound"]), queues: row!["queues"] as string[] };
  }

  /** Let go on what waits for something that has happened. Returns how many notices were read, and how many may go. */
  async noticesDeliver(): Promise<{ notices: number; resumed: number }> {
    const all = { notices: 0, resumed: 0 };
    for (;;) {
      const told = await this.db.value<{ notices: number; resumed: number; more: boolean }>(
        "notices_deliver",
        "select :notices_deliver() as value",
        [],
        undefined,
      );
      all.notices += told.notices;
      all.resumed += told.resumed;
      if (!told.more) return all;
    }
  }
}

function decodeStep(row: Row): StepRecord {
  return {
    ...row,
    at: asDate(row["at"])!,
    ...(row["until"] === undefined ? {} : { until: asDate(row["until"])! }),
  } as unknown as StepRecord;
}
