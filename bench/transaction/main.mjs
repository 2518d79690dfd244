// How soon a job starts that was enqueued in the caller's transaction, counted from its commit, and what that costs.
// `npm run bench:transaction`; MILLRACE_DIST names the dist of another release, to compare with.
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";

const dist = process.env.MILLRACE_DIST ?? new URL("../../dist/", import.meta.url).href;
const { Millrace, defineJob, migrate, startEmbeddedServer } = await import(`${dist}/index.js`);
const rounds = process.argv.includes("--quick") ? 40 : 200;
const openTransactions = 300;
const seconds = process.argv.includes("--quick") ? 2 : 5;

const quantile = (values, q) =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * q))];
const ms = (value) => value.toFixed(1);

/** A pool that counts the statements it sends by itself, not those of connections it has lent out. */
class CountingPool extends pg.Pool {
  statements = 0;
  query(...given) {
    this.statements += 1;
    return super.query(...given);
  }
}

const server = await startEmbeddedServer({ settings: { max_connections: "400" } });
const pool = new CountingPool({ connectionString: server.url, max: 20 });
pool.on("error", () => {});
await migrate(pool);
const producer = new Millrace({ connection: pool });
const consumer = new Millrace({ connection: server.url });
const job = defineJob("timed");
let started;
const worker = consumer.worker({ concurrency: 10 }).handle(job, () => started?.(performance.now()));
await worker.start();

/** Milliseconds from the commit to the start of the handler. */
async function once(options) {
  const begun = new Promise((resolve) => (started = resolve));
  if (options === undefined) {
    await producer.enqueue(job, null);
  } else {
    const tx = await pool.connect();
    await tx.query("begin");
    await producer.enqueue(job, null, { tx, ...options });
    await tx.query("commit");
    tx.release();
  }
  const committedAt = performance.now();
  return Math.max(0, (await begun) - committedAt);
}

const ways = { "your transaction": {}, "with notify: true": { notify: true }, "a commit of its own": undefined };
const times = Object.fromEntries(Object.keys(ways).map((way) => [way, []]));
for (let round = 0; round < rounds; round += 1) {
  for (const [way, options] of Object.entries(ways)) {
    await sleep(50 + Math.random() * 200); // the worker sleeps
    times[way].push(await once(options));
  }
}
const own = quantile(times["a commit of its own"], 0.5);
for (const [way, taken] of Object.entries(times))
  console.log(
    `${way.padEnd(20)} median ${ms(quantile(taken, 0.5))} ms, 99th percentile ${ms(quantile(taken, 0.99))} ms,`,
    `${(quantile(taken, 0.5) / own).toFixed(2)} of one with a commit of its own`,
  );

/** Jobs per second of eight connections that do nothing else. */
async function rate(options) {
  const end = performance.now() + seconds * 1000;
  let jobs = 0;
  const loop = async () => {
    const tx = await pool.connect();
    while (performance.now() < end) {
      await tx.query("begin");
      await producer.enqueue("unhandled", null, { tx, ...options });
      await tx.query("commit");
      jobs += 1;
    }
    tx.release();
  };
  const before = pool.statements;
  await Promise.all(Array.from({ length: 8 }, loop));
  return { perSecond: jobs / seconds, statements: (pool.statements - before) / seconds };
}
const rates = { without: [], with: [] };
for (let round = 0; round < 3; round += 1) {
  rates.without.push(await rate({}));
  rates.with.push(await rate({ notify: true }));
}
const perSecond = (list) =>
  quantile(
    list.map((one) => one.perSecond),
    0.5,
  );
console.log(
  `eight busy producers  ${Math.round(perSecond(rates.without))} jobs/s, with notify: true ${Math.round(perSecond(rates.with))};`,
  `${quantile(
    rates.without.map((one) => one.statements),
    0.5,
  ).toFixed(0)} statements/s besides`,
);

const open = await Promise.all(
  Array.from({ length: openTransactions }, async () => {
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    await client.query("begin");
    await producer.enqueue("unhandled", null, { tx: client });
    return client;
  }),
);
for (const after of [1, 5]) {
  await sleep(after * 1000);
  const before = pool.statements;
  await sleep(2000);
  console.log(
    `${openTransactions} transactions open for ${after} s more: ${(pool.statements - before) / 2} statements/s`,
  );
}
const beside = [];
for (let round = 0; round < rounds / 4; round += 1) {
  await sleep(50);
  beside.push(await once({}));
}
console.log(`your transaction beside them: median ${ms(quantile(beside, 0.5))} ms`);
await Promise.all(open.map((client) => client.query("rollback").then(() => client.end())));
await sleep(1500);
const idle = pool.statements;
await sleep(2000);
console.log(`nothing open: ${(pool.statements - idle) / 2} statements/s`);

await worker.stop();
await Promise.all([producer.close(), consumer.close()]);
await pool.end();
await server.stop();
