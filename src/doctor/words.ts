/** 1234567 as 1,234,567 */
export const count = (n: number): string => n.toLocaleString("en");

/** "1 job", "2 jobs" */
export const plural = (n: number, one: string, many = `${one}s`): string => `${count(n)} ${n === 1 ? one : many}`;

const kibi = ["B", "KiB", "MiB", "GiB", "TiB"];

export function bytes(n: number): string {
  const unit = Math.min(kibi.length - 1, n < 1 ? 0 : Math.floor(Math.log2(n) / 10));
  const value = n / 1024 ** unit;
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${kibi[unit]}`;
}

/** A length of time, short: 250 ms, 4.2 s, 3 min 5 s, 2 h 10 min, 4 d 1 h. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 1440) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return `${Math.floor(minutes / 1440)} d ${Math.floor((minutes % 1440) / 60)} h`;
}
