import type { System } from "./system.ts";

export interface SystemEntry {
  readonly name: string;
  readonly store: "postgres" | "redis";
  /** The npm package it comes from, when that has another name. */
  readonly package?: string;
  /** Left out of quick runs unless asked for: with it they would take longer than they may. */
  readonly onlyFull?: true;
  /** Each process loads only the system it runs. */
  readonly load: () => Promise<System>;
}

export const systems: readonly SystemEntry[] = [
  { name: "millrace", store: "postgres", load: async () => (await import("./millrace.ts")).millrace },
  {
    name: "graphile-worker",
    store: "postgres",
    load: async () => (await import("./graphile-worker.ts")).graphileWorker,
  },
  { name: "pg-boss", store: "postgres", load: async () => (await import("./pg-boss.ts")).pgBoss },
  {
    name: "bullmq-postgres",
    store: "postgres",
    package: "bullmq",
    onlyFull: true,
    load: async () => (await import("./bullmq.ts")).bullmqPostgres,
  },
  {
    name: "pgmq",
    store: "postgres",
    package: "@electric-sql/pglite-pgmq",
    onlyFull: true,
    load: async () => (await import("./pgmq.ts")).pgmq,
  },
  { name: "bullmq", store: "redis", load: async () => (await import("./bullmq.ts")).bullmq },
];

export function findSystem(name: string): SystemEntry {
  const found = systems.find((system) => system.name === name);
  if (!found) throw new Error(`there is no system "${name}": take ${systems.map((system) => system.name).join(", ")}`);
  return found;
}
