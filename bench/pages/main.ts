// How long the pages of the dashboard wait for the server, with a million jobs: `npm run bench:pages`.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import pg from "pg";
import { Millrace } from "../../src/client/with-workers.js";
import { migrate } from "../../src/db/migrate.js";
import { startEmbeddedServer } from "../../src/embedded/server.js";
import { median } from "../engine/measure.js";
import { startMillrace } from "../server/systems.js";
import { type World, makeWorld } from "./world.js";

const quick = process.argv.includes("--quick");
const json = process.argv.includes("--json");
const valueOf = (name: string): string | undefined =>
  process.argv.includes(name) ? process.argv[process.argv.indexOf(name) + 1] : undefined;
const jobs = Number(valueOf("--jobs") ?? (quick ? 50_000 : 1_000_000));
const rounds = Number(valueOf("--rounds") ?? (quick ? 3 : 7));
/** A folder keeps the world for the next run. */
const folder = valueOf("--folder");
const only = valueOf("--only");

/** What pages ask for: the page, and the request. */
const requests = ({
  waiting,
  failed,
  blocked,
}: World): [page: string, method: "GET" | "POST", ask: string, body?: object][] => [
  ["overview", "GET", "overview"],
  ["overview", "GET", "history?seconds=600"],
  ["overview", "GET", "doctor"],
  ["overview", "GET", "breakers"],
  ["overview", "GET", "pauses"],
  ["overview", "GET", "jobs?limit=1&brief=true"],
  ["queues", "GET", "queues?limit=1000"],
  ["queue: why", "GET", "queues/resize/why"],
  ["queue: why", "GET", "queues/mail/why"],
  ["queue", "GET", "queues/resize"],
  ["queue", "GET", "queues/mail"],
  ["queue", "GET", "queues/sync"],
  ["queue: types", "GET", "queues/mail/types"],
  ["queue: groups", "GET", "queues/resize/groups?limit=500"],
  ["queue: groups", "GET", "queues/mail/groups?limit=500"],
  ["queue: peek", "GET", "queues/resize/peek?limit=50"],
  ["queue: events", "GET", "queues/mail/events"],
  ["stages", "GET", "stages"],
  ["jobs", "GET", "jobs?limit=50&brief=true"],
  ...["ready", "running", "blocked", "delayed", "suspended", "succeeded", "failed", "expired", "cancelled"].map(
    (state): [string, "GET", string] => [`jobs: ${state}`, "GET", `jobs?state=${state}&limit=50&brief=true`],
  ),
  ["jobs: blocked of a queue", "GET", "jobs?state=blocked&queue=mail&limit=50&brief=true"],
  ["jobs: group", "GET", "jobs?group=tenant-3&limit=50&brief=true"],
  ["jobs: tenant", "GET", "jobs?tenant=tenant-3&limit=50&brief=true"],
  ["jobs: type, failed", "GET", "jobs?type=import-file&state=failed&limit=50&brief=true"],
  ["job", "GET", `jobs/${waiting}`],
  ["job", "GET", `jobs/${failed}`],
  ["job", "GET", `jobs/${blocked}`],
  ["job: why", "GET", `jobs/${waiting}/why`],
  ["job: why", "GET", `jobs/${blocked}/why`],
  ["job: steps", "GET", `jobs/${waiting}/steps?newest=true&limit=200`],
  ["job: children", "GET", `jobs/${waiting}/children?limit=200`],
  ["failures", "GET", "failures"],
  ["failures: retry, counted", "POST", "failures/retry", { queue: "import", dryRun: true }],
  ["jobs: retry, counted", "POST", "jobs/retry", { filter: { type: "import-file" }, dryRun: true }],
  ["jobs: cancel, counted", "POST", "jobs/cancel", { filter: { type: "newsletter" }, dryRun: true }],
  ["queue: purge, counted", "POST", "queues/resize/purge", { dryRun: true }],
  ["groups", "GET", "groups?limit=200"],
  ["tenant: counts", "GET", "jobs/counts?tenant=tenant-3"],
  ["durations", "GET", "jobs/durations"],
  ["limits", "GET", "limits"],
  ["workers", "GET", "workers"],
  ["workers", "GET", "running?limit=200"],
  ["workers", "GET", "processes"],
  ["workers", "GET", "unhandled"],
  ["schedules", "GET", "schedules?limit=1000"],
  ["schedule", "GET", "schedules/schedule-1"],
  ["audit", "GET", "audit?limit=100"],
];
const postgres = await startEmbeddedServer({
  ...(folder === undefined ? {} : { folder }),
  settings: { shared_buffers: "1GB", max_wal_size: "8GB", checkpoint_timeout: "30min", max_connections: "100" },
});
const pool = new pg.Pool({ connectionString: postgres.url, max: 4 });
pool.on("error", () => {}); // the server stops before the pool does
const table: { readonly page: string; readonly request: string; readonly ms: number; readonly worstMs: number }[] = [];

try {
  await migrate(pool);
  const mill = new Millrace({ connection: pool });
  const world = await worldOf(mill);
  await mill.close();
  const server = await startMillrace(postgres.url);
  for (const [page, method, ask, body] of requests(world))
    await measure(page, `${method} ${ask}`, async () => {
      const status = await asked(server.url, method, ask, body);
      if (status >= 400) throw new Error(`${method} ${ask}: ${status}`);
    });
  await server.stop();
  // Not a page, but done every fifteen seconds for one: the rules that are there from the start.
  await measure("alerts: the rules", "alerts_check", async () => {
    await pool.query("update millrace.duty set done_at = done_at - interval '1 minute' where name = 'alerts'");
    await pool.query("select millrace.alerts_check()");
  });
} finally {
  void pool.end();
  await postgres.stop();
}
if (json) console.log(JSON.stringify({ jobs, rounds, requests: table }));

async function measure(page: string, request: string, ask: () => Promise<void>): Promise<void> {
  if (only !== undefined && !request.includes(only)) return;
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const began = performance.now();
    await ask();
    times.push(performance.now() - began);
  }
  const line = { page, request, ms: Math.round(median(times)), worstMs: Math.round(Math.max(...times)) };
  table.push(line);
  if (!json)
    console.log(
      `${page.padEnd(26)} ${request.padEnd(64)} ${String(line.ms).padStart(6)} ms ${String(line.worstMs).padStart(6)}`,
    );
}

/** The one that is kept, or a new one. */
async function worldOf(mill: Millrace): Promise<World> {
  const kept = folder === undefined ? undefined : path.join(folder, "world.json");
  if (kept !== undefined && existsSync(kept)) return JSON.parse(readFileSync(kept, "utf8")) as World;
  const began = performance.now();
  const world = await makeWorld(mill, jobs, (text) => {
    if (!json) console.log(`making ${text}`);
  });
  await pool.query("vacuum analyze");
  await pool.query("checkpoint");
  if (kept !== undefined) writeFileSync(kept, JSON.stringify(world));
  if (!json) console.log(`${jobs.toLocaleString("en")} jobs in ${Math.round((performance.now() - began) / 1000)} s`);
  return world;
}

/** One request, read to its end; the status. */
async function asked(url: string, method: string, ask: string, body?: object): Promise<number> {
  const response = await fetch(`${url}/api/v1/${ask}`, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
  });
  await response.text();
  return response.status;
}
