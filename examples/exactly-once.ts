// Exactly-once effects: the handler's writes and the job's end commit together, so a crash in between undoes both and
// the next attempt starts clean.
import pg from "pg";
import { Millrace, defineJob } from "millrace";

const pool = new pg.Pool({ connectionString: process.env["DATABASE_URL"] });
// A pool that loses a connection emits an error, which ends the process when nobody listens. Millrace listens while it
// uses the pool; what you do with it before and after needs a listener of yours.
pool.on("error", (error) => console.error(`a connection was lost: ${error.message}`));
const mill = new Millrace({ connection: pool });
await pool.query("create table if not exists payment (order_id text, cents int)");

const charge = defineJob<{ orderId: string; cents: number }, { charged: boolean }>("charge", { retryDelay: "100ms" });

const worker = mill.worker();
worker.handle(charge, async (job) => {
  const tx = await pool.connect();
  try {
    await tx.query("begin");
    await tx.query("insert into payment (order_id, cents) values ($1, $2)", [job.input.orderId, job.input.cents]);
    if (job.attempt === 1) throw new Error("a crash after the write");
    const result = await job.complete({ charged: true }, { tx });
    await tx.query("commit");
    return result;
  } catch (error) {
    await tx.query("rollback");
    throw error;
  } finally {
    tx.release();
  }
});
await worker.start();

const job = await mill.enqueue(charge, { orderId: "o-1", cents: 995 });
console.log(await mill.result(job, { timeout: "20s" }));
const { rows } = await pool.query("select count(*)::int as payments from payment where order_id = 'o-1'");
console.log(rows[0]); // { payments: 1 }, although the handler ran twice

await mill.close();
await pool.end();
