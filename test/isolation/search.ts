import { type Combination, format, repeatLine, simpler, verbsOf } from "./combination.js";
import type { Fault } from "./faults.js";
import type { Product } from "./product.js";

/** One kind of fault, in the simplest combination that was found to show it. */
export interface Finding {
  readonly kind: string;
  readonly text: string;
  readonly combination: Combination;
  /** How many combinations showed it, as far as that can be told. */
  times: number;
}

/** No kind of fault is made simpler more often than this; what comes then is counted only. */
const maxOfOneKind = 25;

/** Runs combinations, several products side by side, and collects what they find. */
export class Search {
  readonly findings: Finding[] = [];
  readonly #seen = new Set<string>();
  readonly #pairs = new Set<string>();
  /** Faults that were not made simpler any more. */
  readonly others = new Map<string, number>();
  /** What simpler combinations showed, as far as they were tried. */
  readonly #tried = new Map<string, readonly Fault[]>();
  runs = 0;
  tries = 0;
  failed = 0;

  /** Take combinations from `next` until it has no more. */
  async run(products: readonly Product[], next: () => Combination | undefined): Promise<void> {
    await Promise.all(products.map((product) => this.#work(product, next)));
  }

  async #work(product: Product, next: () => Combination | undefined): Promise<void> {
    for (let combination = next(); combination; combination = next()) {
      if (!product.can(combination)) continue;
      this.#seen.add(format(combination));
      this.#pairs.add(`${combination.first.name}/${combination.second?.name}`);
      this.runs += 1;
      const { faults } = await product.run(combination);
      if (faults.length > 0) this.failed += 1;
      for (const { kind, text } of faults) await this.#note(product, combination, kind, text);
    }
  }

  async #note(product: Product, combination: Combination, kind: string, text: string): Promise<void> {
    const known = this.findings.find((finding) => finding.kind === kind && explains(finding.combination, combination));
    if (known) {
      known.times += 1;
    } else if (this.findings.filter((finding) => finding.kind === kind).length >= maxOfOneKind) {
      this.others.set(kind, (this.others.get(kind) ?? 0) + 1);
    } else {
      const finding: Finding = { kind, text, combination, times: 1 };
      this.findings.push(finding); // so that others need not look for the same meanwhile
      const simplest = await this.#simplify(product, combination, kind, text);
      const same = this.findings.find(
        (other) => other !== finding && other.kind === kind && explains(other.combination, simplest.combination),
      );
      this.findings.splice(this.findings.indexOf(finding), 1);
      if (same) same.times += 1;
      else this.findings.push({ kind, ...simplest, times: 1 });
    }
  }

  async #faultsOf(product: Product, combination: Combination): Promise<readonly Fault[]> {
    const key = format(combination);
    const known = this.#tried.get(key);
    if (known) return known;
    this.tries += 1;
    const { faults } = await product.run(combination);
    this.#tried.set(key, faults);
    return faults;
  }

  /** One simplification after another, as long as the fault stays. */
  async #simplify(
    product: Product,
    from: Combination,
    kind: string,
    text: string,
  ): Promise<Pick<Finding, "combination" | "text">> {
    let combination = from;
    for (;;) {
      let better: Combination | undefined;
      for (const candidate of simpler(combination)) {
        const fault = (await this.#faultsOf(product, candidate)).find((fault) => fault.kind === kind);
        if (!fault) continue;
        better = candidate;
        text = fault.text;
        break;
      }
      if (!better) return { combination, text };
      combination = better;
    }
  }

  /** How much was tried, and what was found: one paragraph for each kind of fault, and how to repeat it. */
  report(seconds: number, how: string): string {
    const kinds = [...new Set(this.findings.map(({ kind }) => kind))].sort();
    const paragraphs = kinds.map((kind) => {
      const found = this.findings.filter((finding) => finding.kind === kind).sort((x, y) => y.times - x.times);
      const more = this.others.get(kind);
      return [
        `${kind}:`,
        ...found.map(({ text, combination, times }) => `  ${times}x ${text}\n    ${repeatLine(combination)}`),
        ...(more ? [`  and ${more} others`] : []),
      ].join("\n");
    });
    const rate = ((this.runs + this.tries) / seconds).toFixed(1);
    const tried = `${this.#seen.size} combinations (${this.#pairs.size} pairs of verbs) and ${this.tries} simpler ones in ${seconds.toFixed(0)} s, ${rate} a second, ${how}`;
    return [`${tried}; ${this.failed} failed`, ...paragraphs].join("\n");
  }
}

/**
 * Whether what was found in a simpler combination is to be expected in this one: it has its verbs in their order, its
 * state, transaction and time, or the first of them is the ordinary one.
 */
function explains(simple: Combination, combination: Combination): boolean {
  const names = verbsOf(combination).map(({ name }) => name);
  let at = 0;
  for (const { name } of verbsOf(simple)) {
    at = names.indexOf(name, at) + 1;
    if (at === 0) return false;
  }
  const isOrdinary = (value: string, ordinary: readonly string[], other: string): boolean =>
    ordinary.includes(value) || value === other;
  return (
    isOrdinary(simple.state, ["plain"], combination.state) &&
    isOrdinary(simple.tx, ["auto", "commit"], combination.tx) &&
    isOrdinary(simple.time, ["none"], combination.time)
  );
}
