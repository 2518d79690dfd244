import type { Scenario } from "../scenario.js";
import { skewedClocks } from "./clocks.js";
import { poisonousJobs } from "./poison.js";
import { ringsRotated } from "./rotation.js";
import { maintenanceStopped } from "./time.js";
import { rollingUpgrade } from "./upgrade.js";
import { allWorkersKilled, blockedEventLoop, killedWorkers, stoppedWorker } from "./workers.js";

/** In the order in which they run; long ones first. */
export const scenarios: readonly Scenario[] = [
  blockedEventLoop,
  killedWorkers,
  stoppedWorker,
  allWorkersKilled,
  maintenanceStopped,
  poisonousJobs,
  ringsRotated,
  rollingUpgrade,
  skewedClocks,
];
