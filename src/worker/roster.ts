import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type pg from "pg";
import type { DeclaredWorker, ObeyedOrder } from "../db/types.js";
import type { ProcessBeat } from "./process-beat.js";

/** A worker of this process, as it does just now. */
export interface Member extends DeclaredWorker {
  readonly types: readonly string[];
  /** Handlers that run. */
  readonly running: number;
  /** What it was ordered to do; undefined for what its code says. */
  obey(order: ObeyedOrder | undefined): void;
  /** Tell the database soon how all workers of the process do. */
  tell(): void;
  /** Another worker of this process keeps the watch, and looks again so soon. */
  readonly onShared: (inSeconds: number) => void;
}

/** Names of queues and types that one process tells, all workers together; beyond that types stand for any. */
const maxNames = 3000;

/**
 * The workers of this process that work on one schema of one database, whichever client made them. One of them, the
 * first that is there, tells the database of all, and one looks for all (`watch.ts`): so many workers in a process cost
 * as much as one.
 */
export class Roster {
  static readonly #all = new Map<string, Roster>();

  readonly id = `${hostname()}:${process.pid}:${randomUUID()}`;
  readonly #members = new Set<Member>();
  #orders: readonly ObeyedOrder[] = [];

  private constructor(
    readonly place: string,
    readonly release: string | null,
  ) {}

  /** The one that a worker joins. */
  static join(member: Member, pool: pg.Pool, schema: string, release: string | null): Roster {
    const { connectionString, host, port, user, database } = (pool.options ?? {}) as pg.ClientConfig;
    const place = JSON.stringify([connectionString, host, port, user, database, schema, release]);
    const roster = this.#all.get(place) ?? new Roster(place, release);
    this.#all.set(place, roster);
    roster.#members.add(member);
    member.obey(roster.#orders.find(({ worker }) => worker === member.name));
    return roster;
  }

  /** Returns whether it was the last one. */
  leave(member: Member): boolean {
    if (!this.#members.delete(member) || this.#members.size > 0) return false;
    Roster.#all.delete(this.place);
    return true;
  }

  /** What the database has answered: each worker obeys the order for its name, if there is one. */
  obey(orders: readonly ObeyedOrder[]): void {
    this.#orders = orders;
    for (const member of this.#members) member.obey(orders.find(({ worker }) => worker === member.name));
  }

  /** The database should know soon. */
  changed(): void {
    const [speaker] = this.#members;
    speaker?.tell();
  }

  /** This member keeps the watch, and looks again so soon: the others need not. */
  shared(member: Member, inSeconds: number): void {
    for (const other of this.#members) if (other !== member) other.onShared(inSeconds);
  }

  /** What is to be told, by this member; undefined when another one does. */
  beat(member: Member): ProcessBeat | undefined {
    const [speaker] = this.#members;
    return speaker === member ? this.all() : undefined;
  }

  /** What is to be told of all workers of the process. */
  all(): ProcessBeat {
    const runs = [...this.#members].map(({ running }) => running);
    const running = runs.reduce((sum, one) => sum + one, 0);
    return {
      id: this.id,
      facts: { host: hostname(), pid: process.pid, release: this.release, workers: this.#declared() },
      state: { running, memoryBytes: process.memoryUsage.rss(), stalledSeconds: 0 },
      ...(runs.length > 1 && { runs }),
    };
  }

  #declared(): DeclaredWorker[] {
    let names = 0;
    return [...this.#members].slice(0, maxNames).map(({ name, queues, types, concurrency, held }) => {
      names += queues.length + types.length;
      return {
        name,
        queues: queues.slice(0, maxNames),
        types: names > maxNames ? null : types,
        concurrency,
        ...(held === undefined ? {} : { held }),
      };
    });
  }
}
