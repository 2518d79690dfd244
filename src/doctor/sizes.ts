import { bytes, plural } from "./words.js";
import { type Check, ok, wrong } from "./check.js";

const controlTables = [
  "agenda",
  "claim",
  "fingerprint",
  "lane",
  "lane_cursor",
  "lane_depth",
  "lane_purge",
  "postponed",
  "schedule_run",
  "scout",
  "spare",
  "tally",
];
/** Ten times what maintenance leaves alone (control_compact), counted in rows of 100 bytes. */
const maxAir = 200_000;

/** Control tables follow the work in flight; one that is mostly air is not being compacted. */
export const sizesCheck: Check = {
  name: "sizes",
  needsSchema: true,
  async run({ read, schema }) {
    const tables = await read<{ name: string; size: string; heap: string; live: string }>(
      `select relname as name, pg_total_relation_size(relid) as size, pg_relation_size(relid) as heap, n_live_tup as live
         from pg_stat_all_tables where schemaname = $1 and relname = any ($2::text[]) order by 2 desc`,
      [schema, controlTables],
    );
    const bloated = tables.filter(({ heap, live }) => Number(heap) / 100 - Number(live) > maxAir);
    if (bloated.length > 0) {
      return bloated.map(({ name, size, live }) =>
        wrong(
          `the control table ${name} has ${bytes(Number(size))} for ${plural(Number(live), "row")}`,
          `let a worker's maintenance compact it, and see above for what holds back vacuum; by hand: select ${schema}.control_compact()`,
        ),
      );
    }
    const total = tables.reduce((sum, { size }) => sum + Number(size), 0);
    const [largest] = tables;
    return [
      ok(
        `control tables have ${bytes(total)}${largest ? `, the largest is ${largest.name} with ${bytes(Number(largest.size))}` : ""}`,
      ),
    ];
  },
};
