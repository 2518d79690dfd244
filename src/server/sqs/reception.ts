import { setTimeout as sleep } from "node:timers/promises";
import { gather } from "../../db/combine.js";
import type { SqsEngine, SqsMessageRecord } from "../../db/sqs-engine.js";

/**
 * Messages that fall due without anybody saying so (another server's delays and timeouts) are looked for this often.
 */
const lookMs = 1000;
/** Times that are known to this process are remembered so far ahead, and so exactly. */
const horizonMs = 60_000;
const grainMs = 50;
/** The most messages in one claim. */
const maxAtOnce = 500;
const maxTries = 10;
/** A visibility timeout of 0: the message stays visible, and the shortest claim there is tells that it was received. */
const shortestSeconds = 0.001;

/** Somebody who waits for messages. */
interface Receiver {
  readonly most: number;
  readonly seconds: number;
  endsAt: number;
  /** The round of looks in which it was last looked for. */
  seen: number;
  isClaiming: boolean;
  isGone: boolean;
  readonly resolve: (messages: readonly SqsMessageRecord[]) => void;
  readonly reject: (error: unknown) => void;
}

/** What a receiver asks for. */
export interface ReceiveRequest {
  readonly most: number;
  readonly visibilitySeconds: number;
  readonly waitSeconds: number;
  /** Fires when the client has gone: what was claimed for it goes to others. */
  readonly signal: AbortSignal;
}

/**
 * Those who receive from one queue. There is one claim at a time for all of them: who comes while it is on its way is
 * part of the next. Waiting takes no connection, only a place in a list and, for all together, one look a second.
 * Messages of one group in order go to one receiver: together go only those who want one message each, and each gets
 * one of another group.
 */
