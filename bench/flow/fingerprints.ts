import { setTimeout as sleep } from "node:timers/promises";
import { Engine } from "../../src/db/engine.js";
import { migrate } from "../../src/db/migrate.js";
import { median } from "../engine/measure.js";
import type { FlowBench } from "./context.js";

const most = 40_000;
const counts = [0, 5000, most] as const;
const windowMs = 1000;
/** So many are looked at in a round of upkeep, once (fingerprints_tidy). */
const looksPerRound = 1000;

/**
 * A round of upkeep beside waiting jobs whose fingerprint has had its time, against one beside jobs without
 * fingerprints. Each number of them in a cell of its own, among as many jobs; the cells take turns.
 */
export async function fingerprints({ pool, quick, report }: FlowBench): Promise<void> {
  const cells = await Promise.all(counts.map(cell));
  await sleep(windowMs + 100);

  const first = await compare(counts[1] / looksPerRound); // all cells but the first are busy with their first look
  report(
    `a round of upkeep that looks at ${looksPerRound} whose time has passed, against none`,
    "stale_fingerprints_first_look",
    first[2]! / first[0]!,
  );
  for (let looked = 0; looked < most; looked += looksPerRound) await cells[2]!.maintain();
  const later = await compare(quick ? 30 : 200);
  report("ms for a round of upkeep without fingerprints", "stale_fingerprints_none_ms", later[0]!);
  for (const at of [1, 2] as const) {
    const what = `a round of upkeep with ${counts[at].toLocaleString("en")} stale fingerprints, against none (1)`;
    report(what, at === 2 ? "stale_fingerprints" : `stale_fingerprints_${counts[at]}`, later[at]! / later[0]!);
  }

  /** The median time of a round in each cell. */
  async function compare(rounds: number): Promise<number[]> {
    const times: number[][] = cells.map(() => []);
    for (let round = 0; round < rounds; round += 1) {
      for (const [at, engine] of cells.entries()) {
        const startedAt = performance.now();
        await engine.maintain();
        times[at]!.push(performance.now() - startedAt);
      }
    }
    return times.map(median);
  }

  async function cell(count: number): Promise<Engine> {
    const schema = `stale_${count}`;
    await migrate(pool, { schema });
    const engine = new Engine({ pool, schema });
    const options = { type: "noop", fingerprintMode: "window", fingerprintSeconds: windowMs / 1000 } as const;
    for (let done = 0; done < most; done += 1000) {
      await engine.enqueueEach(
        Array.from({ length: 1000 }, (_, i) =>
          done + i < count ? { ...options, fingerprint: `f${done + i}` } : { type: "noop" },
        ),
      );
    }
    return engine;
  }
}
