import type { IconName } from "./parts/icon.js";

/** The pages of the side, and the letters that lead there after `g`. */
export const pages: readonly {
  readonly title: string;
  readonly path: readonly string[];
  readonly key: string;
  readonly icon: IconName;
}[] = [
  { title: "Overview", path: [], key: "o", icon: "overview" },
  { title: "Queues", path: ["queues"], key: "q", icon: "queues" },
  { title: "Jobs", path: ["jobs"], key: "j", icon: "jobs" },
  { title: "Failures", path: ["failures"], key: "f", icon: "failures" },
  { title: "Tenants", path: ["tenants"], key: "t", icon: "tenants" },
  { title: "Schedules", path: ["schedules"], key: "s", icon: "schedules" },
  { title: "Workers", path: ["workers"], key: "w", icon: "workers" },
  { title: "Limits", path: ["limits"], key: "l", icon: "limits" },
  { title: "Health", path: ["health"], key: "h", icon: "health" },
  { title: "Audit", path: ["audit"], key: "a", icon: "audit" },
];
