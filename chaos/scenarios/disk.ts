import { spawnSync } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync, rmSync, rmdirSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Scenario } from "../scenario.js";
import type { World } from "../world.js";
import { survived } from "./server.js";

const mount = path.join(tmpdir(), `millrace-chaos-disk-${process.pid}`);
const filler = path.join(mount, "filler");

/**
 * First statements that need room are refused; then the log finds none, and the server goes down until an operator has
 * made some.
 */
export const fullDisk: Scenario = {
  name: "the server's disk full, then freed",
  settings: { min_wal_size: "32MB", max_wal_size: "64MB", shared_buffers: "32MB" },
  isImpossible: () => {
    const obstacle = mountDisk("1m");
    if (obstacle === undefined) unmountDisk();
    return obstacle === undefined ? undefined : `no small disk can be mounted: ${obstacle}`;
  },
  folder: async () => {
    const obstacle = mountDisk("320m");
    if (obstacle !== undefined) throw new Error(obstacle);
    process.once("exit", unmountDisk); // in case the world cannot be made
    return path.join(mount, "server");
  },
  async run(world) {
    world.onClose(async () => {
      await world.server.stop("immediate");
      unmountDisk();
    });
    const producer = world.producer({ jobs: 2500, perSecond: 250, input: { sleepMs: 20 } });
    const workers = [world.worker(), world.worker()];
    let falls = 0;
    for (let blow = 0; blow < world.many(2); blow += 1) {
      const before = await world.executions();
      await world.until("some more have run", async () => (await world.executions()) > before + 300);
      await fill(3000, async () => {
        if (blow % 2 === 1) await world.sql("select pg_switch_wal()").catch(() => {});
      });
      if (!(await answers(world))) {
        falls += 1;
        await world.server.stop("immediate");
        await world.restart();
      }
    }
    await producer.exit;
    await world.drained();
    survived(workers);
    const refused = [producer, ...workers]
      .flatMap((child) => child.of("error"))
      .filter(({ message = "" }) => message.includes("No space left"));
    if (refused.length === 0) throw new Error("nobody met a full disk");
    if (falls === 0) throw new Error("the log never ran out of room");
    world.remarks.push(`${refused.length} statements refused for want of space, the server restarted ${falls} times`);
  },
};

/** Leave no byte free for so long, whatever the server gives back. */
async function fill(forMs: number, meanwhile: () => Promise<void>): Promise<void> {
  const file = openSync(filler, "w");
  try {
    for (const end = Date.now() + forMs; Date.now() < end; await sleep(50)) {
      for (const size of [1 << 20, 1 << 12]) while (isWritten(file, Buffer.alloc(size, 1)));
      await meanwhile();
    }
  } finally {
    closeSync(file);
    rmSync(filler);
  }
}

function isWritten(file: number, bytes: Buffer): boolean {
  try {
    return writeSync(file, bytes) === bytes.length;
  } catch (error) {
    if ((error as { code?: string }).code === "ENOSPC") return false;
    throw error;
  }
}

/** A server that met an error may recover by itself; one that could not has given up by then. */
async function answers(world: World): Promise<boolean> {
  for (const end = Date.now() + 3000; Date.now() < end; await sleep(100)) {
    try {
      await world.sql("create temp table room as select 1; drop table room");
      return true;
    } catch {
      continue;
    }
  }
  return false;
}

/** Returns what stood in the way. */
function mountDisk(size: string): string | undefined {
  if (process.getuid?.() !== 0) return "that needs root";
  mkdirSync(mount, { recursive: true });
  const { status, stderr, error } = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${size}`, "tmpfs", mount], {
    encoding: "utf8",
  });
  if (status === 0) return undefined;
  rmdirSync(mount);
  return error?.message ?? stderr.trim();
}

/** Harmless when it is done already. */
function unmountDisk(): void {
  if (!existsSync(mount)) return;
  spawnSync("umount", ["-l", mount]);
  rmdirSync(mount);
}
