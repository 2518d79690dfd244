import { expect, it } from "vitest";
import { CellsEngine } from "../../src/cells/cells-engine.js";
import { Router } from "../../src/cells/router.js";
import { Engine } from "../../src/db/engine.js";

/** Asked of one cell alone: by the worker that serves it, by what routes calls, and by commands on one cell. */
const ofOneCell = new Set<string>([
  "stepsPut",
  "stepsGet",
  "runsGet",
  "stepStart",
  "stepToken",
  "workerBeat",
  "workerLeave",
  "watchKeep",
  "logPut",
  "claimOnce",
  "cellLook",
  "cellJoin",
  "queueHome",
  "queuePlace",
  "tenantsHere",
  "tenantsPlace",
  "spreadLock",
  "cellHold",
  "cellRepair",
  "due",
  "fire",
  "hold",
  "settle",
  "yield",
]);

function verbsOf(one: object): string[] {
  const names = new Set<string>();
  for (let at = Object.getPrototypeOf(one); at && at !== Object.prototype; at = Object.getPrototypeOf(at))
    for (const name of Object.getOwnPropertyNames(at))
      if (name !== "constructor" && typeof Object.getOwnPropertyDescriptor(at, name)?.value === "function")
        names.add(name);
  return [...names].toSorted();
}

it("every verb of the engine has a way to cells", () => {
  const engine = new CellsEngine(new Router(new Map()), "millrace");
  const plain = new Engine({ pool: { query: () => Promise.reject(), connect: () => Promise.reject() } });
  for (const [over, below] of [
    [engine, plain],
    [engine.schedules, plain.schedules],
    [engine.server, plain.server],
    [engine.sqs, plain.sqs],
  ] as const) {
    const own = new Set(Object.getOwnPropertyNames(Object.getPrototypeOf(over)));
    const missing = verbsOf(below).filter(
      (verb) => !own.has(verb) && !(below === plain.server || below === plain.sqs ? false : ofOneCell.has(verb)),
    );
    expect(missing).toEqual([]);
  }
});