export class Reception {
  readonly #receivers = new Set<Receiver>();
  readonly #dueTimes = new Set<number>();
  #round = 0;
  #isLooking = false;
  #isStopped = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly engine: SqsEngine,
    private readonly queue: string,
    private readonly isFifo: boolean,
    private readonly giveBack: (messages: readonly SqsMessageRecord[]) => Promise<void>,
  ) {}

  receive(request: ReceiveRequest): Promise<readonly SqsMessageRecord[]> {
    const { most, visibilitySeconds, waitSeconds, signal } = request;
    if (signal.aborted) return Promise.resolve([]);
    return new Promise((resolve, reject) => {
      const waitMs = this.#isStopped ? 0 : waitSeconds * 1000;
      const hangUp = () => this.#end(receiver, true);
      const timer = waitMs > 0 ? setTimeout(() => this.#end(receiver, false), waitMs) : undefined;
      const settled =
        <T>(settle: (value: T) => void) =>
        (value: T): void => {
          clearTimeout(timer);
          signal.removeEventListener("abort", hangUp);
          this.#receivers.delete(receiver);
          settle(value);
        };
      const receiver: Receiver = {
        most,
        seconds: Math.max(visibilitySeconds, shortestSeconds),
        endsAt: performance.now() + waitMs,
        seen: -1,
        isClaiming: false,
        isGone: false,
        resolve: settled(resolve),
        reject: settled(reject),
      };
      signal.addEventListener("abort", hangUp);
      this.#receivers.add(receiver);
      void this.#look();
    });
  }

  /** There may be something now. */
  wake(): void {
    if (this.#receivers.size === 0) return;
    this.#round += 1;
    void this.#look();
  }

  /** Something will be there in so many seconds. */
  expect(seconds: number): void {
    const ms = seconds * 1000;
    if (ms > horizonMs) return;
    const now = performance.now();
    for (const time of this.#dueTimes) if (time < now) this.#dueTimes.delete(time);
    this.#dueTimes.add(Math.ceil((now + ms) / grainMs) * grainMs);
    if (this.#receivers.size > 0) this.#schedule();
  }

  /** Nobody waits any longer. */
  stop(): void {
    this.#isStopped = true;
    for (const receiver of this.#receivers) this.#end(receiver, false);
  }

  /** A claim that is on its way may be for this one: then its answer decides. */
  #end(receiver: Receiver, isGone: boolean): void {
    receiver.isGone ||= isGone;
    receiver.endsAt = 0;
    if (!receiver.isClaiming || isGone) receiver.resolve([]);
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    clearTimeout(this.#timer);
    for (;;) {
      await new Promise<void>((begin) => gather(() => this.#receivers.size, begin));
      const next = this.#nextToClaim();
      if (next.length === 0) break;
      await this.#claimFor(next);
    }
    this.#isLooking = false;
    this.#schedule();
  }

  /**
   * Those whom this round has not looked for yet, as far as they want the same timeout, and in order one message each.
   */
  #nextToClaim(): Receiver[] {
    const next: Receiver[] = [];
    let most = 0;
    for (const receiver of this.#receivers) {
      if (receiver.seen === this.#round || (next[0] && receiver.seconds !== next[0].seconds)) continue;
      if (this.isFifo && next[0] && (receiver.most > 1 || next[0].most > 1)) continue;
      most += receiver.most;
      if (next.length > 0 && most > maxAtOnce) break;
      next.push(receiver);
    }
    return next;
  }

  async #claimFor(receivers: readonly Receiver[]): Promise<void> {
    const round = this.#round;
    for (const receiver of receivers) {
      receiver.seen = round;
      receiver.isClaiming = true;
    }
    const wanted = receivers.reduce((sum, { most }) => sum + most, 0);
    const { seconds, most } = receivers[0]!;
    try {
      const { messages, more } = await this.#claim(wanted, seconds, this.isFifo ? most : undefined);
      for (const receiver of receivers) receiver.isClaiming = false;
      if (messages.length > 0) this.expect(seconds);
      this.#deal(messages, seconds, receivers);
      if (more && messages.length > 0 && messages.length < wanted) this.#round += 1;
    } catch (error) {
      for (const receiver of receivers) {
        receiver.isClaiming = false;
        if (!receiver.isGone) receiver.reject(error);
      }
    }
  }

  /**
   * Somebody else may be at the queue's lanes for a moment, or have its messages in hand without giving them to
   * anybody.
   */
  async #claim(wanted: number, seconds: number, groupLimit: number | undefined): ReturnType<SqsEngine["receive"]> {
    for (let tries = 1; ; tries += 1) {
      const claimed = await this.engine.receive(this.queue, wanted, seconds, groupLimit);
      if (claimed.messages.length > 0 || !claimed.more || tries === maxTries) return claimed;
      await sleep(tries * 3);
    }
  }

  /** First those it was claimed for, then, for what is left because somebody has gone, others who want the same. */
  #deal(messages: readonly SqsMessageRecord[], seconds: number, receivers: readonly Receiver[]): void {
    let at = 0;
    for (const receiver of receivers) {
      if (receiver.isGone) continue;
      const own = messages.slice(at, at + receiver.most);
      at += own.length;
      if (own.length > 0 || performance.now() >= receiver.endsAt) receiver.resolve(own);
    }
    for (const receiver of this.#receivers) {
      if (at >= messages.length) return;
      if (receiver.seconds !== seconds || receiver.isGone || (this.isFifo && receiver.most < messages.length - at))
        continue;
      const own = messages.slice(at, at + receiver.most);
      at += own.length;
      receiver.resolve(own);
    }
    if (at < messages.length) void this.giveBack(messages.slice(at));
  }

  /** Look again when something falls due, or after a while. */
  #schedule(): void {
    clearTimeout(this.#timer);
    if (this.#receivers.size === 0 || this.#isLooking) return;
    const now = performance.now();
    let at = now + lookMs;
    for (const time of this.#dueTimes) if (time > now && time < at) at = time;
    this.#timer = setTimeout(() => this.wake(), at - now + 1);
    this.#timer.unref();
  }
}
