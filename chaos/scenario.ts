import type { Verdict } from "./verdict.js";
import type { World } from "./world.js";

/** One way of hurting a queue. */
export interface Scenario {
  readonly name: string;
  /** In the long form its processes fill a machine: nothing else runs beside it there. */
  readonly isCrowded?: boolean;
  /** Names of its cells, each on a server of its own. Default: one server, and no cells. */
  readonly cells?: readonly string[];
  /** Settings of its server. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Where its server keeps its data, when that matters. Called before the server starts. */
  readonly folder?: () => Promise<string>;
  /** Why it cannot run on this machine; undefined when it can. */
  readonly isImpossible?: () => Promise<string | undefined> | string | undefined;
  /** Do the harm, and wait until all jobs have ended. What is thrown fails the scenario. */
  readonly run: (world: World) => Promise<void>;
  /** What else must hold. Default: nothing lost, nothing completed twice. */
  readonly isGood?: (verdict: Verdict) => boolean;
}
