import { describe, expect, it } from "vitest";
import type { Millrace } from "../../src/client/with-workers.js";
import { AnchorError, MoveRefusedError } from "../../src/db/errors.js";
import { defineJob } from "../../src/job/define-job.js";
import { useCellMills } from "../support/cell-mills.js";
import { startProxy } from "../support/proxy.js";

const cells = useCellMills();
const double = defineJob<{ n: number }, number>("double");
const all = ["a", "b", "c"] as const;
const homesOf = (mill: Millrace, queues: readonly string[]): Promise<string[]> =>
  Promise.all(queues.map((queue) => mill.cells!.whereIs(queue)));
const statesOf = async (mill: Millrace): Promise<string[]> => (await mill.cells!.list()).map(({ state }) => state);
const rowsOf = (cell: (typeof all)[number]): Promise<unknown[]> =>
  cells.dbs[cell].sql("select name, version, state from millrace.cell_member order by version, name");

describe("a cell is drained and removed", { timeout: 180_000 }, () => {
  it("[#226] takes no new queues, can be put back, and is found without once it is removed [#238]", async () => {
    const mill = cells.open();
    const other = cells.open(); // it has read the list before
    const early = [await cells.nameIn("a", mill), await cells.nameIn("b", mill), await cells.nameIn("c", mill)];
    for (const queue of early) await mill.queues.put(queue);
    expect(await homesOf(other, early)).toEqual(["a", "b", "c"]);
    const beside = await cells.nameIn("c", mill);
    await mill.queues.put(beside, { deadLetterQueue: early[0]! }); // placed by c, in a
    const old = await mill.enqueue(double, { n: 1 }, { queue: early[2]!, delay: "1h" });

    const before = await rowsOf("c");
    const plan = await mill.cells!.drain("c", { dryRun: true });
    expect(plan).toMatchObject({ cell: "c", empty: [{ queue: "default" }], moves: [{ queue: early[2], live: 1 }] });
    expect(await rowsOf("c")).toEqual(before);
    await expect(mill.cells!.remove("c")).rejects.toMatchObject({ code: "MR032", reason: "member" });

    const stop = new AbortController();
    const broken = mill.cells!.drain("c", {
      to: "b",
      signal: stop.signal,
      onProgress: ({ step }) => {
        if (step === "draining") stop.abort(); // its job has an hour to go
      },
    });
    await expect(broken).rejects.toThrow();
    expect(await statesOf(mill)).toEqual(["member", "member", "out"]);
    // placed by all processes in the others, also by those that knew the old list
    const late = Array.from({ length: 12 }, (_, n) => `late-${n}`);
    for (const queue of late) await other.queues.put(queue);
    expect(new Set(await homesOf(cells.open(), late))).toEqual(new Set(["a", "b"]));
    await expect(mill.cells!.remove("c")).rejects.toMatchObject({
      reason: "live",
      message: expect.stringMatching(/with 1 jobs/),
    });
    await expect(mill.cells!.remove("c")).rejects.toBeInstanceOf(MoveRefusedError);

    expect((await mill.cells!.add("c", { dryRun: true })).toSorted()).toEqual(["a", "b", "c"]);
    expect(await statesOf(mill)).toEqual(["member", "member", "out"]);
    await mill.cells!.add("c");
    const back = await cells.nameIn("c", mill);
    await other.queues.put(back);
    expect(await cells.open().cells!.whereIs(back)).toBe("c");
    expect(await homesOf(cells.open(), late)).toEqual(await homesOf(mill, late));

    await mill.cancel(old);
    const { moved } = await mill.cells!.drain("c");
    expect(moved.map(({ queue }) => queue).toSorted()).toEqual([back, early[2]!].toSorted());
    expect(await mill.cells!.remove("c", { dryRun: true })).toEqual({ cell: "c", failed: 0, against: [] });
    await mill.cells!.remove("c");
    await mill.cells!.remove("c"); // the same again
    expect(await statesOf(mill)).toEqual(["member", "member", "removed"]);

    const { a, b } = cells.urls;
    const without = cells.open({ cells: { a, b } });
    const known = [...early, beside, back, ...late, "default"];
    const homes = await homesOf(without, known);
    expect(homes.slice(0, 4)).toEqual(["a", "b", "b", "a"]);
    expect(homes).toEqual(await homesOf(cells.open(), known));
    const job = await without.enqueue(double, { n: 2 }, { queue: early[2]! });
    expect(job.id).toMatch(/^b:/);
    // its jobs can be seen by who still has it, and are named by who has not
    expect((await mill.jobs.get(old.id))?.job.state).toBe("cancelled");
    for (const call of [without.jobs.get(old.id), without.cancel(old), without.retry(old), without.result(old)])
      await expect(call).rejects.toMatchObject({
        code: "MR023",
        reason: "gone",
        cell: "c",
        message: expect.stringMatching(/was removed/),
        remedy: expect.stringMatching(/add "c"/),
      });
    await expect(mill.cells!.add("c")).rejects.toMatchObject({ code: "MR023", reason: "name" });
    expect(await without.cells!.doctor()).not.toContainEqual(expect.objectContaining({ state: "wrong" }));
  });
});

