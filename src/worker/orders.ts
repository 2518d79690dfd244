import type { DeclaredWorker, ObeyedOrder } from "../db/types.js";
import type { Announcer } from "./announcer.js";
import type { Dispatcher } from "./dispatcher.js";

/** What the code says, and what somebody has ordered from afar, which counts as long as it stands. */
export class Orders {
  #order: ObeyedOrder | undefined;
  #hasDrained = false;
  #ownConcurrency: number;
  readonly #dispatcher: Dispatcher;
  readonly #announcer: Announcer;
  readonly #hooks: OrdersHooks;

  constructor(concurrency: number, dispatcher: Dispatcher, announcer: Announcer, hooks: OrdersHooks) {
    this.#ownConcurrency = concurrency;
    this.#dispatcher = dispatcher;
    this.#announcer = announcer;
    this.#hooks = hooks;
  }

  get current(): ObeyedOrder | undefined {
    return this.#order;
  }

  /** How it holds, as the database is told. */
  get heldAs(): DeclaredWorker["held"] {
    if (!this.#order?.hold) return undefined;
    if (this.#order.hold === "pause") return "paused";
    return this.#hasDrained ? "drained" : "draining";
  }

  /** What the code says from now on. */
  setConcurrency(concurrency: number): void {
    this.#ownConcurrency = concurrency;
    this.#useConcurrency();
  }

  obey(order: ObeyedOrder | undefined): void {
    if (JSON.stringify(order) === JSON.stringify(this.#order)) return;
    const was = this.#order;
    this.#order = order;
    this.#hasDrained = false;
    this.#useConcurrency();
    if (order?.hold) this.#dispatcher.hold();
    else if (was?.hold) {
      this.#dispatcher.resume();
      this.#hooks.onRoom();
    }
    this.#announcer.log("warn", { order }, order ? orderLine(order) : "the orders from afar have ended");
    this.#announcer.tell("ordered", order);
    this.noteDrained();
    this.#hooks.onChange();
  }

  /** A handler has ended: perhaps it was the last that a worker waited for that drains. */
  noteDrained(): void {
    if (this.#order?.hold !== "drain" || this.#hasDrained || !this.#dispatcher.isIdle) return;
    this.#hasDrained = true;
    this.#announcer.log("warn", {}, "drained: the last handler has ended");
    this.#announcer.tell("drained");
    this.#hooks.onChange();
  }

  #useConcurrency(): void {
    const concurrency = this.#order?.concurrency ?? this.#ownConcurrency;
    if (concurrency === this.#dispatcher.concurrency) return;
    this.#dispatcher.concurrency = concurrency;
    this.#dispatcher.startWaiting();
    this.#hooks.onRoom();
  }
}

export interface OrdersHooks {
  /** More jobs may be taken than before. */
  readonly onRoom: () => void;
  /** The database should be told. */
  readonly onChange: () => void;
}

/** What is logged of an order. */
function orderLine({ hold, concurrency, by, because }: ObeyedOrder): string {
  const what = [
    hold === null ? undefined : hold === "pause" ? "paused" : "draining",
    concurrency === null ? undefined : `at most ${concurrency} handlers at once`,
  ].filter((part) => part !== undefined);
  return `${what.join(", ")}${by === null ? "" : ` by ${by}`}${because === null ? "" : `: ${because}`}`;
}
