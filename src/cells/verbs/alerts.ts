import { AlertNotFoundError } from "../../db/errors.js";
import type * as T from "../../db/types.js";
import { actMs, atMost, chosen, isAway } from "../ask.js";
import { newestOfAll } from "../by-time.js";
import { handleOf } from "../handle.js";
import { sum } from "../merge.js";
import { labelled } from "../ways.js";
import { CellsHistoryVerbs } from "./history.js";
import type { Call } from "./verbs.js";

/** What somebody wants to be told of: each cell looks at what it has. */
export abstract class CellsAlertVerbs extends CellsHistoryVerbs {
  override async alertsCheck(): Promise<number> {
    return sum(await this.ways.eachThatIsThere((cell) => cell.engine.alertsCheck()));
  }

  override async alerts(call?: Call): Promise<T.AlertRecord[]> {
    return labelled(await this.ways.all(call, (cell, own) => cell.engine.alerts(own)));
  }

  override async alertRules(call?: Call): Promise<T.AlertRuleRecord[]> {
    const rules = labelled(await this.ways.all(call, (cell, own) => cell.engine.alertRules(own)));
    return rules.toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  }

  override async alertEvents(
    { before, limit, until }: { readonly before?: string; readonly until?: Date; readonly limit?: number } = {},
    call?: Call,
  ): Promise<T.AlertEvent[]> {
    return newestOfAll({ before, limit }, (startOf) =>
      this.ways.all(call, (cell, own) =>
        cell.engine.alertEvents({ ...(until && { until }), ...startOf(cell), ...(limit && { limit }) }, own),
      ),
    );
  }

  override async alertPut(name: string, rule: T.AlertRule, by?: string, call?: Call): Promise<T.Json> {
    const [first] = await this.ways.all(call, (cell, own) => cell.engine.alertPut(name, rule, by, own));
    return first!.answer;
  }

  override async alertRemove(name: string, by?: string, call?: Call): Promise<void> {
    await this.ways.whereKnown(call, AlertNotFoundError, (cell, own) => cell.engine.alertRemove(name, by, own));
  }

  override async alertSilence(name: string, seconds: number, note: T.SilenceNote = {}, call?: Call): Promise<void> {
    await this.ways.whereKnown(call, AlertNotFoundError, (cell, own) =>
      cell.engine.alertSilence(name, seconds, note, own),
    );
  }

  override async hooks(call?: Call): Promise<T.HookRecord[]> {
    return labelled(await this.ways.all(call, (cell, own) => cell.engine.hooks(own)));
  }

  /** One secret for all cells, so that a receiver need not know which of them sends. */
  override async hookPut(
    name: string,
    hook: { readonly url: string; readonly secret?: string },
    by?: string,
    call?: Call,
  ): Promise<{ readonly secret?: string }> {
    await this.router.ready();
    const [first, ...others] = chosen(this.router.list);
    const made = await this.ways.to(first!, call, (cell, own) => cell.engine.hookPut(name, hook, by, own));
    for (const other of others)
      await this.ways.to(other, call, (cell, own) => cell.engine.hookPut(name, { ...hook, ...made }, by, own));
    return made;
  }

  override async hookRemove(name: string, by?: string, call?: Call): Promise<void> {
    await this.ways.whereKnown(call, AlertNotFoundError, (cell, own) => cell.engine.hookRemove(name, by, own));
  }

  /** From the first cell that knows it. */
  override async hookTest(name: string, by?: string, call?: Call): Promise<T.JobId> {
    await this.router.ready();
    let unknown: unknown;
    let away: unknown;
    for (const cell of chosen(this.router.list)) {
      try {
        return await atMost(actMs, () =>
          this.ways.to(cell, call, async (at, own) => handleOf(at.name, await at.engine.hookTest(name, by, own))),
        );
      } catch (error) {
        if (isAway(error)) away ??= error;
        else if (error instanceof AlertNotFoundError) unknown = error;
        else throw error;
      }
    }
    throw away ?? unknown;
  }

  override async hookGet(name: string, call?: Call): Promise<{ readonly url: string; readonly secret: string } | null> {
    const found = await this.ways.all(call, (cell, own) => cell.engine.hookGet(name, own));
    return found.find(({ answer }) => answer !== null)?.answer ?? null;
  }
}
