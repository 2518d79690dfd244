/**
 * What is accepted at most, in one place, each with its reason. SQL refuses the same; here it is refused before anything is sent,
 * so that the caller's transaction stays usable.
 */

/** The longest stored duration in seconds, some 31 years: added to any time, it stays far below what PostgreSQL and JavaScript can hold. */
export const maxSeconds = 1e9;

/** No time of a job is before this, in milliseconds: ids of jobs count from here. */
export const minTime = Date.UTC(2020, 0, 1);

/** No time of a job is after this, in milliseconds: beyond it, years have more digits than ISO 8601 writes without a sign. */
export const maxTime = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** Arrays and objects inside each other. JSON of PostgreSQL and of most languages is read by recursion, which ends in a full stack. */
export const maxJsonDepth = 500;
