import { setTimeout as sleep } from "node:timers/promises";
import { type Command, databaseOptions } from "../command.js";
import { type Database, withDatabase } from "../database.js";
import { oneLine } from "../format.js";
import type { Output } from "../output.js";
import { displayUrl } from "../redact.js";
import { stopSignals } from "../stop-signals.js";
import { type Frame, frameLines, makeFrame } from "../top/frame.js";
import { type Sample, Sampler } from "../top/sampler.js";
import { Screen } from "../top/screen.js";

const refreshMs = 1000;
const maxRunning = 100;

export const topCommand: Command = {
  name: "top",
  summary: "watch queues, rates and running jobs live; q quits",
  details: [
    "Refreshed every second. When the output is no terminal, or with `--json`, one frame is printed after a second of watching. " +
      "IN/S counts jobs by the time they were made, OUT/S those that ended in any way.",
  ],
  arguments: [],
  options: databaseOptions,
  examples: ["millrace top", "millrace top --json | jq '.queues[].outPerSecond'"],
  async run({ options, out }) {
    return withDatabase(options, async (database) => {
      if (out.stdout.isTTY && !out.isJson) await watch(database, out);
      else await printOne(database, out);
      return 0;
    });
  },
};

async function printOne(database: Database, out: Output): Promise<void> {
  const sampler = new Sampler(database);
  const before = await sampler.take(0);
  await sleep(refreshMs);
  const frame = makeFrame(await sampler.take(maxRunning), before);
  out.result(frame, frameLines(frame, title(database, frame.at), out, Infinity));
}

async function watch(database: Database, out: Output): Promise<void> {
  const sampler = new Sampler(database);
  // fails here, on the normal screen, when it cannot work
  let before: Sample | undefined = await sampler.take(maxRunning);
  let lines = view(makeFrame(before, undefined), database, out);
  const screen = new Screen(out.stdout, process.stdin);
  const signals = stopSignals();
  const stopping = new AbortController();
  void Promise.race([screen.left, signals.requested]).then(() => stopping.abort());
  screen.open();
  try {
    while (!stopping.signal.aborted) {
      screen.draw(lines.map((line) => out.line(line)));
      await sleep(refreshMs, undefined, { signal: stopping.signal }).catch(() => {});
      if (stopping.signal.aborted) break;
      try {
        const now = await sampler.take(maxRunning);
        lines = view(makeFrame(now, before), database, out);
        before = now;
      } catch (error) {
        lines = [out.style("red", oneLine((error as Error).message, out.width)), ...lines.slice(1)];
        before = undefined;
      }
    }
  } finally {
    screen.close();
    signals.forget();
  }
}

function view(frame: Frame, database: Database, out: Output): string[] {
  return frameLines(frame, title(database, frame.at), out, out.stdout.rows || 24);
}

function title({ url, schema }: Database, at: Date): string {
  return `${displayUrl(url)}  schema ${schema}  ${at.toISOString().slice(0, 19).replace("T", " ")} UTC`;
}
