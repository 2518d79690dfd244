import type { System } from "./system.ts";

export interface SystemEntry {
  readonly name: string;
  readonly store: "postgres" | "redis";
  /** Each process loads only the system it runs. */
  readonly load: () => Promise<System>;
}

export const systems: readonly SystemEntry[] = [
  { name: "millrace", store: "postgres", load: async () => (await import("./millrace.ts")).millrace },
  { name: "graphile-worker", store: "postgres", load: async () => (await import("./graphile-worker.ts")).graphileWorker },
  { name: "pg-boss", store: "postgres", load: async () => (await import("./pg-boss.ts")).pgBoss },
  { name: "bullmq", store: "redis", load: async () => (await import("./bullmq.ts")).bullmq },
];

export function findSystem(name: string): SystemEntry {
  const found = systems.find((system) => system.name === name);
  if (!found) throw new Error(`there is no system "${name}": take ${systems.map((system) => system.name).join(", ")}`);
  return found;
}
