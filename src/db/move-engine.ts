import { asDate } from "./decode.js";
import { checkType, encodeDefaults, encodeGroupOptions, encodeOptions, toJson } from "./encode.js";
import { withCellsOf } from "./elsewhere.js";
import type { CallOptions } from "./foreign.js";
import { bounds } from "./limits.js";
import type { Defaults, Enqueued, GroupOptions, JobId, NewJob } from "./types.js";
import { Verbs } from "./verbs/verbs.js";

/** In which cell a queue lives, as a cell knows it; the higher version holds. */
export interface Route {
  /** The queue, or `queue/tenant`. */
  readonly key: string;
  readonly cell: string;
  readonly version: number;
}

/** A queue that moves into a cell, or has moved out of it. */
export interface QueueMove {
  readonly queue: string;
  /** The other cell. */
  readonly cell: string;
  readonly direction: "leaving" | "arriving";
  readonly version: number;
  /** Nothing is handed out of it until all has ended in the other cell. */
  readonly held: boolean;
  readonly beganAt: Date;
  readonly by: string | null;
  /** When the last job of one that leaves had ended. */
  readonly drainedAt: Date | null;
  /** How many seconds ago that was, by the clock of the cell. */
  readonly drainedSeconds: number | null;
  /** Jobs of it in this cell that have not ended. */
  readonly live: number;
}

/** What speaks against a move. */
export interface MoveObstacle {
  readonly reason: string;
  readonly message: string;
  readonly remedy: string;
}

/** What comes along with a queue; `text` is what the other cell is given. */
export interface QueueSettings {
  readonly text: string;
  readonly limited: boolean;
  readonly fillSeconds: number;
  readonly live: number;
  readonly latestDueAt: string | null;
  readonly schedules: readonly string[];
  readonly options: object;
  readonly groups: readonly object[];
  readonly against: readonly MoveObstacle[];
}

/** A queue as a cell has it. */
export interface QueueHere {
  readonly state: string;
  /** Where it has moved to. */
  readonly movedTo: string | null;
  /** It is in each cell, for some tenants. */
  readonly isSpread: boolean;
  /** Jobs that have not ended. */
  readonly live: number;
}

/** Which of the failed jobs that queues have left behind are meant. */
export interface LeftFilter {
  readonly ids?: readonly JobId[];
  readonly queue?: string | undefined;
  readonly type?: string | undefined;
  /** Of a group of failures. */
  readonly fingerprint?: string | undefined;
  /** That failed within this time. */
  readonly since?: Date | string | undefined;
  readonly until?: Date | string | undefined;
}

/** A failed job of a queue that has left its cell, and has ended there. */
export interface LeftJob {
  readonly id: JobId;
  readonly queue: string;
  /** Where the queue has moved to. */
  readonly cell: string;
  /** Its last attempt. */
  readonly attempt: number;
  readonly hasSteps: boolean;
  readonly hasPayload: boolean;
  readonly type: string;
  readonly input: string | null;
  readonly options: string;
}

/** What a move of a queue asks of a cell (`sql/cells`). */
export class MoveEngine extends Verbs {
  /** Where queues live, as far as this cell knows: what has a version above `after`. */
  async routes(after = -1): Promise<Route[]> {
    const rows = await this.db.rows("routes_get", "select * from :routes_get($1::bigint)", [after]);
    return rows.map((row) => ({
      key: String(row["key"]),
      cell: String(row["cell"]),
      version: Number(row["version"]),
    }));
  }

  /** Say where a queue lives; the higher version holds. Answers with what holds then. */
  async routePut(key: string, cell: string, version: number): Promise<Route> {
    const text = "select cell, version from :route_put($1::text, $2::text, $3::bigint)";
    const [row] = await this.db.rows("route_put", text, [key, cell, version]);
    return { key, cell: String(row?.["cell"]), version: Number(row?.["version"]) };
  }

  /** The queue, if this cell has it. */
  async queue(name: string): Promise<QueueHere | undefined> {
    const [row] = await this.db.rows(
      "queue_here",
      `select state, moved_to, options ? 'spread' as is_spread, waiting + delayed + running as live
         from :queues where name = $1::text`,
      [name],
    );
    return (
      row && {
        state: String(row["state"]),
        movedTo: (row["moved_to"] as string | null) ?? null,
        isSpread: row["is_spread"] === true,
        live: Number(row["live"]),
      }
    );
  }

