import { cellOf } from "../../cells/handle.js";
import { Combine, type CombineOptions } from "../../db/combine.js";
import type { JobId } from "../../db/types.js";

/** What is done together, for the messages of each cell by itself: one that is away fails nobody else's. */
export class EachCell<Item extends { readonly id: JobId }, Answer> {
  readonly #cells = new Map<string | undefined, Combine<Item, Answer>>();

  constructor(
    private readonly run: (items: readonly Item[]) => Promise<readonly Answer[]>,
    private readonly options: CombineOptions,
  ) {}

  add(item: Item): Promise<Answer> {
    const cell = cellOf(item.id);
    let together = this.#cells.get(cell);
    if (!together) this.#cells.set(cell, (together = new Combine(this.run, this.options)));
    return together.add(item);
  }
}
