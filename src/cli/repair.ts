import { Engine } from "../db/engine.js";
import type { CliOptions } from "./main.js";
import { withPool } from "./pool.js";

export async function repairCommand(options: CliOptions): Promise<number> {
  return withPool(options.url, async (pool) => {
    const ready = await new Engine({ pool, schema: options.schema }).repair();
    console.log(`schema ${options.schema} repaired: ${ready} jobs are ready`);
    return 0;
  });
}
