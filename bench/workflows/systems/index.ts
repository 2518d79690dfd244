import { existsSync } from "node:fs";
import type { System } from "./system.ts";

export interface SystemEntry {
  readonly name: string;
  /** The npm package it comes from. */
  readonly package: string;
  /** What it takes part in. */
  readonly does: "runs" | "graphs" | "both";
  /** Why it cannot take part here; undefined when it can. */
  readonly missing?: () => string | undefined;
  /** Each process loads only the system it runs. */
  readonly load: () => Promise<System>;
}

export const systems: readonly SystemEntry[] = [
  {
    name: "millrace",
    package: "millrace",
    does: "both",
    load: async () => (await import("./millrace.ts")).millrace,
  },
  {
    name: "dbos",
    package: "@dbos-inc/dbos-sdk",
    does: "runs",
    load: async () => (await import("./dbos.ts")).dbos,
  },
  {
    name: "openworkflow",
    package: "openworkflow",
    does: "runs",
    load: async () => (await import("./openworkflow.ts")).openworkflow,
  },
  {
    name: "absurd",
    package: "absurd-sdk",
    does: "runs",
    missing: () =>
      existsSync(process.env["ABSURD_SQL"] ?? "")
        ? undefined
        : "its npm package has no schema; set ABSURD_SQL to absurd.sql of its repository",
    load: async () => (await import("./absurd.ts")).absurd,
  },
  {
    name: "pg-boss",
    package: "pg-boss",
    does: "graphs",
    load: async () => (await import("./pg-boss.ts")).pgBoss,
  },
];

export function findSystem(name: string): SystemEntry {
  const found = systems.find((system) => system.name === name);
  if (!found) throw new Error(`there is no system "${name}": take ${systems.map((system) => system.name).join(", ")}`);
  return found;
}
