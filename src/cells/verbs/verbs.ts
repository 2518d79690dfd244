import { Engine } from "../../db/engine.js";
import { CellError } from "../../db/errors.js";
import type { CallOptions } from "../../db/foreign.js";
import type { ConnectionPool } from "../../db/queryable.js";
import type { Router } from "../router.js";
import { Ways } from "../ways.js";

export type Call = CallOptions | undefined;

/** Nothing is sent through it: every verb goes to a cell of its own. */
const nowhere: ConnectionPool = {
  query: () => Promise.reject(new CellError("this is asked of one cell", "use mill.cells.engine(name)")),
  connect: () => Promise.reject(new CellError("this is asked of one cell", "use mill.cells.engine(name)")),
};

/** What all verbs over cells have in common: the ways to them. */
export abstract class CellsVerbs extends Engine {
  readonly ways: Ways;

  constructor(
    readonly router: Router,
    schema: string,
  ) {
    super({ pool: nowhere, schema });
    this.ways = new Ways(router);
  }
}
