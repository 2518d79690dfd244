import { afterAll, afterEach, beforeAll } from "vitest";
import type { MillraceOptions } from "../../src/client/millrace-options.js";
import { Millrace } from "../../src/client/with-workers.js";
import type { Worker } from "../../src/worker/worker.js";
import type { WorkerOptions } from "../../src/worker/worker-options.js";
import { type TestDatabase, useDatabase } from "./database.js";

/** Three cells, each on a server of its own. */
export interface TestCells {
  readonly dbs: Readonly<Record<"a" | "b" | "c", TestDatabase>>;
  /** How to get to each. */
  readonly urls: Readonly<Record<"a" | "b" | "c", string>>;
  /** A client of all of them, or of those that are given; closed after the test. */
  open(options?: MillraceOptions): Millrace;
  /** A worker of a client; stopped after the test. */
  worker(mill: Millrace, queues: readonly string[], options?: WorkerOptions): Worker;
  /** A name that has no queue yet, and that the list gives to this cell. */
  nameIn(cell: string, mill: Millrace): Promise<string>;
}

let names = 0;

/**
 * Cells before the file's tests, and clients that are closed after each. Without `ownServers` they are three databases
 * of one server, which take no time to make.
 */
export function useCellMills({ ownServers = true }: { readonly ownServers?: boolean } = {}): TestCells {
  const other = { ownServer: ownServers };
  const dbs = { a: useDatabase(), b: useDatabase(other), c: useDatabase(other) };
  const opened: Millrace[] = [];
  const workers: Worker[] = [];
  beforeAll(async () => {
    // a copy of a database is the same cell, until it is told otherwise
    if (!ownServers)
      for (const db of Object.values(dbs)) {
        await db.sql("update cell_self set id = gen_random_uuid(), name = null");
        await db.sql("delete from token_secret");
        await db.sql("insert into token_secret default values");
      }
  }, 60_000);
  const closeAll = async (): Promise<void> => {
    await Promise.all(workers.splice(0).map((worker) => worker.stop({ force: true })));
    await Promise.all(opened.splice(0).map((mill) => mill.close()));
  };
  afterEach(closeAll);
  afterAll(closeAll);
  return {
    dbs,
    get urls() {
      return { a: dbs.a.url, b: dbs.b.url, c: dbs.c.url };
    },
    open(options = {}) {
      const cells = options.cells ?? { a: dbs.a.url, b: dbs.b.url, c: dbs.c.url };
      const mill = new Millrace({ logger: false, ...options, cells });
      opened.push(mill);
      return mill;
    },
    worker(mill, queues, options = {}) {
      const worker = mill.worker({ queues, pollInterval: 50, heartbeatThread: false, ...options });
      workers.push(worker);
      return worker;
    },
    async nameIn(cell, mill) {
      for (;;) {
        const name = `queue-of-cells-${(names += 1)}`;
        if ((await mill.cells!.whereIs(name)) === cell) return name;
      }
    },
  };
}
