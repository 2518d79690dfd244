import { get } from "../../api.js";
import { useResource } from "../../parts/resource.js";
import type { List, Pause } from "../../wire.js";

/** What is paused in a queue. */
export function usePauses(queue: string): {
  ofType: (type: string) => Pause | undefined;
  ofGroup: (group: string) => Pause | undefined;
} {
  const { data } = useResource("pauses", (signal) => get<List<Pause>>("pauses", {}, signal), 10_000);
  const here = (data?.items ?? []).filter((pause) => pause.queue === queue);
  return {
    ofType: (type) => here.find((pause) => pause.type === type && pause.group === null),
    ofGroup: (group) => here.find((pause) => pause.group === group && pause.type === null),
  };
}
