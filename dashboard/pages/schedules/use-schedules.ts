import { get } from "../../api.js";
import { chosenCell } from "../../cells.js";
import { all } from "../../parts/pages-of.js";
import { type Resource, useResource } from "../../parts/resource.js";
import type { Schedule } from "../../wire.js";

/** All schedules without their inputs, asked for again every so often. */
export function useSchedules(everyMs: number): Resource<readonly Schedule[]> {
  const cell = chosenCell.value;
  return useResource(
    `schedules ${cell}`,
    (signal) => all<Schedule>((cursor) => get("schedules", { limit: 1000, brief: true, cursor, cell }, signal)),
    everyMs,
  );
}
