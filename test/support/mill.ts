import { afterAll, afterEach, beforeAll } from "vitest";
import type { MillraceOptions } from "../../src/client/millrace-options.js";
import { Millrace } from "../../src/client/with-workers.js";
import type { Defaults } from "../../src/db/types.js";
import type { Worker } from "../../src/worker/worker.js";
import type { WorkerOptions } from "../../src/worker/worker-options.js";
import { type TestDatabase, useDatabase } from "./database.js";
import { newQueue } from "./jobs.js";

/** A Millrace on the file's own database. */
export interface TestMill {
  readonly db: TestDatabase;
  readonly mill: Millrace;
  /** Another Millrace on the same database, such as one with metrics; closed after the test. */
  open(options?: MillraceOptions): Millrace;
  /** A queue nobody else uses. */
  queue(defaults?: Defaults): Promise<string>;
  /** A worker on some queues; stopped after the test, without waiting for its handlers. */
  worker(queues: string | readonly string[], options?: WorkerOptions, mill?: Millrace): Worker;
}

/** Workers look often, so that a test that is not about wake-ups never waits for one. */
const pollInterval = 50;

/** Create the database before the file's tests; after each test stop the workers it made. */
export function useMill(options: MillraceOptions = {}, database: Parameters<typeof useDatabase>[0] = {}): TestMill {
  const db = useDatabase(database);
  const workers: Worker[] = [];
  const opened: Millrace[] = [];
  let mill: Millrace | undefined;

  beforeAll(() => {
    mill = new Millrace({ connection: { connectionString: db.url, max: 6 }, logger: false, ...options });
  });

  afterEach(async () => {
    await Promise.all(workers.splice(0).map((worker) => worker.stop({ force: true })));
    await Promise.all(opened.splice(0).map((one) => one.close()));
  });

  afterAll(async () => {
    await mill?.close();
  });

  const existing = (): Millrace => {
    if (!mill) throw new Error("the Millrace exists only inside tests");
    return mill;
  };
  return {
    db,
    get mill() {
      return existing();
    },
    open(more = {}) {
      const one = new Millrace({ connection: { connectionString: db.url, max: 6 }, logger: false, ...more });
      opened.push(one);
      return one;
    },
    queue: (defaults) => newQueue(db, defaults),
    worker(queues, more = {}, by = existing()) {
      const worker = by.worker({
        queues: typeof queues === "string" ? [queues] : queues,
        pollInterval,
        heartbeatThread: false,
        ...more,
      });
      workers.push(worker);
      return worker;
    },
  };
}