describe("what cannot be is refused with a remedy, before anything is written", () => {
  it("a change of the list with cells that are unknown, away, left out, or of another release", async () => {
    const { a, b } = cells.urls;
    const mill = cells.open({ cells: { a, b } });
    await mill.cells!.add(["a", "b"]);
    const before = await rowsOf("a");
    for (const call of [
      mill.cells!.add("z"),
      mill.cells!.drain("z"),
      mill.cells!.drain("a", { to: "z" }),
      mill.cells!.remove("z"),
      mill.cells!.move("default", "z"),
    ])
      await expect(call).rejects.toMatchObject({
        code: "MR023",
        reason: "unknown",
        remedy: expect.stringMatching(/add it to the list/),
      });
    await expect(mill.cells!.drain("a", { to: "a" })).rejects.toMatchObject({ code: "MR032", reason: "cell" });

    const proxy = await startProxy(cells.urls.b);
    const away = cells.open({
      cells: { a, b: { connectionString: proxy.url, connectionTimeoutMillis: 1000 } },
    });
    proxy.cut();
    await expect(away.cells!.drain("a")).rejects.toMatchObject({ code: "MR023", reason: "partial", cell: "b" });

    // a cell of the list that this process does not have would not hear of it
    const first = cells.open({ cells: { a, b } });
    await cells.dbs.b.sql("insert into millrace.cell_member values ('d', 100, now(), 'in')");
    await expect(first.cells!.drain("a")).rejects.toMatchObject({ code: "MR023", reason: "unknown", cell: "d" });
    expect(await first.cells!.doctor()).toContainEqual(
      expect.objectContaining({ cell: "d", state: "wrong", message: expect.stringMatching(/not named/) }),
    );
    for (const cell of ["a", "b"] as const)
      await cells.dbs[cell].sql("delete from millrace.cell_member where name = 'd'");

    const [newest] = await cells.dbs.b.sql(
      "delete from millrace.migration where number = (select max(number) from millrace.migration) returning *",
    );
    const older = cells.open({ cells: { a, b } });
    await expect(older.cells!.drain("a")).rejects.toMatchObject({
      code: "MR023",
      reason: "release",
      cell: "b",
      remedy: expect.stringMatching(/millrace migrate/),
    });
    await expect(older.enqueue("work", {})).rejects.toMatchObject({ code: "MR023", reason: "release" });
    await cells.dbs.b.sql(
      "insert into millrace.migration select * from json_populate_record(null::millrace.migration, $1)",
      [JSON.stringify(newest)],
    );
    expect(await rowsOf("a")).toEqual(before);
  });

  it("two cells with one address, a route to a cell that is gone, an anchor that is none", async () => {
    const { a, b } = cells.urls;
    expect(() => cells.open({ cells: { a, b: a } })).toThrow(/"a" and "b" have one address/);

    const mill = cells.open({ cells: { a, b } });
    await cells.dbs.a.sql("select millrace.route_put('lost', 'x', 5)");
    await cells.dbs.b.sql("select millrace.route_put('lost', 'x', 5)");
    await expect(mill.enqueue("work", {}, { queue: "lost" })).rejects.toMatchObject({
      code: "MR023",
      reason: "gone",
      cell: "x",
      remedy: expect.stringMatching(/add that cell/),
    });
    await expect(mill.queues.put("lost")).rejects.toMatchObject({ reason: "gone" });
    expect(await cells.dbs.a.sql("select from millrace.queue where name = 'lost'")).toEqual([]);
    expect(await mill.cells!.doctor()).toContainEqual(
      expect.objectContaining({
        cell: "x",
        state: "wrong",
        message: expect.stringMatching(/queue "lost" is routed to it/),
      }),
    );

    await expect(mill.cells!.anchor("tenant_1")).rejects.toMatchObject({
      code: "MR001",
      remedy: expect.stringMatching(/citus/),
    });
    const { makeAnchor } = await import("../../src/cells/anchor.js");
    const pool = cells.dbs.a.pool;
    await expect(makeAnchor(pool, "tenant_1")).rejects.toBeInstanceOf(AnchorError);
    await expect(makeAnchor(pool, "tenant_1")).rejects.toMatchObject({
      remedy: expect.stringMatching(/citus_schema_distribute/),
    });
    await expect(makeAnchor(pool, 'te"nant')).rejects.toMatchObject({ code: "MR001" });
    expect(await cells.dbs.a.sql("select to_regclass('tenant_1.here') as made")).toEqual([{ made: null }]);
  });
});
