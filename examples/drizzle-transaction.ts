// Enqueue in a Drizzle transaction: the job exists if and only if the order does.
import { drizzle } from "drizzle-orm/node-postgres";
import { integer, pgTable, serial } from "drizzle-orm/pg-core";
import pg from "pg";
import { Millrace, defineJob } from "millrace";

const pool = new pg.Pool({ connectionString: process.env["DATABASE_URL"] });
// A pool that loses a connection emits an error, which ends the process when nobody listens. Millrace listens while it
// uses the pool; what you do with it before and after needs a listener of yours.
pool.on("error", (error) => console.error(`a connection was lost: ${error.message}`));
const mill = new Millrace({ connection: pool });
const db = drizzle(pool);

const orders = pgTable("orders", { id: serial("id").primaryKey(), cents: integer("cents").notNull() });
await pool.query("create table if not exists orders (id serial primary key, cents int not null)");

const invoice = defineJob<{ orderId: number }, string>("send-invoice");

await db.transaction(async (tx) => {
  const [order] = await tx.insert(orders).values({ cents: 1990 }).returning();
  await mill.enqueue(invoice, { orderId: order!.id }, { tx });
});
await db
  .transaction(async (tx) => {
    await mill.enqueue(invoice, { orderId: -1 }, { tx });
    throw new Error("no such order");
  })
  .catch(() => console.log("rolled back, and the job with it"));

console.log((await mill.jobs.list({ type: "send-invoice" })).map((job) => job.input)); // one job

await mill.close();
await pool.end();
