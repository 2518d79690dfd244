/**
 * What is accepted at most. SQL refuses the same (`bound` in sql/base/bounds.sql, a test compares); here it is refused
 * before anything is sent, so that the caller's transaction stays usable. docs/security.md says why each is what it is.
 */
export const bounds = Object.freeze({
  /** The longest stored duration in seconds, some 31 years: added to any time, it stays far below what can be held. */
  seconds: 1e9,
  /** Of types, groups, tenants, stages, workers, content types. */
  nameLength: 200,
  /** Arrays and objects inside each other. JSON is read by recursion nearly everywhere, which ends in a full stack. */
  jsonDepth: 500,
  /** Of the JSON text of an input; more belongs into a payload. */
  inputBytes: 16_777_216,
  headersBytes: 4_194_304,
  resultBytes: 16_777_216,
  progressBytes: 1_048_576,
  logBytes: 1_048_576,
  /** What is longer is cut, never refused: a failure must be told. */
  errorBytes: 262_144,
  /** Of the value of a step or a signal. */
  stepBytes: 1_048_576,
  /** Records that a run writes of its steps. All of them are read each time it goes on. */
  runSteps: 100_000,
  /** Of all that a run remembers, as it is read. */
  runBytes: 67_108_864,
  /** Of one step, or jobs that are added to a flow at once. */
  children: 100_000,
  /** Jobs that one job of a flow waits for. */
  edges: 1000,
  /** Signals of one name, sent to one job that has not taken them yet. */
  signals: 1000,
  /** Signals of one name, sent to one job. */
  signalsEver: 10_000,
  /** Of a queue, a type, the cell, a resource or a schedule. */
  optionsBytes: 1_048_576,
});

/** No time that a caller names is before this, in milliseconds. */
export const minTime = Date.UTC(1970, 0, 1);

/** Nor after this: beyond it, years have more digits than ISO 8601 writes without a sign. */
export const maxTime = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
