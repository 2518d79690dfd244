import { CellError } from "../db/errors.js";
import { newPool } from "../db/pool.js";
import { runQuery } from "../db/queryable.js";
import { checkCellName } from "./handle.js";

/**
 * The nodes of a Citus cluster as cells, by the coordinator's list of them. A cell is called as its node's group:
 * `node-1`; that stays when a node gets another address.
 */
export async function cellsOfCitus(coordinator: string): Promise<Record<string, string>> {
  const pool = newPool({ connectionString: coordinator, max: 1 });
  try {
    const rows = await runQuery(
      pool,
      "select groupid, nodename, nodeport from pg_dist_node where noderole = 'primary' and isactive and groupid > 0 order by groupid",
      [],
    );
    if (rows.length === 0)
      throw new CellError("the coordinator has no nodes", "add one with citus_add_node", undefined, "unknown");
    return Object.fromEntries(
      rows.map(({ groupid, nodename, nodeport }) => {
        const url = new URL(coordinator);
        url.hostname = String(nodename);
        url.port = String(nodeport);
        return [checkCellName(`node-${String(groupid)}`), url.href];
      }),
    );
  } finally {
    await pool.end();
  }
}
