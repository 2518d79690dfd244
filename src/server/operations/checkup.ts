import type pg from "pg";
import { runQuery } from "../../db/queryable.js";
import { type NamedFinding, examine } from "../../doctor/examine.js";

const freshMs = 30_000;
const maxSnapshotAgeMs = 600_000;

/** The doctor, for all who ask: an answer is good for half a minute, because looking loads the database a little. */
export class Checkup {
  #found: { readonly at: number; readonly findings: readonly NamedFinding[] } | undefined;
  #looking: Promise<readonly NamedFinding[]> | undefined;

  constructor(
    private readonly pool: pg.Pool,
    private readonly schema: string,
  ) {}

  /** How many things were wrong when somebody last looked. */
  get warnings(): number {
    return this.#found?.findings.filter(({ state }) => state === "wrong").length ?? 0;
  }

  async findings(): Promise<readonly NamedFinding[]> {
    if (this.#found && performance.now() - this.#found.at < freshMs) return this.#found.findings;
    this.#looking ??= this.#look().finally(() => (this.#looking = undefined));
    return this.#looking;
  }

  async #look(): Promise<readonly NamedFinding[]> {
    const { pool, schema } = this;
    const read = async <Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> =>
      (await runQuery(pool, text.replaceAll(/(?<![:\w]):(?=[a-z_]+)/g, `${schema}.`), [...values])) as Row[];
    const findings = await examine({ pool, schema, read, maxSnapshotAgeMs });
    this.#found = { at: performance.now(), findings };
    return findings;
  }
}
