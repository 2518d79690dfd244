import type pg from "pg";
import { patienceMs, within } from "../../cells/ask.js";
import { runQuery } from "../../db/queryable.js";
import { type NamedFinding, examine } from "../../doctor/examine.js";
import type { ServedCell } from "../cells.js";

const freshMs = 30_000;
const maxSnapshotAgeMs = 600_000;
/** Counting jobs one by one takes 80 µs each; `millrace doctor` counts more. */
const maxCounted = 1000;

/** What the doctor found, and in which cell, where there are several. */
export type FoundHere = NamedFinding & { readonly cell?: string };

/** The doctor, for all who ask: an answer is good for half a minute, because looking loads the database a little. */
export class Checkup {
  #found: { readonly at: number; readonly findings: readonly FoundHere[] } | undefined;
  #looking: Promise<readonly FoundHere[]> | undefined;

  constructor(private readonly served: () => Promise<readonly ServedCell[]>) {}

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
    const findings = (await Promise.all((await this.served()).map(lookAt))).flat();
    this.#found = { at: performance.now(), findings };
    return findings;
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
