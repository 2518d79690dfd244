import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type pg from "pg";
import type { DeclaredWorker, ProcessFacts, ProcessState } from "../db/types.js";

/** A worker of this process, as it does just now. */
export interface Member extends DeclaredWorker {
  readonly types: readonly string[];
  /** Handlers that run. */
  readonly running: number;
}

/** What one beat tells the database: sql/upkeep/worker_beat.sql. */
export interface ProcessBeat {
  readonly id: string;
  readonly facts: ProcessFacts;
  readonly state: ProcessState;
}

/** Names of queues and types that one process tells, all workers together; beyond that types stand for any. */
const mostNames = 3000;

/**
 * The workers of this process that work on one schema of one database, whichever client made them. One of them, the
 * first that is there, tells the database of all: so many workers in a process cost as much as one.
 */
export class Roster {
  static readonly #all = new Map<string, Roster>();

  readonly id = `${hostname()}:${process.pid}:${randomUUID()}`;
  readonly #members = new Set<Member>();

  private constructor(
    readonly place: string,
    readonly release: string | null,
  ) {}

  /** The one that a worker joins. */
  static join(member: Member, pool: pg.Pool, schema: string, release: string | null): Roster {
    const { connectionString, host, port, database } = (pool.options ?? {}) as pg.ClientConfig;
    const place = JSON.stringify([connectionString, host, port, database, schema, release]);
    const roster = this.#all.get(place) ?? new Roster(place, release);
    this.#all.set(place, roster);
    roster.#members.add(member);
    return roster;
  }

  /** Returns whether it was the last one. */
  leave(member: Member): boolean {
    if (!this.#members.delete(member) || this.#members.size > 0) return false;
    Roster.#all.delete(this.place);
    return true;
  }

  /** What is to be told, by this member; undefined when another one does. */
  beat(member: Member): ProcessBeat | undefined {
    const [speaker] = this.#members;
    if (speaker !== member) return undefined;
    let running = 0;
    for (const one of this.#members) running += one.running;
    return {
      id: this.id,
      facts: { host: hostname(), pid: process.pid, release: this.release, workers: this.#declared() },
      state: { running, memoryBytes: process.memoryUsage.rss(), stalledSeconds: 0 },
    };
  }

  #declared(): DeclaredWorker[] {
    let names = 0;
    return [...this.#members].slice(0, mostNames).map(({ name, queues, types, concurrency }) => {
      names += queues.length + types.length;
      return { name, queues: queues.slice(0, mostNames), types: names > mostNames ? null : types, concurrency };
    });
  }
}
