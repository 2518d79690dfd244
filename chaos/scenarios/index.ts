import type { Scenario } from "../scenario.js";
import { attackByChance } from "./attack.js";
import { cellKilled } from "./cell-killed.js";
import { skewedClocks } from "./clocks.js";
import { serverWithoutConnections, smallPools, terminatedBackends } from "./connections.js";
import { fullDisk } from "./disk.js";
import { flowsUnderAttack, runsKilled, waitsThroughCrashes } from "./durable.js";
import { asynchronousFailover, synchronousFailover } from "./failover.js";
import { leaseFrozen } from "./lease-frozen.js";
import { limitsUnderAttack, orderUnderAttack } from "./limits.js";
import { cutNetwork, frozenNetwork, halfOpenConnections } from "./network.js";
import { pgBouncer, pgBouncerPrepared } from "./pgbouncer.js";
import { poisonousJobs } from "./poison.js";
import { queueMoved } from "./queue-moved.js";
import { restoredDump } from "./restore.js";
import { ringsRotated } from "./rotation.js";
import { schedulesUnderAttack } from "./schedules.js";
import { serverKilled, serverShutDown } from "./server.js";
import { idleTransaction, longReaders } from "./snapshots.js";
import { maintenanceStopped } from "./time.js";
import { rollingUpgrade } from "./upgrade.js";
import { allWorkersKilled, blockedEventLoop, killedWorkers, stoppedWorker } from "./workers.js";

/** In the order in which they run; long ones first. */
export const scenarios: readonly Scenario[] = [
  halfOpenConnections,
  blockedEventLoop,
  killedWorkers,
  stoppedWorker,
  allWorkersKilled,
  leaseFrozen,
  cellKilled,
  queueMoved,
  poisonousJobs,
  attackByChance,
  limitsUnderAttack,
  orderUnderAttack,
  schedulesUnderAttack,
  runsKilled,
  waitsThroughCrashes,
  flowsUnderAttack,
  serverShutDown,
  serverKilled,
  terminatedBackends,
  smallPools,
  serverWithoutConnections,
  frozenNetwork,
  cutNetwork,
  pgBouncer,
  pgBouncerPrepared,
  idleTransaction,
  longReaders,
  synchronousFailover,
  asynchronousFailover,
  fullDisk,
  maintenanceStopped,
  ringsRotated,
  skewedClocks,
  rollingUpgrade,
  restoredDump,
];
