import type { Scenario } from "../scenario.js";
import { serverWithoutConnections, smallPools, terminatedBackends } from "./connections.js";
import { fullDisk } from "./disk.js";
import { restoredDump } from "./restore.js";
import { serverKilled, serverShutDown } from "./server.js";
import { allWorkersKilled, blockedEventLoop, killedWorkers, stoppedWorker } from "./workers.js";

/** In the order in which they run; long ones first. */
export const scenarios: readonly Scenario[] = [
  blockedEventLoop,
  killedWorkers,
  stoppedWorker,
  allWorkersKilled,
  serverShutDown,
  serverKilled,
  terminatedBackends,
  smallPools,
  serverWithoutConnections,
  fullDisk,
  restoredDump,
];
