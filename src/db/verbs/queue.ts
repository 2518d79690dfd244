import { decodeDefinition, decodeQueueEvent } from "../decode.js";
import { checkKeys, encodeDefaults, encodeGroupOptions, encodeResourceOptions } from "../encode.js";
import { InvalidArgumentError } from "../errors.js";
import type { CallOptions } from "../foreign.js";
import { noted } from "../note.js";
import type {
  DecisionNote,
  DeclaredType,
  Defaults,
  DefinitionRecord,
  GroupOptions,
  Json,
  PurgeStep,
  PurgeStepped,
  QueueEvent,
  QueuePart,
  ResourceOptions,
} from "../types.js";
import { HoldVerbs } from "./hold.js";

/** What is set for queues, their types and groups, and done to them as a whole (`sql/queue`, `sql/groups`). */
export abstract class QueueVerbs extends HoldVerbs {
  /** Of transactions, by their numbers, those that have ended; not those that are prepared. */
  async transactionsEnded(xids: readonly string[]): Promise<{ readonly xid: string; readonly isCommitted: boolean }[]> {
    const rows = await this.db.rows(
      "xacts_ended",
      `select x as xid, s is distinct from 'aborted' as is_committed
         from unnest($1::text[]) x, pg_xact_status(x::xid8) s where s is distinct from 'in progress'`,
      [xids],
    );
    return rows.map((row) => ({ xid: String(row["xid"]), isCommitted: row["is_committed"] === true }));
  }

  /** Wake workers that sleep on these queues. Jobs are found without it, by polling. */
  async queueNotify(queues: readonly string[], call?: CallOptions): Promise<void> {
    await this.db.rows("queue_notify", "select :queue_notify($1::text[])", [queues], call);
  }

  /** Create a queue, or change its defaults. Returns them. */
  async queuePut(name: string, defaults: Defaults = {}, call?: CallOptions): Promise<Json> {
    return this.db.value(
      "queue_put",
      "select :queue_put($1::text, $2::jsonb) as value",
      [name, encodeDefaults(defaults)],
      call,
    );
  }

  /** Set the defaults of a job type, in all queues. */
  async typePut(type: string, defaults: Defaults, call?: CallOptions): Promise<Json> {
    return this.db.value(
      "type_put",
      "select :type_put($1::text, $2::jsonb) as value",
      [type, encodeDefaults(defaults)],
      call,
    );
  }

  /**
   * Say what the code knows of types, so that jobs that are enqueued without it get their queue and defaults. The
   * higher version holds; of the same version the one that was declared last. Returns the types of which a higher
   * version was declared.
   */
  async typeDeclare(definitions: readonly DeclaredType[], by?: string, call?: CallOptions): Promise<string[]> {
    const encoded = definitions.map(({ defaults, ...rest }) => ({
      ...rest,
      defaults: JSON.parse(encodeDefaults(defaults)) as Json,
    }));
    return this.db.value(
      "type_declare",
      "select to_json(:type_declare($1::jsonb, $2::text)) as value",
      [JSON.stringify(encoded), by ?? null],
      call,
    );
  }

  /** What workers have declared of types; of one if given. */
  async definitions(type?: string, call?: CallOptions): Promise<DefinitionRecord[]> {
    const text = "select * from :definitions where $1::text is null or type = $1 order by type limit 10000";
    return (await this.db.rows("definitions", text, [type ?? null], call)).map(decodeDefinition);
  }

  /** Set how a group of a queue is treated. Returns what is set now. */
  async groupPut(queue: string, group: string, options: GroupOptions, call?: CallOptions): Promise<GroupOptions> {
    const values = [queue, group, encodeGroupOptions(options)];
    return this.db.value("group_put", "select :group_put($1::text, $2::text, $3::jsonb) as value", values, call);
  }

  /** Name something that jobs need while they run, and set its limits. Returns what is set now. */
  async resourcePut(name: string, options: ResourceOptions, call?: CallOptions): Promise<ResourceOptions> {
    const values = [name, encodeResourceOptions(options)];
    return this.db.value("resource_put", "select :resource_put($1::text, $2::jsonb) as value", values, call);
  }

  /**
   * Hand out no more jobs of a queue, or only of a type or a group of it, until that is resumed. Running ones go on.
   */
  async queuePause(
    name: string,
    why: QueuePart & { readonly by?: string; readonly because?: string } = {},
    call?: CallOptions,
  ): Promise<void> {
    checkKeys(why, new Set(["by", "because", "type", "group"]));
    const values = [name, why.by ?? null, why.because ?? null, why.type ?? null, why.group ?? null];
    await this.db.rows(
      "queue_pause",
      "select :queue_pause($1::text, $2::text, $3::text, $4::text, $5::text)",
      values,
      call,
    );
  }

  /** Hand out jobs of a paused queue, or of the part of it that was paused, again. */
  async queueResume(name: string, part: QueuePart & DecisionNote = {}, call?: CallOptions): Promise<void> {
    checkKeys(part, new Set(["by", "because", "type", "group"]));
    const values = [name, part.type ?? null, part.group ?? null, part.by ?? null, part.because ?? null];
    await this.db.rows(
      "queue_resume",
      "select :queue_resume($1::text, $2::text, $3::text, $4::text, $5::text)",
      values,
      call,
    );
  }

