import { bounds } from "../../db/limits.js";

/**
 * How much one request may make the server read, hold and compute. Whatever is above is refused before it costs
 * anything; docs/server.md lists them.
 */

/** The longest body, where a route does not say otherwise. */
export const usualBodyBytes = 1_048_576;
/** The longest body that carries jobs or results. Payloads beyond it come as streams. */
export const jobBodyBytes = 16_777_216;
/** The longest body that carries a signal: its value has 1 MiB at most, and may be written longer than it is stored. */
export const signalBodyBytes = 2 * bounds.stepBytes;
/** Objects and lists within each other. The engine takes 500 levels of an input; the rest is what it is wrapped in. */
export const maxLevels = bounds.jsonDepth + 10;
/** Of what an answer tells of a mistake: a value that is told in full may be as long as the body was. */
export const maxDetailCharacters = 2000;
/** Of what the audit notes of an object. */
export const maxObjectCharacters = 500;

/** All bodies that are in memory at once. */
export const usualBodyMemoryBytes = 268_435_456;
/**
 * Whoever sends a body has this long to begin, and must have sent so much a second from then on; a whole request has a
 * minute.
 */
export const patienceMs = 10_000;
export const slowestBytesPerSecond = 1024;

/** Viewers of `GET /live`. */
export const usualViewers = 200;
/** Payloads on their way in; each holds a connection of the pool for as long as its client takes. */
export const maxUploads = 4;
