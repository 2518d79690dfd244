import type { Scenario } from "../scenario.js";
import { skewedClocks } from "./clocks.js";
import { serverWithoutConnections, smallPools, terminatedBackends } from "./connections.js";
import { fullDisk } from "./disk.js";
import { poisonousJobs } from "./poison.js";
import { restoredDump } from "./restore.js";
import { ringsRotated } from "./rotation.js";
import { serverKilled, serverShutDown } from "./server.js";
import { maintenanceStopped } from "./time.js";
import { rollingUpgrade } from "./upgrade.js";
import { allWorkersKilled, blockedEventLoop, killedWorkers, stoppedWorker } from "./workers.js";

/** In the order in which they run; long ones first. */
export const scenarios: readonly Scenario[] = [
  blockedEventLoop,
  killedWorkers,
  stoppedWorker,
  allWorkersKilled,
  poisonousJobs,
  serverShutDown,
  serverKilled,
  terminatedBackends,
  smallPools,
  serverWithoutConnections,
  fullDisk,
  maintenanceStopped,
  ringsRotated,
  skewedClocks,
  rollingUpgrade,
  restoredDump,
];
