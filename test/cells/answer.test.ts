import pg from "pg";
import { expect, inject, it, onTestFinished } from "vitest";
import type { TestDatabase } from "../support/database.js";
import { claimOne, enqueue } from "../support/jobs.js";
import { useCellMills } from "../support/cell-mills.js";
import { startProxy } from "../support/proxy.js";

const cells = useCellMills({ ownServers: false });

/** A callback token of a job in a cell. */
async function tokenIn(db: TestDatabase): Promise<string> {
  const id = await enqueue(db, "default");
  const { token } = await claimOne(db, "default");
  return db.engine.stepToken({ id, token }, "#token approved", "approved", 600);
}

const refused = (reason: string) => ({ name: "TokenRefusedError", reason });
const foreign = { name: "CellError", reason: "foreign" };

it("[#202] a callback token counts in a transaction of the cell that gave it out, and only there", async () => {
  const mill = cells.open();
  for (const name of ["a", "b", "c"] as const) {
    const token = await tokenIn(cells.dbs[name]);
    const tx = await cells.dbs[name].connect();
    await tx.query("begin");
    expect(await mill.answer(token, "no", { tx })).toMatchObject({
      name: "approved",
      job: expect.stringMatching(name),
    });
    await tx.query("rollback");
    await tx.query("begin");
    await mill.answer(token, "yes", { tx });
    await tx.query("commit");
    await expect(mill.answer(token, "again")).rejects.toMatchObject(refused("used"));
  }

  const ofC = await tokenIn(cells.dbs.c);
  const inB = await cells.dbs.b.connect();
  await expect(mill.answer(ofC, "yes", { tx: inB })).rejects.toMatchObject(refused("unknown"));
  const elsewhere = new pg.Client(inject("serverUrl"));
  await elsewhere.connect();
  onTestFinished(() => elsewhere.end());
  await expect(mill.answer(ofC, "yes", { tx: elsewhere })).rejects.toMatchObject(foreign);
  await mill.answer(ofC, "yes");
});

it("a callback token counts in a transaction of ours, which keeps what it did in other cells", async () => {
  const mill = cells.open();
  const token = await tokenIn(cells.dbs.b);
  const queue = await cells.nameIn("a", mill);
  await mill.queues.put(queue);
  const act = async (callbackToken: string): Promise<void> =>
    mill.engine.transaction(async (tx) => {
      await mill.engine.enqueue({ queue, type: "kept" }, { tx });
      await mill.engine.answer(callbackToken, "yes", { tx });
    });
  await act(token);
  expect((await mill.engine.count({ queue })).ready).toBe(1);
  await expect(mill.answer(token, "again")).rejects.toMatchObject(refused("used"));
  await expect(act(token)).rejects.toMatchObject(refused("used"));
  await expect(act(token.replace(/\w$/, (last) => (last === "0" ? "1" : "0")))).rejects.toMatchObject(
    refused("unknown"),
  );
  expect((await mill.engine.count({ queue })).ready).toBe(1);
});

it("a callback token does not let a transaction of ours commit without a cell that it has begun in", async () => {
  const proxy = await startProxy(cells.urls.a);
  const mill = cells.open({ cells: { ...cells.urls, a: proxy.url } });
  const token = await tokenIn(cells.dbs.b);
  const queue = await cells.nameIn("a", mill);
  await mill.queues.put(queue);
  const acted = mill.engine.transaction(async (tx) => {
    await mill.engine.enqueue({ queue, type: "lost" }, { tx });
    proxy.cut();
    await mill.engine.answer(token, "yes", { tx });
  });
  await expect(acted).rejects.toThrow('cell "a"');
  await mill.answer(token, "yes"); // another one gave it out
});
