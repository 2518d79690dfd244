import type pg from "pg";
import { expect, it } from "vitest";
import { factsOf } from "./process-beat.js";
import { type Member, Roster } from "./roster.js";

const pool = { options: { connectionString: "postgres://roster" } } as unknown as pg.Pool;
const member = (name: string, running: number): Member => ({
  name,
  queues: ["default"],
  types: ["send"],
  concurrency: 10,
  running,
  obey: () => {},
  tell: () => {},
  onShared: () => {},
});
const toldBy = (roster: Roster) => {
  const beat = roster.all();
  return {
    running: beat.state.running,
    workers: factsOf(beat).workers.map(({ name, running }) => [name, running]),
    declared: JSON.stringify(beat.facts),
  };
};

it("each worker of a process tells what it runs itself, and of that alone no beat is made", () => {
  const [first, second] = [member("a", 4), member("b", 0)];
  const roster = Roster.join(first, pool, "millrace", null);
  expect(toldBy(roster), "one alone runs what its process runs").toMatchObject({
    running: 4,
    workers: [["a", undefined]],
  });
  expect(Roster.join(second, pool, "millrace", null)).toBe(roster);
  const before = toldBy(roster);
  expect(before).toMatchObject({
    running: 4,
    workers: [
      ["a", 4],
      ["b", 0],
    ],
  });
  Object.assign(second, { running: 1 });
  expect(toldBy(roster)).toEqual({
    running: 5,
    workers: [
      ["a", 4],
      ["b", 1],
    ],
    declared: before.declared,
  });
  roster.leave(first);
  expect(roster.leave(second)).toBe(true);
});
