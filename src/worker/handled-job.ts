import type { Engine } from "../db/engine.js";
import { handleIn } from "../db/handle.js";
import type { ClaimedJob, Json } from "../db/types.js";
import type { CompleteOptions, Job } from "./handler.js";

/** The part of a run that a job's own methods need. */
export interface JobOwner {
  readonly engine: Engine;
  /** Complete the job in a transaction of the handler's. */
  complete(job: ClaimedJob, result: unknown, call: CompleteOptions): Promise<void>;
  /** A result of another job, as its handler gave it. */
  readResult(result: unknown): Promise<unknown>;
}

/**
 * A claimed job in the hands of its handler. A class, and field by field, because there may be a hundred thousand a
 * second.
 */
export class HandledJob implements Job {
  readonly id: string;
  readonly token: string;
  readonly queue: string;
  readonly type: string;
  readonly priority: number;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly input: unknown;
  readonly createdAt: Date;
  readonly claimedAt: Date;
  readonly leaseEndsAt: Date;
  readonly alone: boolean;
  readonly fence: number | undefined;
  readonly group: string | undefined;
  readonly tenant: string | undefined;
  readonly headers: { readonly [key: string]: Json } | undefined;
  readonly deadline: Date | undefined;
  readonly attemptTimeoutSeconds: number | undefined;
  readonly payload: Uint8Array | undefined;
  readonly payloadSize: number | undefined;
  readonly contentType: string | undefined;
  readonly source: Json | undefined;
  readonly schedule: string | undefined;
  readonly slotAt: Date | undefined;
  readonly fingerprint: string | undefined;
  readonly parent: string | undefined;
  readonly #claimed: ClaimedJob;
  readonly #owner: JobOwner;

  constructor(job: ClaimedJob, input: unknown, owner: JobOwner) {
    this.id = handleIn(owner.engine.cell, job.id);
    this.token = job.token;
    this.queue = job.queue;
    this.type = job.type;
    this.priority = job.priority;
    this.attempt = job.attempt;
    this.maxAttempts = job.maxAttempts;
    this.input = input;
    this.createdAt = job.createdAt;
    this.claimedAt = job.claimedAt;
    this.leaseEndsAt = job.leaseEndsAt;
    this.alone = job.alone;
    this.fence = job.fence;
    this.group = job.group;
    this.tenant = job.tenant;
    this.headers = job.headers;
    this.deadline = job.deadline;
    this.attemptTimeoutSeconds = job.attemptTimeoutSeconds;
    this.payload = job.payload;
    this.payloadSize = job.payloadSize;
    this.contentType = job.contentType;
    this.source = job.source;
    this.schedule = job.schedule;
    this.slotAt = job.slotAt;
    this.fingerprint = job.fingerprint;
    this.parent = job.parent === undefined ? undefined : handleIn(owner.engine.cell, job.parent);
    this.#claimed = job;
    this.#owner = owner;
  }

  get isLastAttempt(): boolean {
    return this.attempt >= this.maxAttempts;
  }

  async complete(result: unknown, call: CompleteOptions): Promise<unknown> {
    await this.#owner.complete(this.#claimed, result, call);
    return result;
  }

  payloadStream(): AsyncIterable<Uint8Array> {
    return this.#owner.engine.payloadStream(this.#claimed.id);
  }

  async parents(definition?: { readonly type: string } | string): Promise<never[]> {
    const type = typeof definition === "object" ? definition.type : definition;
    const waited = await this.#owner.engine.waited(this.#claimed.id);
    const results = waited
      .filter((job) => job.state === "succeeded" && (type === undefined || job.type === type))
      .map(({ result }) => this.#owner.readResult(result));
    return (await Promise.all(results)) as never[];
  }

  async payloadBytes(): Promise<Uint8Array | null> {
    if (this.payload !== undefined || this.payloadSize === undefined) return this.payload ?? null;
    const whole = new Uint8Array(this.payloadSize);
    let at = 0;
    for await (const piece of this.payloadStream()) {
      whole.set(piece, at);
      at += piece.length;
    }
    return whole;
  }
}
