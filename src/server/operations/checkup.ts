import type pg from "pg";
import { patienceMs, within } from "../../cells/ask.js";
import type { CellFinding } from "../../cells/move-doctor.js";
import { runQuery } from "../../db/queryable.js";
import { type NamedFinding, examine } from "../../doctor/examine.js";
import type { ServedCell } from "../cells.js";

const freshMs = 30_000;
const maxSnapshotAgeMs = 600_000;
/** Counting jobs one by one takes 80 µs each; `millrace doctor` counts more. */
const maxCounted = 1000;

/** What the doctor found, and in which cell, where there are several. */
export type FoundHere = NamedFinding & { readonly cell?: string; readonly remedy?: string };

/** The doctor, for all who ask: an answer is good for half a minute, because looking loads the database a little. */
export class Checkup {
  #found: { readonly at: number; readonly findings: readonly FoundHere[] } | undefined;
  #looking: Promise<readonly FoundHere[]> | undefined;

  constructor(
    private readonly served: () => Promise<readonly ServedCell[]>,
    /** Over several cells: what is wrong with them together. */
    private readonly together?: () => Promise<readonly CellFinding[]>,
  ) {}

  /** How many things were wrong when somebody last looked. */
  get warnings(): number {
    return this.#found?.findings.filter(({ state }) => state === "wrong").length ?? 0;
  }

  async findings(): Promise<readonly FoundHere[]> {
    if (this.#found && performance.now() - this.#found.at < freshMs) return this.#found.findings;
    this.#looking ??= this.#look().finally(() => (this.#looking = undefined));
    return this.#looking;
  }

  async #look(): Promise<readonly FoundHere[]> {
    const found = (await Promise.all((await this.served()).map(lookAt))).flat();
    const findings = this.together ? [...found, ...(await lookTogether(found, this.together))] : found;
    this.#found = { at: performance.now(), findings };
    return findings;
  }
}

/** As `millrace cells doctor`: what is merely to be looked at, such as a queue that moves, is not wrong. */
async function lookTogether(
  found: readonly FoundHere[],
  together: () => Promise<readonly CellFinding[]>,
): Promise<readonly FoundHere[]> {
  const check = "cells";
  const gone = found.find((one) => one.check === "server" && one.state === "wrong");
  if (gone) return [{ check, state: "skipped", message: `needs all cells, and ${gone.cell} does not answer` }];
  try {
    const findings = await together();
    return findings.map(({ state, cell, message, remedy = "look at its server" }) =>
      state === "wrong"
        ? { check, state, message, remedy, cell }
        : { check, state: "ok", message, cell, ...(state === "look" && { remedy }) },
    );
  } catch (error) {
    return [{ check, state: "skipped", message: `could not look: ${(error as Error).message}` }];
  }
}

async function lookAt({ name, engine }: ServedCell): Promise<readonly FoundHere[]> {
  const { schema } = engine;
  const pool = engine.pool as pg.Pool;
  const read = async <Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> =>
    (await runQuery(pool, text.replaceAll(/(?<![:\w]):(?=[a-z_]+)/g, `${schema}.`), [...values])) as Row[];
  const look = () => examine({ pool, schema, read, maxSnapshotAgeMs, maxCounted });
  if (name === undefined) return look();
  try {
    await within(patienceMs, { name }, runQuery(pool, "select", []));
  } catch (error) {
    const { message } = error as Error;
    return [{ check: "server", state: "wrong", message, remedy: "check that its server runs", cell: name }];
  }
  return (await look()).map((finding) => ({ ...finding, cell: name }));
}