  /** The queues that move, or have moved out of this cell. */
  async list(): Promise<QueueMove[]> {
    const rows = await this.db.rows("moves_get", "select * from :moves_get()", []);
    return rows.map((row) => ({
      queue: String(row["queue"]),
      cell: String(row["cell"]),
      direction: row["direction"] as QueueMove["direction"],
      version: Number(row["version"]),
      held: row["held"] === true,
      beganAt: asDate(row["began_at"])!,
      by: (row["by"] as string | null) ?? null,
      drainedAt: asDate(row["drained_at"]),
      drainedSeconds: row["drained_seconds"] === null ? null : Number(row["drained_seconds"]),
      live: Number(row["live"]),
    }));
  }

  /** The queues that have not finished here, and how many jobs live in each. */
  async live(): Promise<{ readonly queue: string; readonly jobs: number; readonly movedTo: string | null }[]> {
    const rows = await this.db.rows("cell_live", "select * from :cell_live()", []);
    return rows.map((row) => ({
      queue: String(row["queue"]),
      jobs: Number(row["jobs"]),
      movedTo: (row["moved_to"] as string | null) ?? null,
    }));
  }

  /** Where this cell has placed queues that are not in it. */
  async places(): Promise<{ readonly queue: string; readonly cell: string }[]> {
    const rows = await this.db.rows("places_get", "select * from :places_get()", []);
    return rows.map((row) => ({ queue: String(row["queue"]), cell: String(row["cell"]) }));
  }

  /** What has to come along with a queue, and what speaks against its move. */
  async settings(queue: string, call?: CallOptions): Promise<QueueSettings> {
    const text = await this.db.value<string>(
      "queue_settings",
      "select :queue_settings($1::text) as value",
      [queue],
      call,
    );
    return { ...(JSON.parse(text) as Omit<QueueSettings, "text">), text };
  }

  /** Have a spread queue here too, with what `settings` of another cell told of it. */
  async copy(queue: string, settings: string): Promise<void> {
    await this.db.rows("queue_copy", "select :queue_copy($1::text, $2::jsonb)", [queue, settings]);
  }

  /** Make ready for a queue that moves here. */
  async arrive(
    queue: string,
    move: {
      readonly from: string;
      readonly here: string;
      readonly version: number;
      readonly settings: string;
      readonly hold: boolean;
      readonly by?: string | undefined;
    },
    call?: CallOptions,
  ): Promise<void> {
    await this.db.rows(
      "queue_arrive",
      "select :queue_arrive($1::text, $2::text, $3::text, $4::bigint, $5::jsonb, $6::boolean, $7::text)",
      [queue, move.from, move.here, move.version, move.settings, move.hold, move.by ?? null],
      call,
    );
  }

  /**
   * The queue has moved: it is closed here, with a word of where it is. `settings`: what the other cell was told of it.
   * False, and nothing is done, when that is no longer so.
   */
  async leave(queue: string, to: string, version: number, settings: string | undefined, by?: string): Promise<boolean> {
    const text = "select :queue_leave($1::text, $2::text, $3::bigint, $4::jsonb, $5::text) as value";
    return this.db.value("queue_leave", text, [queue, to, version, settings ?? null, by ?? null], undefined);
  }

  /** The queue has left the cell that it comes from, so it takes jobs here. */
  async admit(queue: string, version: number): Promise<void> {
    await this.db.rows("queue_admit", "select :queue_admit($1::text, $2::bigint)", [queue, version]);
  }

  /** What was set for a queue where it is holds for the jobs that it has left here too. */
  async putLeft(queue: string, defaults: Defaults): Promise<void> {
    const text = "select :queue_put_left($1::text, $2::jsonb)";
    await this.db.rows("queue_put_left", text, [queue, encodeDefaults(defaults)]);
  }

  /** What was set for a group of a queue where it is holds for the jobs that are left here too. */
  async groupPutLeft(queue: string, group: string, options: GroupOptions): Promise<GroupOptions> {
    const text = "select :group_put_left($1::text, $2::text, $3::jsonb) as value";
    return this.db.value("group_put_left", text, [queue, group, encodeGroupOptions(options)], undefined);
  }

  /** All of the queue has ended in the cell it came from. */
  async arrived(queue: string): Promise<void> {
    await this.db.rows("queue_arrived", "select :queue_arrived($1::text)", [queue]);
  }

  /** In the cell that a queue has left: those of these fingerprints that live here still; the others are given up. */
  async handOver(queue: string, fingerprints: readonly string[]): Promise<string[]> {
    const text = "select to_json(:fingerprints_hand_over($1::text, $2::text[])) as value";
    return this.db.value("fingerprints_hand_over", text, [queue, fingerprints], undefined);
  }

  /** In the cell that a queue moves to: the other one has given these fingerprints up. */
  async takeOver(queue: string, fingerprints: readonly string[]): Promise<void> {
    const text = "select :fingerprints_take_over($1::text, $2::text[])";
    await this.db.rows("fingerprints_take_over", text, [queue, fingerprints]);
  }

