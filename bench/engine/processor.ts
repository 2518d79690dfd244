import { readFileSync } from "node:fs";

/** Processor time of a process so far, in seconds; 0 where /proc is not to be had. */
export function cpuOf(pid: number): number {
  const stat = statOf(pid);
  return ((stat[10] ?? 0) + (stat[11] ?? 0)) / 100;
}

/** The same of a server and all of its processes that live. */
export function cpuOfChildren(pid: number): number {
  const stat = statOf(pid);
  const children = readText(`/proc/${pid}/task/${pid}/children`).split(" ").filter(Boolean).map(Number);
  return (
    cpuOf(pid) + ((stat[12] ?? 0) + (stat[13] ?? 0)) / 100 + children.reduce((sum, child) => sum + cpuOf(child), 0)
  );
}

/** Memory of a process, in MB. */
export function memoryOf(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readText(`/proc/${pid}/status`))?.[1] ?? 0) / 1024;
}

/** Numbers of /proc, counted from the parent's pid. */
function statOf(pid: number): number[] {
  const text = readText(`/proc/${pid}/stat`);
  return text
    .slice(text.lastIndexOf(")") + 4)
    .split(" ")
    .map(Number);
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return ""; // it has just ended, or this is not Linux
  }
}

/** Processor time of one process to the nanosecond, in milliseconds: a backend's, while its connection lives. */
export function busyMs(pid: number): number {
  return Number(readText(`/proc/${pid}/schedstat`).split(" ")[0]) / 1e6;
}
