import pg from "pg";
import type { Cell } from "../cells/cell.js";
import { Cells } from "../cells/cells.js";
import { Router } from "../cells/router.js";
import { Engine } from "../db/engine.js";
import { translateError } from "../db/errors.js";
import { exactTypes } from "../db/exact-types.js";
import { type ExitCode, type OptionTable, databaseOptions } from "./command.js";
import type { Options } from "./options.js";
import { UsageError } from "./usage-error.js";

/** A cell that was named, with connections to it. */
export interface NamedCell extends Cell {
  readonly url: string;
}

/** What every command takes that works on cells. */
export const cellOptions: OptionTable = { schema: databaseOptions["schema"]! };

/** What `mill.cells` is, of the cells that were named. */
export const cellsOf = (cells: ReadonlyMap<string, NamedCell>): Cells => new Cells(new Router(cells));

/** The cells that an option names, or `MILLRACE_CELLS`: `a=postgres://… b=postgres://…`, with spaces or commas between. */
export function cellUrls(given?: string): ReadonlyMap<string, string> {
  const text = given ?? process.env["MILLRACE_CELLS"] ?? "";
  const source = given === undefined ? "MILLRACE_CELLS" : "--cell-urls";
  const urls = new Map<string, string>();
  for (const part of text.trim().split(/[\s,]+(?=[^\s=]+=)/)) {
    if (part === "") continue;
    const [, name, url] = /^([a-z][a-z0-9-]{0,30})=(\S+)$/s.exec(part) ?? [];
    if (name === undefined || url === undefined || urls.has(name) || !URL.canParse(url))
      throw new UsageError(
        `${source} cannot be understood`,
        "write name=postgres://user:password@host:5432/database for each cell, each name once, with spaces between",
      );
    urls.set(name, url);
  }
  if (urls.size === 0)
    throw new UsageError(
      "no cells given",
      'set MILLRACE_CELLS, as "a=postgres://user:password@host:5432/database b=postgres://…"',
    );
  return urls;
}

/** Work with connections to all cells that were named, and close them afterwards. */
export async function withCells(
  options: Options,
  work: (cells: ReadonlyMap<string, NamedCell>) => Promise<ExitCode>,
): Promise<ExitCode> {
  const cells = new Map<string, NamedCell>();
  for (const [name, url] of cellUrls()) {
    const pool = new pg.Pool({
      connectionString: url,
      max: 4,
      application_name: "millrace cli",
      connectionTimeoutMillis: 5000,
      types: exactTypes,
    });
    pool.on("error", () => {}); // a dying idle connection is replaced; the next query tells
    cells.set(name, { name, url, pool, ownsPool: true, engine: new Engine({ pool, schema: options.text("schema") }) });
  }
  try {
    return await work(cells);
  } catch (error) {
    throw translateError(error);
  } finally {
    await Promise.all([...cells.values()].map(({ pool }) => pool.end()));
  }
}
