import type { Scenario } from "../scenario.js";
import { asynchronousFailover, synchronousFailover } from "./failover.js";
import { cutNetwork, frozenNetwork, halfOpenConnections } from "./network.js";
import { pgBouncer, pgBouncerPrepared } from "./pgbouncer.js";
import { idleTransaction, longReaders } from "./snapshots.js";
import { allWorkersKilled, blockedEventLoop, killedWorkers, stoppedWorker } from "./workers.js";

/** In the order in which they run; long ones first. */
export const scenarios: readonly Scenario[] = [
  halfOpenConnections,
  blockedEventLoop,
  killedWorkers,
  stoppedWorker,
  allWorkersKilled,
  frozenNetwork,
  cutNetwork,
  idleTransaction,
  longReaders,
  pgBouncer,
  pgBouncerPrepared,
  synchronousFailover,
  asynchronousFailover,
];
