import { readFileSync, readdirSync } from "node:fs";
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
  "answerOurs",
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

/** The methods of an object, up to those of a class that it extends. */
function verbsOf(one: object, upTo: object = Object.prototype): string[] {
  const names = new Set<string>();
  for (let at = Object.getPrototypeOf(one); at && at !== upTo; at = Object.getPrototypeOf(at))
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
    const own = new Set(verbsOf(over, Object.getPrototypeOf(below)));
    const missing = verbsOf(below).filter(
      (verb) => !own.has(verb) && !(below === plain.server || below === plain.sqs ? false : ofOneCell.has(verb)),
    );
    expect(missing).toEqual([]);
  }
});

it("every verb over cells is in a file of the same name as that of one cell", () => {
  const read = (folder: string): Map<string, string> => {
    const fileOf = new Map<string, string>();
    const at = new URL(`../../src/${folder}/verbs/`, import.meta.url);
    for (const file of readdirSync(at))
      for (const [, verb] of readFileSync(new URL(file, at), "utf8").matchAll(
        /^  (?:override )?async \*?([a-z]\w*)[<(]/gm,
      ))
        fileOf.set(verb!, file);
    return fileOf;
  };
  const overOne = read("db");
  const overCells = read("cells");
  expect(overCells.size).toBeGreaterThan(100);
  for (const [verb, file] of overCells) expect(`${verb} in ${file}`).toBe(`${verb} in ${overOne.get(verb)}`);
});
