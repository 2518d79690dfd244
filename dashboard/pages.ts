import { computed } from "@preact/signals";
import { cellNames } from "./cells.js";
import type { IconName } from "./parts/icon.js";

interface Page {
  readonly title: string;
  readonly path: readonly string[];
  readonly key: string;
  readonly icon: IconName;
}

const all: readonly Page[] = [
  { title: "Overview", path: [], key: "o", icon: "overview" },
  { title: "Queues", path: ["queues"], key: "q", icon: "queues" },
  { title: "Jobs", path: ["jobs"], key: "j", icon: "jobs" },
  { title: "Failures", path: ["failures"], key: "f", icon: "failures" },
  { title: "Groups", path: ["groups"], key: "g", icon: "groups" },
  { title: "Schedules", path: ["schedules"], key: "s", icon: "schedules" },
  { title: "Workers", path: ["workers"], key: "w", icon: "workers" },
  { title: "Limits", path: ["limits"], key: "l", icon: "limits" },
  { title: "Alerts", path: ["alerts"], key: "e", icon: "alerts" },
  { title: "Cells", path: ["cells"], key: "c", icon: "cells" },
  { title: "Health", path: ["health"], key: "h", icon: "health" },
  { title: "Audit", path: ["audit"], key: "a", icon: "audit" },
];

/** The pages of the side, and the letters that lead there after `g`. That of cells is for those who have several. */
export const pages = computed(() => all.filter(({ title }) => title !== "Cells" || cellNames.value.length > 0));
