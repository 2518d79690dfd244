import { EventEmitter } from "node:events";

type Listener<Details extends unknown[]> = (...details: Details) => void;

/**
 * An emitter that knows its events by name. That of Node takes any name, so that a listener for a misspelt one
 * compiles, and is never called.
 */
export interface TypedEmitter<Events extends { readonly [Name in keyof Events]: unknown[] }> {
  /** Call a listener each time. */
  on<Name extends keyof Events>(name: Name, listener: Listener<Events[Name]>): this;
  /** Call a listener the next time. */
  once<Name extends keyof Events>(name: Name, listener: Listener<Events[Name]>): this;
  /** Call a listener no more. */
  off<Name extends keyof Events>(name: Name, listener: Listener<Events[Name]>): this;
  /** The same as `on`. */
  addListener<Name extends keyof Events>(name: Name, listener: Listener<Events[Name]>): this;
  /** The same as `off`. */
  removeListener<Name extends keyof Events>(name: Name, listener: Listener<Events[Name]>): this;
  /** The same as `on`, before the listeners that are there. */
  prependListener<Name extends keyof Events>(name: Name, listener: Listener<Events[Name]>): this;
  /** The same as `once`, before the listeners that are there. */
  prependOnceListener<Name extends keyof Events>(name: Name, listener: Listener<Events[Name]>): this;
  /** Call the listeners of an event; for the worker itself. */
  emit<Name extends keyof Events>(name: Name, ...details: Events[Name]): boolean;
  /** Forget all listeners, or those of one event. */
  removeAllListeners(name?: keyof Events): this;
  /** How many listeners an event has. */
  listenerCount(name: keyof Events): number;
  /** The listeners of an event. */
  listeners<Name extends keyof Events>(name: Name): Listener<Events[Name]>[];
  /** The same, with what `once` has wrapped them in. */
  rawListeners<Name extends keyof Events>(name: Name): Listener<Events[Name]>[];
  /** The events that have listeners. */
  eventNames(): (keyof Events & (string | symbol))[];
  /** How many listeners one event may have before Node warns. */
  setMaxListeners(count: number): this;
  /** How many that is. */
  getMaxListeners(): number;
}

/** The class to extend: Node's own, known by the events. */
export function typedEmitter<
  Events extends { readonly [Name in keyof Events]: unknown[] },
>(): new () => TypedEmitter<Events> {
  return EventEmitter as never;
}
