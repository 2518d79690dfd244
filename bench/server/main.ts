// The server beside another that speaks SQS, and its cost over the library: `npm run bench:server`.
import { CreateQueueCommand, SQSClient } from "@aws-sdk/client-sqs";
import { spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { Millrace } from "../../src/client/with-workers.js";
import { migrate } from "../../src/db/migrate.js";
import { startEmbeddedServer } from "../../src/embedded/server.js";
import { median, payloads } from "../engine/measure.js";
import { cpuOf, cpuOfChildren, memoryOf } from "../engine/processor.js";
import type { Taken, Task } from "./load.js";
import { type SqsSystem, key, startFauxqs, startMillrace } from "./systems.js";

const quick = process.argv.includes("--quick");
const json = process.argv.includes("--json");
const only = process.argv.includes("--only") ? process.argv[process.argv.indexOf("--only") + 1]?.split(",") : undefined;
const size = quick
  ? { rounds: 1, lightRounds: 3, single: 3000, tens: 10_000, polls: 200, pollSeconds: 5, shallow: 2000, deep: 50_000 }
  : {
      rounds: 3,
      lightRounds: 5,
      single: 10_000,
      tens: 40_000,
      polls: 1000,
      pollSeconds: 20,
      shallow: 5000,
      deep: 200_000,
    };
const clients = 32;
const results: Record<string, Record<string, number>> = {};
/** Ours against another, one by one, by clients that do little: what a change is judged by. */
const ratios: Record<string, number> = {};

const postgres = await startEmbeddedServer({
  settings: { shared_buffers: "2GB", max_wal_size: "16GB", checkpoint_timeout: "30min", max_connections: "100" },
});
const pool = new pg.Pool({ connectionString: postgres.url, max: 4 });
pool.on("error", () => {}); // the server stops before the pool does
const systems: SqsSystem[] = [];

try {
  await migrate(pool);
  const mill = new Millrace({ connection: pool });
  const ours = await startMillrace(postgres.url);
  systems.push(ours);
  const theirs = await startFauxqs();
  if (theirs) systems.push(theirs);
  else console.log("fauxqs is not installed (npm ci in bench/): left out");

  if (isWanted("sqs")) await sqs();
  if (isWanted("sqs-light")) await sqsLight();
  if (isWanted("overhead")) await overhead();
  if (isWanted("idle-polls")) await idlePolls();
  if (isWanted("deep-fifo")) await deepFifo();
  await mill.close();

  /** Messages sent, and received and deleted, one by one and in tens: through the AWS SDK. */
  async function sqs(): Promise<void> {
    await sendAndReceive(false, size.rounds);
  }

  /** The same by clients that do less, so that more of it is the servers; and ours against the other. */
  async function sqsLight(): Promise<void> {
    const rates = await sendAndReceive(true, size.lightRounds);
    if (!theirs) return;
    for (const act of ["receive", "send"] as const) {
      const { millrace = [], fauxqs = [] } = rates[nameOf(act, 1, true)]!;
      ratios[`${act}_vs_fauxqs`] = Number((median(millrace) / median(fauxqs)).toPrecision(3));
    }
  }

  async function sendAndReceive(light: boolean, rounds: number): Promise<Record<string, Record<string, number[]>>> {
    const rates: Record<string, Record<string, number[]>> = {};
    for (let round = 0; round < rounds; round += 1) {
      for (const system of round % 2 === 0 ? systems : systems.toReversed()) {
        for (const many of [1, 10]) {
          const count = many === 1 ? size.single : size.tens;
          const queueUrl = await newQueue(system, `bench-${round}-${many}${light ? "-light" : ""}`);
          for (const act of ["send", "receive"] as const) {
            // Those for warming up are sent too, and received too.
            const name = nameOf(act, many, light);
            const task = { act, url: system.url, queueUrl, clients, count, size: many, light };
            const rate = await measured(system, name, count / many, task);
            ((rates[name] ??= {})[system.name] ??= []).push(rate * many);
          }
        }
      }
    }
    for (const [name, bySystem] of Object.entries(rates)) {
      for (const [system, all] of Object.entries(bySystem))
        report(name, system, median(all), "messages/s", spread(all));
    }
    return rates;
  }

  /** One job per call, through the client, the HTTP API, and SQS. */
  async function overhead(): Promise<void> {
    const rates: Record<string, number[]> = {};
    const queueUrl = await newQueue(ours, "overhead");
    for (let round = 0; round < size.rounds; round += 1) {
      const tasks: Record<string, Task> = {
        library: { act: "library", url: postgres.url, queue: "overhead", clients, count: size.single },
        api: { act: "api", url: ours.url, queue: "overhead", clients, count: size.single },
        sqs: { act: "send", url: ours.url, queueUrl, clients, count: size.single, size: 1 },
      };
      for (const [name, task] of Object.entries(tasks))
        (rates[name] ??= []).push(await measured(ours, `overhead ${name}`, size.single, task));
    }
    for (const [name, all] of Object.entries(rates)) report("overhead", name, median(all), "jobs/s", spread(all));
  }

  /** Many who wait for messages that do not come: in one queue, and in a hundred. */
  async function idlePolls(): Promise<void> {
    for (const queues of [1, 100]) {
      const queueUrls = await Promise.all(
        Array.from({ length: queues }, (_, i) => newQueue(ours, `idle-${queues}-${i}`)),
      );
      await sleep(2000);
      const before = await statements();
      await sleep(size.pollSeconds * 1000);
      const calm = ((await statements()) - before) / size.pollSeconds;
      const memory = memoryOf(ours.pid);
      const polling = load({ act: "wait", url: ours.url, queueUrls, clients: size.polls, seconds: size.pollSeconds });
      await sleep(size.pollSeconds * 200);
      const [from, since] = [await statements(), performance.now()];
      await sleep(size.pollSeconds * 500);
      const during = ((await statements()) - from) / ((performance.now() - since) / 1000);
      const grown = memoryOf(ours.pid) - memory;
      await polling;
      const name = `idle-polls-${queues}`;
      report(
        name,
        "statements",
        during - calm,
        `statements/s for ${size.polls} who wait (${calm.toFixed(1)} without them)`,
      );
      report(name, "memory", grown, `MB more for them`);
    }
  }

  /** A FIFO queue with few and with many waiting, in a thousand groups. */
  async function deepFifo(): Promise<void> {
    for (const [name, waiting] of [
      ["shallow", size.shallow],
      ["deep", size.deep],
    ] as const) {
      const all: number[] = [];
      for (let round = 0; round < size.rounds; round += 1) {
        const queueName = `${name}-${round}.fifo`;
        const queueUrl = await newQueue(ours, queueName, { FifoQueue: "true" });
        const inputs = payloads(1000);
        for (let done = 0; done < waiting; done += 1000) {
          await mill.engine.enqueueEach(
            inputs.map((input, i) => ({ type: "message", input, queue: queueName, group: `g${i}` })),
          );
        }
        const count = size.shallow - 1000;
        all.push(
          await measured(ours, `${name} FIFO`, count, {
            act: "receive",
            url: ours.url,
            queueUrl,
            clients: 16,
            count,
            size: 1,
            light: true,
          }),
        );
      }
      report(
        "deep-fifo",
        name,
        median(all),
        `received and deleted per second, ${waiting.toLocaleString("en")} waiting, 16 clients`,
        spread(all),
      );
    }
    report(
      "deep-fifo",
      "ratio",
      results["deep-fifo"]!["deep"]! / results["deep-fifo"]!["shallow"]!,
      "deep against shallow",
    );
  }

  /** Transactions of the database so far; each is one statement, but for those of upkeep. */
  async function statements(): Promise<number> {
    await sleep(1100); // counters are told once a second
    const { rows } = await pool.query<{ n: string }>(
      "select xact_commit + xact_rollback as n from pg_stat_database where datname = current_database()",
    );
    return Number(rows[0]!.n);
  }
} finally {
  await Promise.all(systems.map((system) => system.stop()));
  void pool.end();
  await postgres.stop();
}
for (const [name, ratio] of Object.entries(ratios)) console.log(`${name.padEnd(24)} ${ratio}`);
if (json) console.log(JSON.stringify({ ...results, ...ratios }));

function nameOf(act: "send" | "receive", many: number, light: boolean): string {
  return `${act === "send" ? "send" : "receive-delete"}-${many === 1 ? "single" : "tens"}${light ? "-light" : ""}`;
}

function isWanted(name: string): boolean {
  return only === undefined || only.includes(name);
}

async function newQueue(system: SqsSystem, QueueName: string, Attributes?: Record<string, string>): Promise<string> {
  const client = new SQSClient({ endpoint: system.url, region: "us-east-1", credentials: key, maxAttempts: 1 });
  const { QueueUrl } = await client.send(new CreateQueueCommand({ QueueName, Attributes }));
  client.destroy();
  return QueueUrl!;
}

/** Calls per second, and where their processor time went. */
async function measured(system: SqsSystem, what: string, calls: number, task: Task): Promise<number> {
  const [server, database] = [cpuOf(system.pid), cpuOfChildren(postgres.pid)];
  const { seconds, cpuSeconds } = await load(task);
  const each = (total: number): string => `${Math.round((total / calls) * 1e6)}`;
  if (!json) {
    const spent = `client ${each(cpuSeconds)}, server ${each(cpuOf(system.pid) - server)}, PostgreSQL ${each(cpuOfChildren(postgres.pid) - database)}`;
    console.log(
      `  ${system.name}, ${what}: ${Math.round(calls / seconds).toLocaleString("en")} calls/s; µs of processor time per call: ${spent}`,
    );
  }
  return calls / seconds;
}

async function load(task: Task): Promise<Taken> {
  const child = spawn(process.execPath, [fileURLToPath(new URL("load.js", import.meta.url)), JSON.stringify(task)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  process.once("exit", () => child.kill("SIGKILL"));
  let said = "";
  for await (const chunk of child.stdout) said += String(chunk);
  if (said === "") throw new Error(`the clients of "${task.act}" failed`);
  return JSON.parse(said) as Taken;
}

function report(scenario: string, name: string, value: number, unit: string, note = ""): void {
  (results[scenario] ??= {})[name] = Number(value.toPrecision(4));
  const text = value >= 100 ? Math.round(value).toLocaleString("en") : value.toFixed(2);
  console.log(`${scenario.padEnd(24)} ${name.padEnd(12)} ${text.padStart(10)} ${unit}${note}`);
}

function spread(values: readonly number[]): string {
  return values.length === 1 ? "" : ` (${values.map((value) => Math.round(value).toLocaleString("en")).join(", ")})`;
}
