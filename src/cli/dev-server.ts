import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import path from "node:path";
import { devUrlFile } from "../embedded/dev-url.js";
import { writeSecret } from "../embedded/own-folder.js";
import type { FromServerProcess } from "./dev-server-process.js";
import { UsageError } from "./usage-error.js";

/** The PostgreSQL of `millrace dev`. */
export interface DevServer {
  readonly url: string;
  readonly pid: number;
  /** Let other commands in this folder find it, those of the same user. */
  announce(): void;
  /** Stop the server and wait for it; its folder stays. */
  stop(): Promise<void>;
}

/** Start a PostgreSQL that stays in a folder. Port 0 is any free one. */
export async function startDevServer(folder: string, port: number): Promise<DevServer> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (!existsSync(path.join(folder, ".gitignore")))
    writeFileSync(path.join(folder, ".gitignore"), "*\n", { flag: "wx" });
  const child = fork(new URL("./dev-server-process.js", import.meta.url), [path.resolve(folder), String(port)], {
    detached: true,
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const exited = once(child, "exit");
  const { pid, url } = await answer(child, folder);
  return {
    url,
    pid,
    announce() {
      writeSecret(path.join(folder, devUrlFile), url); // its process removes it
    },
    async stop() {
      if (child.connected) child.send("stop");
      await exited;
    },
  };
}

async function answer(child: ChildProcess, folder: string): Promise<{ pid: number; url: string }> {
  const silent = once(child, "exit").then(() => ({ error: "its process ended" }));
  const [message] = (await Promise.race([once(child, "message"), silent.then((error) => [error])])) as [
    FromServerProcess,
  ];
  if ("pid" in message) return message;
  if (message.error.includes("postmaster.pid")) {
    throw new UsageError(
      `another server runs in ${folder}${runningAt(folder)}`,
      "use it, or stop that millrace dev first",
    );
  }
  throw new UsageError(`PostgreSQL did not start in ${folder}: ${shorten(message.error)}`);
}

/** Where a server that has the folder listens, from the file it keeps there. */
function runningAt(folder: string): string {
  try {
    const lines = readFileSync(path.join(folder, "data", "postmaster.pid"), "utf8").split("\n");
    return `, process ${lines[0]}, at postgres://postgres@127.0.0.1:${lines[3]}/postgres`;
  } catch {
    return "";
  }
}

/** What PostgreSQL complains about, without the rest of its log. */
function shorten(log: string): string {
  const complaints = log.split("\n").filter((line) => /FATAL|ERROR|HINT|initdb:/.test(line));
  return complaints.length === 0
    ? log
    : complaints.map((line) => line.replace(/^.*?(?=FATAL|ERROR|HINT|initdb)/, "")).join("; ");
}

/** The port to use: the given one when it is free, or any when there is a choice. */
export async function choosePort(wanted: number, isGiven: boolean): Promise<number> {
  const port = await listenOnce(wanted).catch(() => undefined);
  if (port !== undefined) return port;
  if (isGiven) throw new UsageError(`port ${wanted} is in use`, "give another --port, or 0 for any");
  return listenOnce(0);
}

async function listenOnce(port: number): Promise<number> {
  const probe = createServer().listen(port, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  await once(probe, "close");
  if (address === null || typeof address === "string") throw new Error("no free port on 127.0.0.1");
  return address.port;
}
