import { setTimeout as sleep } from "node:timers/promises";
import { Millrace } from "millrace";
import { daySeconds, moveClock, useMovableClock } from "../clock.js";
import type { Scenario } from "../scenario.js";
import type { World } from "../world.js";

/** Jobs of all kinds of age are in the log while it goes round: 32 days once, and some. */
const days = 36;

/**
 * Both rings go round at once, and space is given back all the time. All jobs are of the type "exact": the ledger tells
 * what became of those that are gone.
 */
export const ringsRotated: Scenario = {
  name: "rings of jobs and tickets going round under load",
  async run(world) {
    await useMovableClock(world);
    await narrowTickets(world);
    await world.engine.cellPut({ retentionSucceededSeconds: daySeconds });
    await world.engine.queuePut("later");
    const lease = `${2 * days}d`; // the clock jumps; leases are not what is tried here
    for (let n = 0; n < 2; n += 1) world.worker({ lease });
    const producer = world.producer({ jobs: 1500, perSecond: 100, types: ["exact"] });
    await using mill = new Millrace({ connection: world.url });

    const emptied = { days: 0, tickets: 0 };
    let isOver = false;
    const rotating = () => rotateTickets(world, emptied, () => isOver);
    const space = Promise.all([
      giveSpaceBack(world, emptied, () => isOver),
      giveSpaceBack(world, emptied, () => isOver),
      rotating(),
    ]);
    const burning = burnTransactions(world, () => isOver);
    for (let day = 0; day < days || !producer.hasEnded; day += 1) {
      if (day % 10 === 0) await leaveOpen(world, mill);
      if (day === days - 10) world.worker({ lease, queues: ["later"] });
      await sleep(300);
      await moveClock(world, daySeconds);
    }
    await producer.exit;
    await moveClock(world, days * daySeconds);
    await world.drained();
    isOver = true;
    await space;
    const burnt = await burning;
    const gone = await forgetTheGone(world);
    if (emptied.days < 32) throw new Error(`the days went round less than once: ${emptied.days} emptied`);
    if (emptied.tickets < 8)
      throw new Error(`the tickets went round less than once: ${emptied.tickets} children emptied`);
    world.remarks.push(
      `${emptied.days} times a day of jobs emptied, ${gone} jobs gone; ${burnt} transactions used up, ${emptied.tickets} times a child of tickets emptied`,
    );
  },
};

/**
 * Jobs whose tickets stay unread in their child while the ring comes round, and jobs that stay in the log while all
 * others of their day go.
 */
async function leaveOpen(world: World, mill: Millrace): Promise<void> {
  const unread = await mill.enqueueMany("exact", [null, null, null], { queue: "later" });
  const delayed = await mill.enqueueMany("exact", [null, null, null], { delay: `${days}d` });
  for (const { id } of [...unread, ...delayed]) world.acknowledged.add(id);
}

/** A child of tickets holds 262,144 transactions. With 4096, seconds are enough to go round. */
async function narrowTickets(world: World): Promise<void> {
  const rows = await world.sql<{ text: string }>(
    "select pg_get_functiondef(p.oid) as text from pg_proc p where p.pronamespace = 'millrace'::regnamespace and p.prosrc ~ '(>>|<<) 18'",
  );
  if (rows.length === 0) throw new Error("the width of the ring is written otherwise now");
  for (const { text } of rows)
    await world.sql(`set search_path = millrace; ${text.replaceAll(/(>>|<<) 18/g, "$1 12")}; reset search_path`);
}

async function giveSpaceBack(
  world: World,
  emptied: { days: number; tickets: number },
  isOver: () => boolean,
): Promise<void> {
  while (!isOver()) {
    const { jobChildren, ticketChildren } = await world.engine.maintainSpace({ compactBound: 200 });
    emptied.days += jobChildren;
    emptied.tickets += ticketChildren;
    await sleep(50);
  }
}

/**
 * Alone as well: a round of the above takes so long, with a day passing four times a second, that tickets would get few
 * turns.
 */
async function rotateTickets(world: World, emptied: { tickets: number }, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const [row] = await world.sql<{ n: number }>("select millrace.ticket_rotate() as n");
    emptied.tickets += row?.n ?? 0;
    await sleep(50);
  }
}

/** Each block with an exception clause that writes takes a transaction number. Returns how many were taken. */
async function burnTransactions(world: World, isOver: () => boolean): Promise<number> {
  await world.sql("create unlogged table chaos.burnt (n int)");
  let burnt = 0;
  for (; !isOver(); burnt += 2000) {
    await world.sql(
      "do $$ begin for i in 1 .. 2000 loop begin insert into chaos.burnt values (i); exception when others then raise; end; end loop; end $$",
    );
    await world.sql("truncate chaos.burnt");
    await sleep(100);
  }
  return burnt;
}

/**
 * Finished jobs past their retention are rightly gone: they are in the ledger, written in the transaction that
 * completed them. Others count as lost.
 */
async function forgetTheGone(world: World): Promise<number> {
  const rows = await world.sql<{ id: string }>(
    "select id from unnest($1::bigint[]) given (id) where not exists (select from millrace.jobs j where j.id = given.id) and exists (select from chaos.ledger l where l.job = given.id)",
    [[...world.acknowledged]],
  );
  for (const { id } of rows) world.acknowledged.delete(id);
  return rows.length;
}
