import type { Millrace } from "../client/millrace.js";
import { WakeUp } from "../client/wake-up.js";
import { Deliverer } from "../steps/deliverer.js";
import { type Observers, apiPart, apiPath } from "./api/router.js";
import { routes as apiRoutes } from "./api/routes/index.js";
import type { Auth } from "./auth/auth.js";
import { dashboardPart, takesDashboard } from "./dashboard/static-files.js";
import type { PartRoute } from "./http/exchange.js";
import { maxUploads, usualBodyMemoryBytes, usualViewers } from "./http/limits.js";
import { Shares } from "./http/shares.js";
import { Live } from "./live/live.js";
import { poolsOf, servedCells } from "./cells.js";
import { ConnectionShares } from "./connection-shares.js";
import type { Log } from "./log.js";
import { millsOn } from "./mills.js";
import { Checkup } from "./operations/checkup.js";
import { version } from "./version.js";

/** How the parts of a queue behave. */
export interface QueuePartsOptions extends Observers {
  readonly log: Log;
  readonly bodyMemoryBytes?: number;
  readonly viewers?: number;
}

/** Of a pool, as `pg` has it, where it is not known yet which cells there are. */
const usualConnections = 10;

/**
 * The API and the dashboard of one queue, and what works behind them: what `millrace serve` and an application that
 * mounts a handler have in common.
 */
export class QueueParts {
  readonly live: Live;
  readonly shares: { readonly memory: Shares; readonly waits: Shares; readonly connections: ConnectionShares };
  readonly routes: readonly PartRoute[];
  readonly #wakeUp: WakeUp;
  readonly #deliverer: Deliverer;

  constructor(mill: Millrace, auth: Auth, options: QueuePartsOptions) {
    const { engine } = mill;
    const { log, ...observers } = options;
    // of the smallest pool: what is asked of all cells takes a connection in each
    const sizes = poolsOf(mill).map(({ options: { max } }) => max);
    const connections = sizes.length > 0 ? Math.min(...sizes) : usualConnections;
    const memory = new Shares("memory", options.bodyMemoryBytes ?? usualBodyMemoryBytes);
    const waits = new Shares("enqueues with fingerprints or keys", Math.ceil(connections / 3));
    this.shares = { memory, waits, connections: new ConnectionShares() };
    this.#wakeUp = new WakeUp(engine);
    this.#deliverer = new Deliverer(engine, (error) =>
      log("warn", "signals are left to the workers", { error: String(error) }),
    );
    const served = () => servedCells(mill);
    const checkup = new Checkup(served, mill.cells && (() => mill.cells!.doctor()));
    this.live = new Live(served, log, () => checkup.warnings);
    const api = apiPart(
      apiRoutes,
      {
        millOf: millsOn(mill, this.shares.connections),
        shares: {
          memory,
          looks: new Shares("looks at many jobs", Math.ceil(connections / 5)),
          waits,
          uploads: new Shares("payloads on their way", maxUploads),
          viewers: new Shares("viewers", options.viewers ?? usualViewers),
        },
        auth,
        live: this.live,
        checkup,
        log,
        version: version(),
        wake: (queue) => this.#wakeUp.tell(queue),
        deliver: () => this.#deliverer.ask(),
      },
      observers,
    );
    this.routes = [
      { takes: ({ path }) => path.startsWith(`${apiPath}/`), part: api },
      {
        takes: (exchange) => takesDashboard(exchange) || (auth.isMounted && exchange.path === "/"),
        part: dashboardPart(auth),
      },
    ];
  }

  /** Begin to look at the queues; a second call is harmless. */
  start(): void {
    this.live.start();
  }

  /** Resolves when nothing is on its way any more. */
  async stop(): Promise<void> {
    await Promise.all([this.live.stop(), this.#wakeUp.close(), this.#deliverer.idle()]);
  }
}