  /** Take no more jobs into a queue. It is finished when its last job has ended. */
  async queueClose(name: string, note: DecisionNote = {}, call?: CallOptions): Promise<void> {
    await this.db.rows(
      "queue_close",
      "select :queue_close($1::text, $2::text, $3::text)",
      [name, ...noted(note)],
      call,
    );
  }

  /** Take jobs into a closed queue again, as long as it has not finished. */
  async queueOpen(name: string, note: DecisionNote = {}, call?: CallOptions): Promise<void> {
    await this.db.rows("queue_open", "select :queue_open($1::text, $2::text, $3::text)", [name, ...noted(note)], call);
  }

  /**
   * What happened to queues since an earlier call returned this cursor, and the next cursor. Without one: the newest
   * 10,000 events. Nothing is missed, and nothing comes twice.
   */
  async queueEvents(
    since?: string,
    call?: CallOptions,
  ): Promise<{ readonly cursor: string; readonly events: QueueEvent[] }> {
    const [row] = await this.db.rows(
      "queue_events",
      "select cursor, events from :queue_events($1::text)",
      [since ?? null],
      call,
    );
    return {
      cursor: String(row?.["cursor"]),
      events: ((row?.["events"] ?? []) as Record<string, unknown>[]).map(decodeQueueEvent),
    };
  }

  /**
   * Set what waits in a queue, or only its jobs of a type, aside: jobs that come from now on go first, the others are
   * handed out when there are no such jobs. The cost does not depend on how much it is. Returns how many jobs now wait
   * set aside.
   */
  async queueSetAside(name: string, part: Pick<QueuePart, "type"> = {}, call?: CallOptions): Promise<number> {
    checkKeys(part, new Set(["type"]));
    return this.db.count(
      "queue_set_aside",
      "select :queue_set_aside($1::text, $2::text) as n",
      [name, part.type ?? null],
      call,
    );
  }

  /**
   * Drop the waiting jobs of a queue, or only of a type or a group of it, that were enqueued before a time. The cost
   * does not depend on how many are ready. They are cancelled at once. Returns how many were taken out of the depth
   * already; beyond 100,000, and those of groups, follow as claims and maintenance pass over them.
   */
  async queueShed(name: string, before: Date, part: QueuePart = {}, call?: CallOptions): Promise<number> {
    checkKeys(part, new Set(["type", "group"]));
    if (!(before instanceof Date) || Number.isNaN(before.getTime()))
      throw new InvalidArgumentError("before is not a time", "give a Date");
    const values = [name, before.toISOString(), part.type ?? null, part.group ?? null];
    return this.db.count(
      "queue_shed",
      "select :queue_shed($1::text, $2::timestamptz, $3::text, $4::text) as n",
      values,
      call,
    );
  }

  /**
   * Drop all waiting jobs of a queue, whatever their number, at the same cost. Returns how many. A queue with very many
   * types is purged in steps; in a transaction of the caller that is not possible, and it is refused
   * (`InvalidArgumentError`).
   */
  async queuePurge(queue: string, call?: CallOptions): Promise<number> {
    if (call?.tx) return this.db.count("queue_purge", "select :queue_purge($1::text) as n", [queue], call);
    let jobs = 0;
    let next: PurgeStep | null = {};
    while (next) {
      const step: PurgeStepped = await this.queuePurgeStep(queue, next);
      jobs += step.jobs;
      next = step.next;
    }
    return jobs;
  }

  /**
   * Purge some hundred lanes (types, priorities, sets of resources) of a queue. Ask with `next` until it is null, each
   * time in a transaction of its own. What is enqueued after the first step stays.
   */
  async queuePurgeStep(queue: string, from: PurgeStep = {}, call?: CallOptions): Promise<PurgeStepped> {
    checkKeys(from, new Set(["before", "since", "after"]));
    const [row] = await this.db.rows(
      "queue_purge_step",
      `select purged, more, to_json(before) as before, since::text, after::text
         from :queue_purge_step($1::text, $2::timestamptz, $3::bigint, $4::bigint)`,
      [queue, from.before ?? null, from.since ?? null, from.after ?? null],
      call,
    );
    const { purged, more, before, since, after } = row as {
      purged: string;
      more: boolean;
      before: string;
      since: string;
      after: string | null;
    };
    return { jobs: Number(purged), next: more ? { before, since, ...(after === null ? {} : { after }) } : null };
  }

  /** Move waiting dead letters back to where they came from, or to `target`. Returns how many. */
  async queueRedrive(
    queue: string,
    options: { readonly target?: string; readonly limit?: number } = {},
    call?: CallOptions,
  ): Promise<number> {
    checkKeys(options, new Set(["target", "limit"]));
    return this.db.count(
      "queue_redrive",
      "select :queue_redrive($1::text, $2::text, $3::int) as n",
      [queue, options.target ?? null, options.limit ?? 1000],
      call,
    );
  }
}
