/** Milliseconds of the machine's monotonic clock, which is the same in all processes. */
export const now = (): number => Number(process.hrtime.bigint()) / 1e6;
