// A process that sends, claims or reads one large payload, and says how much memory that took.
// Arguments: folder of the compiled engine, connection string, queue, what to do, size of the payload in bytes. Prints
// {"hash": SHA-256 of the payload or null, "extraBytes": most memory held above what the process had when it was
// connected}.
import { createHash, randomFillSync } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import pg from "pg";

const [engineFolder, url, queue, action, size] = process.argv.slice(2);
const { Engine } = await import(pathToFileURL(path.join(engineFolder, "db", "engine.js")).href);
const pool = new pg.Pool({ connectionString: url });
const engine = new Engine({ pool });

const actions = {
  async enqueue() {
    const payload = randomFillSync(Buffer.alloc(Number(size)));
    await engine.enqueue({ type: "work", queue, payload });
    return hashOf(payload);
  },
  async claim() {
    await claimAndRelease();
    return null;
  },
  async read() {
    const { id } = await claimAndRelease();
    const pieces = [];
    for await (const piece of engine.payloadStream(id)) pieces.push(piece);
    return hashOf(Buffer.concat(pieces));
  },
};

/** What a worker does that looks at nothing but the claim: the next one gets the same job. */
async function claimAndRelease() {
  const [claimed] = await engine.claim({ queues: [queue] });
  await engine.release(claimed);
  return claimed;
}

function hashOf(bytes) {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Most memory held so far. Linux lets a process inherit `maxRSS` from the one that started it, but not this line. */
function peakBytes() {
  const status = "/proc/self/status";
  const peak = existsSync(status) ? /VmHWM:\s*(\d+) kB/.exec(readFileSync(status, "utf8"))?.[1] : undefined;
  return Number(peak ?? process.resourceUsage().maxRSS) * 1024;
}

await engine.queueDepth(queue);
const before = peakBytes();
const hash = await actions[action]();
process.stdout.write(JSON.stringify({ hash, extraBytes: peakBytes() - before }));
await pool.end();