  /** Failed jobs of queues that have left, and ended here; a thousand at most. */
  async left({ ids, queue, type, fingerprint, since, until }: LeftFilter, after: JobId = "0"): Promise<LeftJob[]> {
    const text =
      "select *, job_id::text as id from :jobs_left($1::bigint[], $2::text, $3::text, $4::text, $5::bigint, 1000, $6::timestamptz, $7::timestamptz)";
    const values = [ids, queue, type, fingerprint, after, since, until].map((value) => value ?? null);
    return (await this.db.rows("jobs_left", text, values)).map((row) => ({
      id: String(row["id"]),
      queue: String(row["queue"]),
      cell: String(row["cell"]),
      attempt: Number(row["attempt"]),
      hasSteps: row["has_steps"] === true,
      hasPayload: row["has_payload"] === true,
      type: String(row["type"]),
      input: row["input"] as string | null,
      options: String(row["options"]),
    }));
  }

  /** Enqueue a job that was left behind, in the cell that its queue is in now. */
  async carry(
    { type, input, options }: LeftJob,
    { more, source, payload }: { more: object; source: object; payload: Uint8Array | undefined },
    call: CallOptions,
  ): Promise<Enqueued> {
    const [row] = await this.db.rows(
      "job_carry",
      "select job_id::text, duplicate from :job_carry($1::text, $2::json, $3::json, $4::jsonb, $5::bytea, $6::json)",
      [type, input, options, JSON.stringify(more), payload ?? null, JSON.stringify(source)],
      call,
    );
    return { id: String(row?.["job_id"]), duplicate: row?.["duplicate"] === true };
  }

  /** Enqueue in the cell that a queue has left, with a fingerprint that lives here still. */
  async enqueueLeft(job: NewJob, call?: CallOptions): Promise<Enqueued> {
    const { type, input, payload, ...options } = job;
    const [row] = await this.db.rows(
      "job_enqueue_left",
      "select job_id::text, duplicate from :job_enqueue_left($1::text, $2::json, $3::json, $4::bytea)",
      [checkType(type), toJson(input, "input", bounds.inputBytes), encodeOptions(options), payload ?? null],
      call,
    );
    return this.#enqueued(row, call);
  }

  /** The same of JSON that is put together already; it waits for up to `waitMs`, as `sqs.send` does. */
  async enqueueLeftEncoded(type: string, input: string, options: string, waitMs: number): Promise<Enqueued> {
    const [row] = await this.db.rows(
      "sqs_send_left",
      `select job_id::text, duplicate from (select set_config('lock_timeout', $4::text, true) as wait) bound
        cross join lateral :job_enqueue_left($1::text, $2::json, case when bound.wait is not null then $3::json end)`,
      [type, input, options, `${waitMs}ms`],
    );
    return this.#enqueued(row, undefined);
  }

  async #enqueued(row: Record<string, unknown> | undefined, call: CallOptions | undefined): Promise<Enqueued> {
    const enqueued = { id: String(row?.["job_id"]), duplicate: row?.["duplicate"] === true };
    return (await withCellsOf(this.db, [enqueued], call))[0]!;
  }

  /** Whether it has fingerprints that outlive their jobs. */
  async hasFingerprints(queue: string): Promise<boolean> {
    const text = "select :fingerprints_left($1::text) <> '[]' as value";
    return this.db.value("fingerprints_any", text, [queue], undefined);
  }

  /** Fingerprints that outlive their jobs, from the cell that a queue has left to `to`. */
  async bringFingerprints(queue: string, to: MoveEngine): Promise<void> {
    const text = "select :fingerprints_left($1::text) as value";
    const left = await this.db.value<string>("fingerprints_left", text, [queue], undefined);
    await to.db.rows("fingerprints_bring", "select :fingerprints_bring($1::text, $2::jsonb)", [queue, left]);
  }

  /**
   * Schedules of a queue that has left, as far as they may go now, to `to`. Returns how many are left here. Each step
   * may be done twice: here they make no more runs, there they are taken over, here they are forgotten.
   */
  async bringSchedules(queue: string, to: MoveEngine): Promise<number> {
    const text = "select :schedules_leave($1::text) as value";
    const schedules = await this.db.value<string>("schedules_leave", text, [queue], undefined);
    const names = (JSON.parse(schedules) as { schedule: { name: string } }[]).map(({ schedule }) => schedule.name);
    if (names.length > 0) {
      await to.db.rows("schedules_arrive", "select :schedules_arrive($1::json)", [schedules]);
      await this.db.rows("schedules_left", "select :schedules_left($1::text[])", [names]);
    }
    return (await this.settings(queue)).schedules.length;
  }
}
