import { get } from "../../api.js";
import { useResource } from "../../parts/resource.js";
import type { List, Pause } from "../../wire.js";

/** A pause of a part of a queue: of a type, of a group, or of a group in one type. */
export type PartPause = Pause & ({ readonly type: string } | { readonly group: string });

const isOfPart = (pause: Pause): pause is PartPause => pause.type !== null || pause.group !== null;

/** What is paused in a queue. */
export function usePauses(queue: string): {
  readonly parts: readonly PartPause[];
  ofType: (type: string) => Pause | undefined;
  ofGroup: (group: string) => Pause | undefined;
  /** A group that is paused in some types only. */
  ofGroupInTypes: (group: string) => readonly Pause[];
} {
  const { data } = useResource("pauses", (signal) => get<List<Pause>>("pauses", {}, signal), 10_000);
  const parts = (data?.items ?? []).filter((pause) => pause.queue === queue).filter(isOfPart);
  return {
    parts,
    ofType: (type) => parts.find((pause) => pause.type === type && pause.group === null),
    ofGroup: (group) => parts.find((pause) => pause.group === group && pause.type === null),
    ofGroupInTypes: (group) => parts.filter((pause) => pause.group === group && pause.type !== null),
  };
}
