import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Engine } from "../db/engine.js";
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
 * The workers of one client in this process. One of them, the first that is there, tells the database of all: so many
 * workers in a process cost as much as one.
 */
export class Roster {
  static readonly #all = new WeakMap<Engine, Roster>();

  readonly id = `${hostname()}:${process.pid}:${randomUUID()}`;
  readonly #members = new Set<Member>();

  private constructor(readonly release: string | null) {}

  /** That of a client. */
  static of(engine: Engine, release: string | null): Roster {
    let roster = this.#all.get(engine);
    if (!roster) this.#all.set(engine, (roster = new Roster(release)));
    return roster;
  }

  join(member: Member): void {
    this.#members.add(member);
  }

  /** Returns whether it was the last one. */
  leave(member: Member): boolean {
    return this.#members.delete(member) && this.#members.size === 0;
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
